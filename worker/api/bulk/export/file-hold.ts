/**
 * Holds the tenant's file for a clone, while the supervisor copies it and writes go on.
 *
 *   free ── begin ──▶ held ── end: whole ──▶ free
 *                      └── it takes too long, or the WAL grows too much ──▶ lost ── end: not whole ──▶ free
 *
 * A read transaction keeps checkpoints from moving later commits into the file, and the WAL from starting over. So the
 * file with the first bytes of its WAL is one commit, in whatever order and however slowly they are read.
 */
import {statSync} from 'node:fs';
import type {Connection} from '../../../../engine/storage/connection.ts';
import {openReader} from '../../../../engine/storage/database.ts';
import {frameOffset} from '../../../../engine/storage/wal-frames.ts';
import {EXPORT_LOG_BYTES_MAX, FILE_COPY_MS_MAX, FILE_HOLD_POLL_MS} from '../../limits.ts';

export class FileHold {
  readonly #path: string;
  readonly #settled: () => Promise<void>;
  #db: Connection | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param path of the file. @param settled resolves when every commit is durable that is in the WAL now */
  constructor(path: string, settled: () => Promise<void>) {
    this.#path = path;
    this.#settled = settled;
  }

  /** No transaction may be open. @returns the bytes of the WAL that belong to the file; 0: the file has everything */
  begin(): number {
    this.close();
    this.#db = openReader(this.#path);
    // Before the transaction, in which SQLite refuses it. There is no commit in between.
    const [wal] = this.#db.pragma('wal_checkpoint(NOOP)') as {log: number; checkpointed: number}[];
    const {log: frames, checkpointed} = wal!;
    const pageBytes = this.#db.pragma('page_size', {simple: true}) as number;
    this.#db.exec('BEGIN');
    this.#db.prepare('SELECT count(*) FROM sqlite_schema').get();
    const endMs = performance.now() + FILE_COPY_MS_MAX;
    const logBytesMax = this.#logLength() + EXPORT_LOG_BYTES_MAX;
    this.#timer = setInterval(() => {
      if (performance.now() > endMs || this.#logLength() > logBytesMax) this.close();
    }, FILE_HOLD_POLL_MS).unref();
    return frames <= checkpointed ? 0 : frameOffset({pageBytes}, frames + 1);
  }

  /** @returns whether the file was held all the time. What was read of it is durable then. */
  async end(): Promise<boolean> {
    const isHeld = this.#db !== null;
    this.close();
    await this.#settled();
    return isHeld;
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#db?.close();
    this.#db = null;
  }

  #logLength(): number {
    return statSync(`${this.#path}-wal`, {throwIfNoEntry: false})?.size ?? 0;
  }
}
