/**
 * Sandboxes and sessions as they are stored: one row each with the JSON of its record. All of one kind are in memory while
 * service control is loaded, as they were last told to anybody; they are few (limits.ts), and their changes are rare.
 *
 * They are no part of the journal: what a sandbox held is nowhere but in its process, and a replica could not go on with it.
 */
import {Buffer} from 'node:buffer';
import type Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import {ROWS_SUMMED_MAX} from '../../shared/limits.ts';
import type {Writer} from '../commit/writer.ts';
import {storageDamaged} from '../storage/damage.ts';
import type {Connection} from '../storage/database.ts';
import {type CheckedColumns, isSoundRow, rowChecksum, rowDamage} from '../storage/row-checksum.ts';
import {sumsFinding} from '../storage/row-sums.ts';

export type ControlKind = 'sandbox' | 'session';
type Row = CheckedColumns<'control_records'> & {id: string; record: string};
type Kept = {readonly id: string; readonly created_at: number; readonly ended_at: number | null};

export class ControlRecords<R extends Kept> {
  readonly #kind: ControlKind;
  readonly #put: Database.Statement<[string, string, string, number]>;
  readonly #delete: Database.Statement<[string]>;
  /** The oldest first. */
  readonly #records = new Map<string, R>();
  readonly #damaged = new Map<string, ServiceError>();
  /** Some of them are not found. */
  #missing: ServiceError | null = null;

  /** @param db the writer's */
  constructor(db: Connection, kind: ControlKind) {
    this.#kind = kind;
    this.#put = db.prepare(
      `INSERT INTO control_records VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET record = excluded.record, checksum = excluded.checksum`,
    );
    this.#delete = db.prepare('DELETE FROM control_records WHERE id = ?');
    this.#load(db);
  }

  /** @throws op.not_found 404, op.storage_damaged 503 */
  get(id: string): R {
    const record = this.#records.get(id);
    if (record !== undefined) return record;
    throw this.#damaged.get(id) ?? new ServiceError('op.not_found', `there is no ${this.#kind} ${shown(id)}`);
  }

  /** Whether there is one that is sound. */
  has(id: string): boolean {
    return this.#records.has(id);
  }

  /** @throws op.storage_damaged 503 */
  all(): R[] {
    for (const error of this.#damaged.values()) throw error;
    if (this.#missing !== null) throw this.#missing;
    return [...this.#records.values()];
  }

  /** Those that are sound. */
  sound(): IterableIterator<R> {
    return this.#records.values();
  }

  /** Inside a write. */
  store(writer: Writer, record: R): void {
    const {id} = record;
    const text = JSON.stringify(record);
    writer.grew(Buffer.byteLength(text));
    this.#put.run(id, this.#kind, text, rowChecksum('control_records', {id, kind: this.#kind, record: text}));
  }

  /** Inside a write: forgets the oldest of those that have ended. @returns which, for `forgot` */
  forgetOldest(keep: number): string[] {
    const ended = [...this.#records.values()].filter(record => record.ended_at !== null);
    const old = ended.slice(0, Math.max(0, ended.length - keep)).map(({id}) => id);
    for (const id of old) this.#delete.run(id);
    return old;
  }

  /** It is so from now on, for whoever asks. */
  took(record: R): void {
    this.#records.set(record.id, record);
  }

  /** A write that forgot them is on disk. */
  forgot(ids: readonly string[]): void {
    for (const id of ids) this.#records.delete(id);
  }

  #load(db: Connection): void {
    const rows = db.prepare<[string], Row>('SELECT * FROM control_records WHERE kind = ?').all(this.#kind);
    const records: R[] = [];
    for (const row of rows) {
      if (isSoundRow('control_records', row)) records.push(JSON.parse(row.record) as R);
      else this.#damaged.set(row.id, storageDamaged(rowDamage('control_records', row)));
    }
    records.sort((a, b) => a.created_at - b.created_at);
    for (const record of records) this.#records.set(record.id, record);
    const finding = sumsFinding(db, 'control_records', ROWS_SUMMED_MAX);
    if (finding !== null) this.#missing = storageDamaged({check: 'rows', stored: finding});
  }
}

/** Ids come from paths: anything. */
function shown(id: string): string {
  return JSON.stringify(id.length > 140 ? `${id.slice(0, 140)}…` : id);
}
