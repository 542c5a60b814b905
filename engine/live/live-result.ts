/** What is kept of a live query, whatever it shows. */
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import type {Side} from '../commit/commit.ts';
import type {Pace} from '../reads/pace.ts';
import type {LivePiece, LiveScan} from '../reads/scan-message.ts';
import type {QueryReader} from '../storage/rows.ts';
import type {Stretch} from './live-index.ts';

export interface LiveResult {
  readonly query: LiveQueryObject;
  /** The writes since the last refresh concerned the result, or may have. */
  readonly isTouched: boolean;
  /** It has to be run again. */
  readonly isStale: boolean;
  /** JSON, as it was last shown. */
  readonly text: string;
  /** What it takes, about. */
  readonly bytes: number;
  /** Where every document stands that the query may ever show. */
  readonly whole: readonly Stretch[];
  /** Where a write can concern the result there is, until it is run again. */
  readonly watched: readonly Stretch[];
  /** Runs the query. @throws op.invalid_input 400, op.too_large 413, and what ends its pace */
  run(reader: QueryReader, pace?: Pace): void;
  /** What a scan thread is to find: its pieces are `take`n in, then the result is `taken`. */
  scan(): LiveScan;
  take(piece: LivePiece): void;
  taken(isComplete: boolean): void;
  /** Takes in one written document. `after` null: it was deleted. */
  write(doc: number, after: Side | null): void;
  /**
   * The new text after the writes of a commit, or null when the result is equal. A query that is stale is run again.
   * @throws op.too_large 413 when it has outgrown RESULT_BYTES_MAX, and what ends its pace: then it is still stale
   */
  refresh(reader: QueryReader, pace?: Pace): string | null;
}
