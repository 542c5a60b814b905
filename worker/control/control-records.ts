/**
 * Stored records of sandboxes, sessions and services: one row each, with the JSON of its record. While service control
 * is loaded, all records of a kind are in memory as they were last reported; they are few (limits.ts) and change
 * rarely.
 *
 * They are not part of the journal: a sandbox's state exists only in its process, and a replica could not continue with
 * it.
 */

import {Buffer} from 'node:buffer';
import type {Writer} from '../../engine/commit/writer.ts';
import {storageDamaged} from '../../engine/storage/damage.ts';
import {notFound, type ServiceError} from '../../shared/errors.ts';
import {shownText} from '../../shared/function-name.ts';
import type {RecordTable} from './record-table.ts';

type Stored = {readonly created_at: number};

export class ControlRecords<R extends Stored> {
  readonly #table: RecordTable;
  readonly #idOf: (record: R) => string;
  /** Oldest first. */
  readonly #records = new Map<string, R>();
  readonly #damaged = new Map<string, ServiceError>();
  /** Set when some rows are missing from the table. */
  readonly #missing: ServiceError | null;

  constructor(table: RecordTable, idOf: (record: R) => string) {
    this.#table = table;
    this.#idOf = idOf;
    const records: R[] = [];
    for (const {id, record, damage} of table.all()) {
      if (damage === null) records.push(JSON.parse(record) as R);
      else this.#damaged.set(id, storageDamaged(damage));
    }
    records.sort((a, b) => a.created_at - b.created_at);
    for (const record of records) this.took(record);
    this.#missing = table.missing();
  }

  /** @throws op.not_found 404, op.storage_damaged 503 */
  get(id: string): R {
    const record = this.#records.get(id);
    if (record !== undefined) return record;
    throw this.#damaged.get(id) ?? notFound(`there is no ${this.#table.noun} ${shownText(id)}`);
  }

  /** Whether there is an undamaged one. */
  has(id: string): boolean {
    return this.#records.has(id);
  }

  /** Whether there is one, damaged or not. */
  isTaken(id: string): boolean {
    return this.#records.has(id) || this.#damaged.has(id);
  }

  /** @throws op.storage_damaged 503 */
  all(): R[] {
    for (const error of this.#damaged.values()) throw error;
    if (this.#missing !== null) throw this.#missing;
    return [...this.#records.values()];
  }

  get size(): number {
    return this.#records.size;
  }

  /** The undamaged ones. */
  sound(): IterableIterator<R> {
    return this.#records.values();
  }

  /** Call inside a write. */
  store(writer: Writer, record: R): void {
    const text = JSON.stringify(record);
    writer.grew(Buffer.byteLength(text));
    this.#table.put(this.#idOf(record), text);
  }

  /** Call inside a write. `forgot` follows when it is on disk. */
  remove(id: string): void {
    this.#table.remove(id);
  }

  /** Makes the record visible to readers. */
  took(record: R): void {
    this.#records.set(this.#idOf(record), record);
  }

  /** A write that removed these is on disk. */
  forgot(ids: readonly string[]): void {
    for (const id of ids) {
      this.#records.delete(id);
      this.#damaged.delete(id);
    }
  }
}

/** Call inside a write: removes the oldest ended records. @returns their ids, for `forgot` */
export function removeOldest<R extends Stored & {readonly id: string; readonly ended_at: number | null}>(
  records: ControlRecords<R>,
  keep: number,
): string[] {
  const ended = [...records.sound()].filter(record => record.ended_at !== null);
  const old = ended.slice(0, Math.max(0, ended.length - keep)).map(({id}) => id);
  for (const id of old) records.remove(id);
  return old;
}
