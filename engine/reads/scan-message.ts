/** Messages between the main thread and a scan thread. A thread runs one scan at a time. */
import type {ErrorObject} from '../../shared/errors.ts';
import type {LiveQueryObject, PaginatedQueryBody, QueryBatch, QueryObject} from '../../shared/protocol/queries.ts';

/** Data for a thread at its start. */
export type ScanThreadSettings = {databasePath: string; indexReads: SharedArrayBuffer};

/** A request's scan: its result is a body. */
export type RequestScan =
  | {kind: 'query'; query: QueryObject}
  | {kind: 'list'; table: string}
  | {kind: 'page'; page: PaginatedQueryBody}
  | {kind: 'count'; query: QueryObject}
  | {kind: 'batch'; batch: QueryBatch};

/**
 * The first `most` documents of a live query, and up to `reserve` more; `most` null: all. For a query that counts,
 * numbers alone.
 */
export type LiveScan = {kind: 'live'; query: LiveQueryObject; most: number | null; reserve: number};

/** Some documents of a live result, in its order. For a query that counts, only `docs` is filled. */
export type LiveBatch = {
  docs: number[];
  /** Their creation times, epoch milliseconds. */
  created: number[];
  /** In the form that clients see. */
  texts: string[];
  /** UTF-8 bytes of each text. */
  bytes: number[];
  /** Encoded values of the order field, one after the other, and where each ends; empty for creation order. */
  keys: Uint8Array;
  keyEnds: number[];
};

export type ToScanThread =
  /** @param flag shared; not 0 once the result is not needed any more */
  | {type: 'run'; scan: RequestScan | LiveScan; flag: Int32Array}
  /** Requests the next batch of a live result. */
  | {type: 'more'}
  /** The remaining batches are not needed. */
  | {type: 'stop'}
  /** Ends the thread, after the current scan. */
  | {type: 'end'};

export type FromScanThread =
  /** JSON text in UTF-8; its buffer is transferred. */
  | {type: 'answer'; body: Uint8Array}
  /** A batch of a live result; the next one follows on request. `isComplete`: no other documents match. */
  | {type: 'batch'; batch: LiveBatch; isLast: boolean; isComplete: boolean}
  /** The query was refused; null: it was aborted through its flag. */
  | {type: 'failed'; error: ErrorObject | null};
