/**
 * The spools of all tenants of the cluster (`log-spool.ts`), on the host whose copier writes to the repository.
 *
 *   begin ─▶ every tenant is due ─▶ steps, a few at a time ─▶ idle ──a new record, or a base is requested──▶ due
 *                                    ▲                 │
 *                                    └─────────────────┴─ its spool was full, and the copier has stored some
 *
 * What fails is tried again with a growing pause. A tenant whose records cannot be used delays no other one.
 */
import {mkdirSync, readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {backOffMs} from '../../shared/back-off.ts';
import {type ServiceError, unavailable} from '../../shared/errors.ts';
import {spoolOf} from '../../shared/ipc/copier.ts';
import {
  LOG_SPOOL_POLL_MS,
  LOG_SPOOL_STEPS_AT_ONCE,
  SHARDS,
  STANDBY_REPORTED_FAILURES,
  STANDBY_RETRY_MS,
  STANDBY_RETRY_MS_MAX,
} from '../limits.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import {type TenantName, tokenOf} from '../log/subjects.ts';
import type {Clock} from '../members/clock.ts';
import type {TenantRecord} from '../ownership/tenant-record.ts';
import {CopyRate} from '../standby/copy-rate.ts';
import {ShardWatches} from '../standby/shard-watches.ts';
import {WorkQueue} from '../standby/work-queue.ts';
import {LogSpool} from './log-spool.ts';
import {SpooledPackages} from './spooled-packages.ts';

export type LogSpoolsParts = {
  readonly replicated: Pick<ReplicatedLog, 'tenant' | 'bases' | 'packages' | 'newRecords'>;
  readonly clock: Clock;
  /** A directory of its own, which no tenant can change. */
  readonly directory: string;
  readonly copyBytesPerSecond: number | null;
  /** The spool of the tenant has something new, or leads on from the repository now. */
  readonly onSpooled: (tenant: TenantName) => void;
  /** Receives a sentence about what an operator should know. */
  readonly report: (sentence: string) => void;
};

type Followed = {
  readonly tenant: TenantName;
  readonly spool: LogSpool;
  readonly packages: SpooledPackages;
  failures: number;
  isFull: boolean;
  /** The tenant was deleted: nothing of it stays. */
  isGone: boolean;
  /** Settled by a step that began later, and reached the newest record or failed again, or when no step follows. */
  flushes: {resolve: () => void; reject: (error: Error) => void}[];
  cancelRetry: () => void;
};

export class LogSpools {
  readonly #parts: LogSpoolsParts;
  readonly #rate: CopyRate;
  readonly #followed = new Map<string, Followed>();
  readonly #ids = new Map<string, string>();
  readonly #steps = new WorkQueue(LOG_SPOOL_STEPS_AT_ONCE, id => this.#step(id));
  readonly #watches: ShardWatches;
  #cancelPoll: (() => void) | null = null;

  constructor(parts: LogSpoolsParts) {
    const {replicated, clock, copyBytesPerSecond} = parts;
    this.#parts = parts;
    this.#rate = new CopyRate(copyBytesPerSecond, clock);
    this.#watches = new ShardWatches({
      replicated,
      clock,
      onRecord: token => {
        const id = this.#ids.get(token);
        if (id !== undefined) this.#steps.add(id);
      },
      // A watch that began again can have missed records.
      onBegin: () => this.#addAll(),
    });
  }

  /**
   * Begins, also again: the copier of this host has opened the repository, and `confirmed` in each spool says what that has.
   * @param isOn false: another host writes to the repository
   */
  set(isOn: boolean, entries: ReadonlyMap<string, TenantRecord>): void {
    this.#end();
    if (!isOn) return;
    this.#poll();
    for (const [id, entry] of entries) this.changed(id, entry);
    this.#removeOthers();
    this.#watches.set(new Set(Array(SHARDS).keys()));
  }

  #end(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = null;
    for (const id of [...this.#followed.keys()]) this.#drop(id, notOn());
    this.#watches.set(new Set());
  }

  get #isOn(): boolean {
    return this.#cancelPoll !== null;
  }

  /** The copies of a deleted tenant stay. */
  changed(id: string, {generation, isDeleted}: TenantRecord): void {
    const isSame = this.#followed.get(id)?.tenant.generation === generation;
    if (!this.#isOn || (isSame && !isDeleted)) return;
    this.#gone(id);
    if (isDeleted) return;
    const tenant = {id, generation};
    const {replicated, report} = this.#parts;
    const {bases, packages: stored} = replicated;
    const directory = join(this.#parts.directory, spoolOf(id, generation));
    const spool = new LogSpool({
      ...{tenant, log: replicated.tenant(tenant), directory},
      bases: {list: of => bases.list(of), read: (...of) => this.#rate.metered(bases.read(...of))},
    });
    const packages = new SpooledPackages({
      ...{tenant, directory, report},
      packages: {list: of => stored.list(of), read: (...of) => this.#rate.metered(stored.read(...of))},
    });
    this.#followed.set(id, {
      tenant,
      spool,
      packages,
      failures: 0,
      isFull: false,
      isGone: false,
      flushes: [],
      cancelRetry: () => {},
    });
    this.#ids.set(tokenOf(tenant), id);
    this.#steps.add(id);
  }

  #gone(id: string): void {
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    this.#drop(id, null);
    followed.isGone = true;
    this.#remove(followed.tenant);
  }

  #remove({id, generation}: TenantName): void {
    rmSync(join(this.#parts.directory, spoolOf(id, generation)), {recursive: true, force: true});
  }

  /** Nothing in the spool leads on from the repository. Resolves when something does. @throws session.worker_unavailable 503 */
  async base(id: string): Promise<void> {
    if (!this.#isOn) throw notOn();
    this.#followed.get(id)?.spool.wantBase();
    await this.#flushed(id);
  }

  /**
   * Resolves when the spools have what the logs had when it was called.
   * @throws session.worker_unavailable 503: also once a log fails again and again
   */
  async flush(): Promise<void> {
    if (!this.#isOn) throw notOn();
    await Promise.all([...this.#followed.keys()].map(id => this.#flushed(id)));
  }

  /** Nothing is under way when it resolves. */
  async close(): Promise<void> {
    this.#end();
    await Promise.all([this.#watches.close(), this.#steps.close()]);
  }

  /** Of tenants that were deleted while another host copied them. */
  #removeOthers(): void {
    const {directory} = this.#parts;
    mkdirSync(directory, {recursive: true, mode: 0o700});
    const known = new Set([...this.#followed.values()].map(({tenant: {id, generation}}) => spoolOf(id, generation)));
    for (const name of readdirSync(directory)) {
      if (!known.has(name)) rmSync(join(directory, name), {recursive: true, force: true});
    }
  }

  #flushed(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const followed = this.#followed.get(id);
      if (followed === undefined) return resolve();
      followed.flushes.push({resolve, reject});
      this.#steps.add(id);
    });
  }

  #addAll(): void {
    for (const id of this.#followed.keys()) this.#steps.add(id);
  }

  /** @param error for those who wait; null: there is nothing to wait for */
  #drop(id: string, error: Error | null): void {
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    followed.cancelRetry();
    this.#followed.delete(id);
    this.#ids.delete(tokenOf(followed.tenant));
    settleOf(followed, followed.flushes, error);
  }

  async #step(id: string): Promise<void> {
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    const {spool, packages} = followed;
    const flushes = [...followed.flushes];
    followed.cancelRetry();
    try {
      const isChanged = await spool.step();
      if (this.#followed.get(id) !== followed) return;
      followed.isFull = spool.isFull;
      if (isChanged) {
        packages.changed();
        this.#parts.onSpooled(followed.tenant);
      }
      if (!followed.isFull && !(await this.#fetched(followed, flushes.length > 0))) return;
      followed.failures = 0;
      if (followed.isFull) return;
      settleOf(followed, flushes, null);
    } catch (error) {
      if (this.#followed.get(id) !== followed) return;
      const pauseMs = backOffMs(STANDBY_RETRY_MS, STANDBY_RETRY_MS_MAX, followed.failures++);
      followed.cancelRetry = this.#parts.clock.after(pauseMs, () => this.#steps.add(id));
      // Elections and stale reads pass.
      if (followed.failures < STANDBY_REPORTED_FAILURES) return;
      const sentence = `the log of ${id} cannot be copied to the repository: ${(error as Error).message}`;
      if (followed.failures === STANDBY_REPORTED_FAILURES) this.#parts.report(sentence);
      // Those who wait learn what keeps them waiting. For others, another step follows at once.
      settleOf(followed, flushes, unavailable(sentence));
    } finally {
      // The step can have made its directory again.
      if (followed.isGone) this.#remove(followed.tenant);
    }
  }

  /**
   * After the records, so that the packages of every deployment among them are there.
   * @returns false: another step follows, or none is wanted
   */
  async #fetched(followed: Followed, isFlush: boolean): Promise<boolean> {
    const {tenant, packages} = followed;
    const {nowMs} = this.#parts.clock;
    const isCurrent = () => this.#followed.get(tenant.id) === followed;
    if (!isFlush && !packages.isDue(nowMs)) return true;
    const {isMore, isDone} = await packages.fetch(nowMs, () => !isCurrent());
    if (!isCurrent()) return false;
    if (isMore) this.#parts.onSpooled(tenant);
    if (!isDone) this.#steps.add(tenant.id);
    return isDone;
  }

  /** Spools become shorter without a message. */
  #poll(): void {
    const {nowMs} = this.#parts.clock;
    for (const [id, {spool, packages, isFull, failures}] of this.#followed) {
      const hasSpace = !spool.isEmpty && spool.prune() && isFull;
      // What failed has a pause of its own.
      if (hasSpace || (failures === 0 && packages.isDue(nowMs))) this.#steps.add(id);
    }
    this.#cancelPoll = this.#parts.clock.after(LOG_SPOOL_POLL_MS, () => this.#poll());
  }
}

function settleOf(followed: Followed, flushes: Followed['flushes'], error: Error | null): void {
  followed.flushes = followed.flushes.filter(one => !flushes.includes(one));
  for (const {resolve, reject} of flushes) {
    if (error === null) resolve();
    else reject(error);
  }
}

function notOn(): ServiceError {
  return unavailable('this host does not copy the tenants of the cluster at the moment; try again');
}
