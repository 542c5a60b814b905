/** What queries of functions need of the storage besides what native ones do. */
import type {QueryReader} from './rows.ts';

export interface FunctionReader extends QueryReader {
  /** Whether the table has an index of this name that is not filled yet. */
  isBuilding(table: string, index: string): boolean;
  /** Of a table by its number; undefined: there is none. */
  tableName(number: number): string | undefined;
}
