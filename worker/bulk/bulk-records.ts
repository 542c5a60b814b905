/** Records of imports and tasks: written in the commits whose work they count, so they are never ahead of it nor behind. */
import {ServiceError} from '../../shared/errors.ts';
import type {Writer} from '../commit/writer.ts';
import type {Connection} from '../storage/connection.ts';
import {reading, reportDamage} from '../storage/damage.ts';
import {type CheckedColumns, checkedRowOf, isSoundRow, rowChecksum, rowDamage} from '../storage/row-checksum.ts';

type Kind = 'import' | 'task';
type Row = CheckedColumns<'bulk_records'> & {id: string; record: string};

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

  /** By id. @throws op.storage_damaged 503 */
  all(db: Connection): R[] {
    return this.#rows(db).map(row => JSON.parse(checkedRowOf('bulk_records', row).record) as R);
  }

  /** The same for work that goes on with those that can: what is damaged is reported, and stays as it is. */
  sound(db: Connection): R[] {
    let rows: Row[];
    try {
      rows = reading(() => this.#rows(db));
    } catch (caught) {
      if (caught instanceof ServiceError) return []; // broken as a whole
      throw caught;
    }
    return rows
      .filter(row => {
        const isSound = isSoundRow('bulk_records', row);
        if (!isSound) reportDamage(rowDamage('bulk_records', row));
        return isSound;
      })
      .map(row => JSON.parse(row.record) as R);
  }

  #rows(db: Connection): Row[] {
    return db.prepare<[Kind], Row>('SELECT * FROM bulk_records WHERE kind = ?').all(this.#kind);
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
