/** What crosses between the main thread and a scan thread. One scan at a time is under way in a thread. */
import type {ErrorObject} from '../../shared/errors.ts';
import type {PaginatedQueryBody, QueryObject} from '../../shared/protocol/queries.ts';

/** What a thread is told at its start. */
export type ScanThreadSettings = {databasePath: string};

/** Asked for by a request: its answer is a body. */
export type RequestScan =
  | {kind: 'query'; query: QueryObject}
  | {kind: 'list'; table: string}
  | {kind: 'page'; page: PaginatedQueryBody};

export type ToScanThread =
  /** @param flag not 0 once nobody wants the answer any more; shared */
  | {type: 'run'; scan: RequestScan; flag: Int32Array}
  /** Ends the thread, once what is under way has ended. */
  | {type: 'end'};

export type FromScanThread =
  /** JSON text in UTF-8; its buffer is handed over. */
  | {type: 'answer'; body: Uint8Array}
  /** The query was refused; null: it was given up as its flag said. */
  | {type: 'failed'; error: ErrorObject | null};
