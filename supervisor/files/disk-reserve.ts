/**
 * Reserves a little space for a full disk: to read a sleeping tenant, SQLite needs a log index of 32 KiB next to its
 * file. A worker that finds no space for it truncates this file by that much and retries (engine/storage/reserve.ts).
 * The supervisor creates the file, and refills it when there is space.
 */
import {closeSync, fsyncSync, openSync, statfsSync, statSync, writeSync} from 'node:fs';
import {dirname} from 'node:path';
import type {Logger} from '../../shared/log.ts';
import {RESERVE_BYTES, RESERVE_POLL_MS, RESERVE_SPARE_BYTES} from '../limits.ts';

export class DiskReserve {
  readonly path: string;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;

  constructor(path: string, log: Logger) {
    this.path = path;
    this.#log = log;
    this.#refill();
    this.#timer = setInterval(() => this.#refill(), RESERVE_POLL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Best effort: if there is no space now, it is retried later. */
  #refill(): void {
    const size = statSync(this.path, {throwIfNoEntry: false})?.size ?? 0;
    const {bavail, bsize} = statfsSync(dirname(this.path));
    if (size >= RESERVE_BYTES || bavail * bsize < RESERVE_SPARE_BYTES) return;
    try {
      // Written, not only extended, because a sparse file occupies no space.
      const file = openSync(this.path, 'a', 0o600);
      try {
        writeSync(file, Buffer.alloc(RESERVE_BYTES - size));
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch (caught) {
      this.#log.warn('the reserve for a full disk could not be filled', {path: this.path, error: caught});
    }
  }
}
