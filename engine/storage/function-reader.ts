/** The storage that queries of functions need in addition to native ones. */
import type {QueryReader} from './rows.ts';

export interface FunctionReader extends QueryReader {
  /** Whether the table has an index of this name that is not filled yet. */
  isBuilding(table: string, index: string): boolean;
  /** The table with this number; undefined: there is none. */
  tableName(number: number): string | undefined;
}
