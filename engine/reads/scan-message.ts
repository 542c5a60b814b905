/** What crosses between the main thread and a scan thread. One scan at a time is under way in a thread. */
import type {ErrorObject} from '../../shared/errors.ts';
import type {LiveQueryObject, PaginatedQueryBody, QueryBatch, QueryObject} from '../../shared/protocol/queries.ts';

/** What a thread is told at its start. */
export type ScanThreadSettings = {databasePath: string};

/** Asked for by a request: its answer is a body. */
export type RequestScan =
  | {kind: 'query'; query: QueryObject}
  | {kind: 'list'; table: string}
  | {kind: 'page'; page: PaginatedQueryBody}
  | {kind: 'count'; query: QueryObject}
  | {kind: 'batch'; batch: QueryBatch};

/** The first `most` documents of a live query, and up to `reserve` more; `most` null: all. Of one that counts, numbers alone. */
export type LiveScan = {kind: 'live'; query: LiveQueryObject; most: number | null; reserve: number};

/** Some documents of a live result, in its order. Of one that counts, `docs` alone is filled. */
export type LivePiece = {
  docs: number[];
  /** Their times of creation, epoch milliseconds. */
  created: number[];
  /** As clients see them. */
  texts: string[];
  /** UTF-8 bytes of each text. */
  bytes: number[];
  /** Encoded values of the order field, one after the other, and where each ends; empty when creation order is asked for. */
  keys: Uint8Array;
  keyEnds: number[];
};

export type ToScanThread =
  /** @param flag not 0 once nobody wants the answer any more; shared */
  | {type: 'run'; scan: RequestScan | LiveScan; flag: Int32Array}
  /** The next piece of a live result is wanted. */
  | {type: 'more'}
  /** The rest of it is not. */
  | {type: 'stop'}
  /** Ends the thread, once what is under way has ended. */
  | {type: 'end'};

export type FromScanThread =
  /** JSON text in UTF-8; its buffer is handed over. */
  | {type: 'answer'; body: Uint8Array}
  /** A piece of a live result; the next one when it is asked for. `isComplete`: no more documents match than these. */
  | {type: 'piece'; piece: LivePiece; isLast: boolean; isComplete: boolean}
  /** The query was refused; null: it was given up as its flag said. */
  | {type: 'failed'; error: ErrorObject | null};
