/**
 * Records of imports and tasks. They are written in the same commits as the work that they count, so they are always
 * consistent with it.
 */

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
import {assert} from '../../../shared/assert.ts';
import {ServiceError} from '../../../shared/errors.ts';

type Kind = 'import' | 'task';
type Row = CheckedColumns<'bulk_records'> & {id: string; record: string};
type Found<R> = {records: R[]; damaged: string[]};

/** Sorts after every task id. */
const BEHIND_ALL = '~';

export class BulkRecords<R> {
  readonly #kind: Kind;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  /** @param db the reader's connection (durable state), or the writer's. @throws op.storage_damaged 503 */
  get(db: Connection, id: string): R | undefined {
    const row = db
      .prepare<[string, Kind], Row>('SELECT * FROM bulk_records WHERE id = ? AND kind = ?')
      .get(id, this.#kind);
    return row === undefined ? undefined : (JSON.parse(checkedRowOf('bulk_records', row).record) as R);
  }

  /**
   * The undamaged ones, by id, and the ids of damaged ones, which are reported and stay as they are.
   * @throws op.storage_damaged 503 when none of them can be read
   */
  all(db: Connection): Found<R> {
    return this.#checked(
      reading(() => db.prepare<[Kind], Row>('SELECT * FROM bulk_records WHERE kind = ?').all(this.#kind)),
    );
  }

  /**
   * A page of records whose ids sort by time, newest first.
   * @param most the maximum number; -1: all.
   * @param before an id, or the end of all.
   * @throws as `all`
   */
  newest(db: Connection, most: number, before: string = BEHIND_ALL): Found<R> {
    const rows = db.prepare<[Kind, string, number], Row>(
      'SELECT * FROM bulk_records WHERE kind = ? AND id < ? ORDER BY id DESC LIMIT ? + 0',
    );
    return this.#checked(reading(() => rows.all(this.#kind, before, most)));
  }

  /** All ids, sorted, without reading the records. @throws as `all` */
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

  /** The record, or undefined if it is missing or damaged, for work that goes on without it. */
  sound(db: Connection, id: string): R | undefined {
    try {
      return reading(() => this.get(db, id));
    } catch (caught) {
      if (caught instanceof ServiceError) return undefined;
      throw caught;
    }
  }

  /** Call inside a write. */
  put({statements}: Writer, id: string, value: R): void {
    const record = JSON.stringify(value);
    const checksum = rowChecksum('bulk_records', {id, kind: this.#kind, record});
    const {changes} = statements.putBulkRecord.run(id, this.#kind, record, checksum);
    assert(changes === 1, `the record of ${this.#kind} ${id} is one row`);
  }

  /** Call inside a write. */
  remove({statements}: Writer, id: string): void {
    statements.removeBulkRecord.run(id, this.#kind);
  }
}

/** The part of a list that names damaged records. */
export function damagedOnes(ids: string[]): {damaged?: string[]} {
  return ids.length === 0 ? {} : {damaged: ids};
}
