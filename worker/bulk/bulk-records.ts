/** Records of imports and tasks: written in the commits whose work they count, so they are never ahead of it nor behind. */
import type {Writer} from '../commit/writer.ts';
import type {Connection} from '../storage/connection.ts';
import {type CheckedColumns, checkedRowOf, rowChecksum} from '../storage/row-checksum.ts';

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
    return db
      .prepare<[Kind], Row>('SELECT * FROM bulk_records WHERE kind = ?')
      .all(this.#kind)
      .map(row => JSON.parse(checkedRowOf('bulk_records', row).record) as R);
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
