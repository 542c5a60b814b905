/** Records of imports and tasks: written in the commits whose work they count, so they are never ahead of it nor behind. */

import type {Writer} from '../../../engine/commit/writer.ts';
import type {Connection} from '../../../engine/storage/connection.ts';
import {reading, reportDamage} from '../../../engine/storage/damage.ts';
import {
  type CheckedColumns,
  checkedRowOf,
  isSoundRow,
  rowChecksum,
  rowDamage,
} from '../../../engine/storage/row-checksum.ts';
import {ServiceError} from '../../../shared/errors.ts';

type Kind = 'import' | 'task';
type Row = CheckedColumns<'bulk_records'> & {id: string; record: string};
type Found<R> = {records: R[]; damaged: string[]};

/** No id of a task is behind it. */
const BEHIND_ALL = '~';

export class BulkRecords<R> {
  readonly #kind: Kind;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  /** @param db the reader's: what is durable; or the writer's. @throws op.storage_damaged 503 */
  get(db: Connection, id: string): R | undefined {
    const row = db
      .prepare<[string, Kind], Row>('SELECT * FROM bulk_records WHERE id = ? AND kind = ?')
      .get(id, this.#kind);
    return row === undefined ? undefined : (JSON.parse(checkedRowOf('bulk_records', row).record) as R);
  }

  /**
   * Those that are sound, by id, and the ids of those that are not, which are reported and stay as they are.
   * @throws op.storage_damaged 503 when they cannot be read at all
   */
  all(db: Connection): Found<R> {
    return this.#checked(
      reading(() => db.prepare<[Kind], Row>('SELECT * FROM bulk_records WHERE kind = ?').all(this.#kind)),
    );
  }

  /**
   * A page of those whose ids sort by time, the newest first.
   * @param most how many; -1: all. @param before an id, or the end of all. @throws as `all`
   */
  newest(db: Connection, most: number, before: string = BEHIND_ALL): Found<R> {
    const rows = db.prepare<[Kind, string, number], Row>(
      'SELECT * FROM bulk_records WHERE kind = ? AND id < ? ORDER BY id DESC LIMIT ? + 0',
    );
    return this.#checked(reading(() => rows.all(this.#kind, before, most)));
  }

  /** Of all, sorted; the records are not read. @throws as `all` */
  ids(db: Connection): string[] {
    const ids = db.prepare<[Kind], string>('SELECT id FROM bulk_records WHERE kind = ? ORDER BY id').pluck();
    return reading(() => ids.all(this.#kind));
  }

  #checked(rows: Row[]): Found<R> {
    const records: R[] = [];
    const damaged: string[] = [];
    for (const row of rows) {
      if (isSoundRow('bulk_records', row)) records.push(JSON.parse(row.record) as R);
      else {
        reportDamage(rowDamage('bulk_records', row));
        damaged.push(row.id);
      }
    }
    return {records, damaged};
  }

  /** For work that goes on with what it can: undefined where it is not there, or damaged. */
  sound(db: Connection, id: string): R | undefined {
    try {
      return reading(() => this.get(db, id));
    } catch (caught) {
      if (caught instanceof ServiceError) return undefined;
      throw caught;
    }
  }

  /** Inside a write. */
  put({statements}: Writer, id: string, value: R): void {
    const record = JSON.stringify(value);
    statements.putBulkRecord.run(id, this.#kind, record, rowChecksum('bulk_records', {id, kind: this.#kind, record}));
  }

  /** Inside a write. */
  remove({statements}: Writer, id: string): void {
    statements.removeBulkRecord.run(id, this.#kind);
  }
}

/** What a list says of them. */
export function damagedOnes(ids: string[]): {damaged?: string[]} {
  return ids.length === 0 ? {} : {damaged: ids};
}
