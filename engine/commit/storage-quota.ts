/**
 * The limit of a tenant's disk space (`--tenant-storage-max`). Pages in use count: documents, indexes, the journal,
 * jobs, code. Free pages do not count, because new data reuses them first. The write-ahead log does not count, because
 * checkpoints bound it.
 *
 * Over the quota, writes that add data get 507 for that tenant alone. Reads still work, and so do deletes and all other
 * writes that remove more than they add, which is how space is freed. The usage is read once before each group; the
 * growth by the group's own writes is estimated. SQLite plans the statement that reads it again each time. So a tenant
 * that is far from its quota has it read once in QUOTA_FAR_GROUPS groups, and its writes are not checked.
 */
import type Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import {QUOTA_FAR_BYTES, QUOTA_FAR_GROUPS} from '../limits.ts';
import type {Connection} from '../storage/connection.ts';
import type {Mark, Writer} from './writer.ts';

export class StorageQuota {
  readonly #bytesMax: number;
  readonly #pageBytes: number;
  readonly #pages: Database.Statement<[], number>;
  readonly #freePages: Database.Statement<[], number>;
  #usedAtBegin = 0;
  /** Groups that begin before the usage is read again; only a tenant that is far from its quota has any. */
  #groupsUnread = 0;

  /** @param bytesMax 0: no limit */
  constructor(db: Connection, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#pageBytes = db.pragma('page_size', {simple: true}) as number;
    this.#pages = db.prepare<[], number>('PRAGMA page_count').pluck();
    this.#freePages = db.prepare<[], number>('PRAGMA freelist_count').pluck();
  }

  /** Whether a write of the group could exceed the quota. */
  get isNear(): boolean {
    return this.#bytesMax > 0 && this.#bytesMax - this.#usedAtBegin < QUOTA_FAR_BYTES;
  }

  get usedBytes(): number {
    return (this.#pages.get()! - this.#freePages.get()!) * this.#pageBytes;
  }

  /** A group of writes begins. */
  beginGroup(): void {
    if (this.#bytesMax === 0 || this.#groupsUnread-- > 0) return;
    this.#usedAtBegin = this.usedBytes;
    this.#groupsUnread = this.isNear ? 0 : QUOTA_FAR_GROUPS - 1;
  }

  /**
   * Call it after a write, which must be rolled back if this throws.
   * @param before the writer's mark before the write
   * @throws session.storage_full 507
   */
  check(writer: Writer, before: Mark): void {
    const hasGrown = writer.grownWrites > before.grownWrites && writer.grownBytes >= before.grownBytes;
    if (!hasGrown || !this.isNear) return;
    // `bytesWritten` is the length of the journal records; the documents in them are also written to their tables.
    const usedBytes = this.#usedAtBegin + 2 * writer.bytesWritten;
    if (usedBytes <= this.#bytesMax) return;
    throw new ServiceError(
      'session.storage_full',
      `this tenant may keep ${this.#bytesMax} bytes (--tenant-storage-max): nothing was written; deletes and reads go on`,
      {used_bytes: this.#usedAtBegin, max_bytes: this.#bytesMax},
    );
  }
}
