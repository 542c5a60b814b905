/** What queries of functions need of the storage besides what native ones do. */
import type {DocumentRow, QueryReader} from './rows.ts';

export interface FunctionReader extends QueryReader {
  /** Rows with from ≤ id < to and low ≤ doc ≤ high, in the order of their ids' bytes or its reverse, at most `limit`. */
  documentsByIds(from: string, to: string, low: number, high: number, reverse: boolean, limit: number): DocumentRow[];
  /** Whether the table has an index of this name that is not filled yet. */
  isBuilding(table: string, index: string): boolean;
}
