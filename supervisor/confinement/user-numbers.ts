/**
 * Chooses user ids in order: each after the highest one given so far, over all starts, and from the first again after
 * the last. The highest id is noted in `worker-users.json`, rounded up in steps, so that few tenants cost a write.
 */
import {readFileSync, renameSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type {Logger} from '../../shared/log.ts';
import {USER_NUMBERS_NOTED} from '../limits.ts';

export type UserRange = {first: number; last: number};

/** In the data directory. If the server chose the range, this file records it, too (users.ts). */
export const USERS_FILE = 'worker-users.json';

export class UserNumbers {
  readonly #path: string;
  readonly #range: UserRange;
  readonly #log: Logger;
  #last: number;
  #noted: number;

  constructor(data: string, range: UserRange, log: Logger) {
    this.#path = join(data, USERS_FILE);
    this.#range = range;
    this.#log = log;
    const {highest} = this.#read();
    const isOurs = Number.isSafeInteger(highest) && Number(highest) > range.first && Number(highest) <= range.last;
    this.#noted = isOurs ? Number(highest) : range.first;
    this.#last = this.#noted;
  }

  /** Whether the id is within the noted range, which is some ids ahead. */
  mayBeGiven(id: number): boolean {
    return id > this.#range.first && id <= this.#noted;
  }

  /** Null: none is free. */
  next(isFree: (id: number) => boolean): number | null {
    const {first, last} = this.#range;
    for (let tries = first; tries < last; tries++) {
      this.#last = this.#last < last ? this.#last + 1 : first + 1;
      if (!isFree(this.#last)) continue;
      this.#note();
      return this.#last;
    }
    return null;
  }

  #note(): void {
    const isWithin = this.#last <= this.#noted && this.#noted - this.#last < USER_NUMBERS_NOTED;
    if (isWithin) return;
    const highest = Math.min(this.#last + USER_NUMBERS_NOTED - 1, this.#range.last);
    try {
      const text = JSON.stringify({...this.#read(), highest});
      writeFileSync(`${this.#path}.tmp`, `${text}\n`, {mode: 0o600, flush: true});
      renameSync(`${this.#path}.tmp`, this.#path);
      this.#noted = highest;
    } catch (caught) {
      if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
      this.#log.warn('the users of tenants cannot be stored', {path: this.#path, error: caught});
    }
  }

  #read(): {highest?: unknown} {
    try {
      const noted: unknown = JSON.parse(readFileSync(this.#path, 'utf8'));
      return typeof noted === 'object' && noted !== null ? noted : {};
    } catch (caught) {
      if (caught instanceof SyntaxError || (caught as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw caught;
    }
  }
}
