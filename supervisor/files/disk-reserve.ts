/**
 * A little space kept for the day the disk is full: to read a sleeping tenant, SQLite needs a log index of 32 KiB beside its
 * file. A worker that finds no space for it gives a piece of this file back and tries again at once (engine/storage/
 * reserve.ts); here the file is made, and made whole again when there is space.
 */
import {closeSync, fsyncSync, openSync, statfsSync, statSync, writeSync} from 'node:fs';
import {dirname} from 'node:path';
import type {Logger} from '../../shared/log.ts';
import {RESERVE_BYTES, RESERVE_LOOK_MS, RESERVE_SPARE_BYTES} from '../limits.ts';

export class DiskReserve {
  readonly path: string;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;

  constructor(path: string, log: Logger) {
    this.path = path;
    this.#log = log;
    this.#refill();
    this.#timer = setInterval(() => this.#refill(), RESERVE_LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Nothing rests on it: what cannot be had now is looked for again later. */
  #refill(): void {
    const size = statSync(this.path, {throwIfNoEntry: false})?.size ?? 0;
    const {bavail, bsize} = statfsSync(dirname(this.path));
    if (size >= RESERVE_BYTES || bavail * bsize < RESERVE_SPARE_BYTES) return;
    try {
      // Written, not only made longer: a file with holes takes no space.
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
