/** What the copier does between rounds: compaction, and the removal of objects that nothing needs. One turn at a time. */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {SCRATCH_COPIES_DIRECTORY} from '../../shared/ipc/copier.ts';
import type {Logger} from '../../shared/log.ts';
import {Housekeeping} from '../repository/housekeeping.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import type {Policy} from '../repository/retention.ts';
import {StoreError} from '../store/store-error.ts';
import {IDLE_FAILURE_PAUSE_MS} from './limits.ts';

export class IdleWork {
  readonly #scratch: string;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #policy: Policy | null;
  #of: {writer: RepositoryWriter; housekeeping: Housekeeping} | null = null;
  #isBusy = false;
  #pausedUntilMs = 0;

  /** @param data the data directory. What an earlier process left in it is removed. @param policy null: all points stay */
  constructor(data: string, policy: Policy | null, log: Logger, now: () => number) {
    this.#scratch = join(data, SCRATCH_COPIES_DIRECTORY);
    this.#policy = policy;
    this.#log = log;
    this.#now = now;
    rmSync(this.#scratch, {recursive: true, force: true});
  }

  /** Begins a turn, unless one is under way. Nothing waits for it: a turn that is cut off by the end has changed nothing. */
  begin(writer: RepositoryWriter): void {
    if (this.#isBusy || this.#now() < this.#pausedUntilMs) return;
    this.#isBusy = true;
    void this.#turn(writer).finally(() => {
      this.#isBusy = false;
    });
  }

  async #turn(writer: RepositoryWriter): Promise<void> {
    if (this.#of?.writer !== writer) {
      const options = {writer, scratch: this.#scratch, policy: this.#policy, now: this.#now};
      this.#of = {writer, housekeeping: new Housekeeping(options)};
    }
    try {
      mkdirSync(this.#scratch, {recursive: true, mode: 0o700});
      const turn = await this.#of.housekeeping.turn();
      if (turn?.did === 'compacted') this.#log.info('copies were compacted', {tenant: turn.tenant, ...turn.compacted});
      if (turn?.did === 'removed') this.#log.info('objects that nothing needs were removed', {objects: turn.objects});
    } catch (caught) {
      if (!isExpected(caught)) throw caught;
      this.#pausedUntilMs = this.#now() + IDLE_FAILURE_PAUSE_MS;
      this.#log.warn('copies could not be compacted; trying again later', {reason: caught.message});
    }
  }
}

function isExpected(caught: unknown): caught is Error {
  const isOurs = [StoreError, RepositoryError, PageSetError, CopyError].some(type => caught instanceof type);
  return isOurs || (caught instanceof Error && 'syscall' in caught);
}
