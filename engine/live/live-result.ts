/** The result of a live query: a list of documents, or a count. */
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import type {Side} from '../commit/commit.ts';
import type {ReadBudget} from '../reads/read-budget.ts';
import type {LiveBatch, LiveScan} from '../reads/scan-message.ts';
import type {QueryReader} from '../storage/rows.ts';
import type {FieldRange} from './live-index.ts';

export interface LiveResult {
  readonly query: LiveQueryObject;
  /** The writes since the last refresh affected the result, or may have. */
  readonly isTouched: boolean;
  /** The query must run again. */
  readonly isStale: boolean;
  /** JSON, as last formatted. */
  readonly text: string;
  /** Memory it uses, approximately. */
  readonly bytes: number;
  /** The key ranges of all documents that the query can ever show. */
  readonly whole: readonly FieldRange[];
  /** The key ranges in which a write can affect the current result, until the query runs again. */
  readonly watched: readonly FieldRange[];
  /** Runs the query. @throws op.invalid_input 400, op.too_large 413, and the errors of its read budget */
  run(reader: QueryReader, readBudget?: ReadBudget): void;
  /** The scan for a scan thread. Pass each batch to `take`, then call `taken`. */
  scan(): LiveScan;
  take(batch: LiveBatch): void;
  taken(isComplete: boolean): void;
  /** Applies one written document. `after` null: it was deleted. */
  write(doc: number, after: Side | null): void;
  /**
   * The new text after the writes of a commit, or null when the result is equal. A stale query runs again.
   * @throws op.too_large 413 when it exceeds RESULT_BYTES_MAX, and the errors of its read budget: then it is still stale
   */
  refresh(reader: QueryReader, readBudget?: ReadBudget): string | null;
}
