/** Removes the copies of tenants' files from before upgrades once they are old: of sleeping tenants, too. */
import {setImmediate as nextTurn} from 'node:timers/promises';
import type {Logger} from '../../shared/log.ts';
import {forgetCopies} from '../files/kept-copies.ts';
import {KEPT_COPY_MS, KEPT_COPY_SWEEP_MS} from '../limits.ts';

export class KeptCopySweep {
  readonly #directories: () => readonly string[];
  readonly #log: Logger;

  /** @param directories of all tenants */
  constructor(directories: () => readonly string[], log: Logger) {
    this.#directories = directories;
    this.#log = log;
    setInterval(() => void this.run(Date.now()), KEPT_COPY_SWEEP_MS).unref();
  }

  async run(nowMs: number): Promise<void> {
    for (const directory of this.#directories()) {
      // A few system calls for each tenant, between which the supervisor does its work.
      await nextTurn();
      try {
        forgetCopies(directory, nowMs - KEPT_COPY_MS);
      } catch (error) {
        this.#log.warn('a copy from before an upgrade could not be removed', {directory, error});
      }
    }
  }
}
