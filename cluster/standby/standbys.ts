/**
 * The files that this host keeps at the tails of their logs while it does not serve their tenants.
 *
 *   entries and members ─▶ which tenants ─▶ due ─▶ steps, a few at a time ─▶ idle ──a new record──▶ due
 *                                            ▲ │                              │ a base is due
 *             released, or tried again later │ │ a base is needed             ▼
 *                                            │ └──▶ seeds, a few at a time   bases, one at a time
 *   held by a worker ◀── hold: the file is closed
 *
 * A tenant that is due waits behind those that were due before, and a step is bounded, so one with many records delays
 * the others by one step. What fails is tried again with a growing pause.
 */
import {existsSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {backOffMs} from '../../shared/back-off.ts';
import {
  BASES_AT_ONCE,
  RENEW_MS,
  SEEDS_AT_ONCE,
  STANDBY_REPORTED_FAILURES,
  STANDBY_RETRY_MS,
  STANDBY_RETRY_MS_MAX,
  STANDBY_STEPS_AT_ONCE,
} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {RecordChange} from '../log/small-records.ts';
import {shardOf, type TenantName, tokenOf} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import {type Members, placedHosts} from '../members/members.ts';
import {decodeTenant, TENANT_PREFIX, type TenantRecord} from '../ownership/tenant-record.ts';
import {CopyRate} from './copy-rate.ts';
import type {FileInspection, FileState, FileTarget, FileWork} from './file-order.ts';
import {KeptTenants} from './kept-tenants.ts';
import {storeBase} from './new-base.ts';
import {ShardWatches} from './shard-watches.ts';
import {Standby, StandbyError} from './standby.ts';
import {WorkQueue} from './work-queue.ts';

const NO_SPACE = 'the log has no space for a base';

export type StandbysParts = {
  readonly replicated: Pick<ReplicatedLog, 'records' | 'bases' | 'tenant' | 'newRecords'>;
  readonly members: Pick<Members, 'serving'>;
  readonly clock: Clock;
  /** Name of this host. */
  readonly host: string;
  /** Of each tenant. 0: its owner makes its bases while it sleeps. */
  readonly standbys: number;
  readonly files: FileWork;
  /** Null: its directory is not there yet; `known` follows. */
  readonly fileOf: (tenant: TenantName) => FileTarget | null;
  /** A directory that no tenant can change. */
  readonly scratch: string;
  /** Of bases that are read, all tenants together; null: no limit. */
  readonly copyBytesPerSecond: number | null;
  /** Default: `BASE_LOG_BYTES`. */
  readonly baseLogBytes?: number;
  /** Space of the log for a base; null: no limit is known. Default: that. */
  readonly freeBytes?: () => number | null;
  /** Default: nothing counts them. @param bytes of a base that was stored */
  readonly onBase?: (bytes: number) => void;
  /** Receives a sentence about what an operator should know. */
  readonly report: (sentence: string) => void;
};

/** How far a file is behind its log, as far as this host has noticed. */
export type Lag = {readonly records: number; readonly ms: number};

type Kept = {
  readonly standby: Standby;
  readonly token: string;
  readonly shard: number;
  makesBases: boolean;
  /** Its file is being written or read as a whole: a step would wait for it. */
  isLong: boolean;
  /** A worker has the file. */
  isHeld: boolean;
  /** Since the newest step began that read them. */
  newRecords: number;
  /** When the oldest of them was noticed. */
  sinceMs: number | null;
  failures: number;
  reported: string | null;
  cancelRetry: () => void;
};

export class Standbys {
  readonly #parts: StandbysParts;
  readonly #placed: KeptTenants;
  readonly #entries = new Map<string, TenantRecord>();
  /** Tenants of which a worker of this host has the file, or is about to. */
  readonly #held = new Set<string>();
  readonly #kept = new Map<string, Kept>();
  readonly #ids = new Map<string, string>();
  /** What is under way on files that are not kept, or not any more. */
  readonly #leaving = new Map<string, Promise<unknown>>();
  readonly #rate: CopyRate;
  readonly #watches: ShardWatches;
  readonly #steps = new WorkQueue(STANDBY_STEPS_AT_ONCE, id => this.#step(id));
  readonly #seeds = new WorkQueue(SEEDS_AT_ONCE, id => this.#seed(id));
  readonly #bases = new WorkQueue(BASES_AT_ONCE, id => this.#makeBase(id));
  readonly #end = new AbortController();

  constructor(parts: StandbysParts) {
    const {host, standbys, copyBytesPerSecond, replicated, clock} = parts;
    this.#parts = parts;
    this.#placed = new KeptTenants(host, standbys);
    this.#rate = new CopyRate(copyBytesPerSecond, clock);
    this.#watches = new ShardWatches({
      replicated,
      clock,
      onRecord: token => this.#notice(token),
      onBegin: shard => {
        for (const [id, kept] of this.#kept) if (kept.shard === shard) this.#steps.add(id);
      },
    });
  }

  /** Follows entries, members and logs until the signal aborts. All files are closed when it resolves. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#end.abort());
    if (signal.aborted) this.#end.abort();
    await Promise.all([this.#watchEntries(), this.#watchMembers()]);
    for (const id of [...this.#kept.keys()]) this.#drop(id);
    await Promise.all([this.#watches.close(), this.#steps.close(), this.#seeds.close(), this.#bases.close()]);
    await Promise.all(this.#leaving.values());
  }

  /** A worker needs the file. It is closed when it resolves, and stays so until `release`. */
  async hold(id: string): Promise<void> {
    this.#held.add(id);
    await this.#left(id);
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    kept.isHeld = true;
    await kept.standby.stop();
  }

  /**
   * Looks at the file of a tenant, kept or not.
   * @param isHeld the file is held by the caller. @returns null: there is none, it is in use, or it cannot be read
   */
  async inspect(tenant: TenantName, wish: FileInspection, isHeld = false): Promise<FileState | null> {
    const {id} = tenant;
    await this.#left(id);
    if (this.#held.has(id) !== isHeld) return null;
    const kept = isHeld ? undefined : this.#kept.get(id);
    try {
      if (kept !== undefined) {
        return kept.standby.tenant.generation === tenant.generation ? await kept.standby.inspect(wish) : null;
      }
      const target = this.#parts.fileOf(tenant);
      if (target === null || !existsSync(target.path)) return null;
      const inspecting = this.#parts.files.run({...target, ...wish, end: new Int32Array(new SharedArrayBuffer(4))});
      this.#leaves(id, inspecting);
      const answer = await inspecting;
      return answer.kind === 'done' ? answer.state : null;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return null; // it was stopped, or cannot follow now: its step reports that
    }
  }

  /** The worker has ended. */
  release(id: string): void {
    this.#held.delete(id);
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    kept.isHeld = false;
    kept.standby.resume();
    this.#steps.add(id);
  }

  /** The tenant's directory is there. */
  known(id: string): void {
    this.#assign(id);
  }

  /** Of the tenants that this host keeps and no worker has. */
  lag(): ReadonlyMap<string, Lag> {
    const {nowMs} = this.#parts.clock;
    const kept = [...this.#kept].filter(([, {isHeld}]) => !isHeld);
    return new Map(
      kept.map(([id, {newRecords, sinceMs}]) => [
        id,
        {records: newRecords, ms: sinceMs === null ? 0 : nowMs - sinceMs},
      ]),
    );
  }

  /** What the file of a kept tenant has, as far as it is known. */
  stateOf(id: string): FileState | null {
    return this.#kept.get(id)?.standby.state ?? null;
  }

  async #watchEntries(): Promise<void> {
    const {replicated, clock} = this.#parts;
    const {signal} = this.#end;
    while (!signal.aborted) {
      try {
        for await (const change of replicated.records.watch([TENANT_PREFIX], signal)) {
          if (change !== null) this.#changed(change);
        }
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      if (!signal.aborted) await delay(clock, RENEW_MS);
    }
  }

  async #watchMembers(): Promise<void> {
    const {members, clock} = this.#parts;
    while (!this.#end.signal.aborted) {
      if (this.#placed.set(placedHosts(members.serving()))) for (const id of this.#entries.keys()) this.#assign(id);
      await delay(clock, RENEW_MS);
    }
  }

  #changed({key, record: {value}}: RecordChange): void {
    const id = key.slice(TENANT_PREFIX.length);
    try {
      const entry = value === null ? null : decodeTenant(id, value);
      if (entry === null || entry.isDeleted) this.#entries.delete(id);
      else this.#entries.set(id, entry);
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.#parts.report(error.message);
    }
    this.#assign(id);
  }

  #assign(id: string): void {
    const entry = this.#entries.get(id);
    const {isKept, makesBases} = entry === undefined ? {isKept: false, makesBases: false} : this.#placed.of(id, entry);
    const kept = this.#kept.get(id);
    if (kept !== undefined && (!isKept || kept.standby.tenant.generation !== entry?.generation)) this.#drop(id);
    if (entry === undefined || !isKept) return;
    const same = this.#kept.get(id);
    if (same === undefined) this.#keep({id, generation: entry.generation}, makesBases);
    else same.makesBases = makesBases;
  }

  #keep(tenant: TenantName, makesBases: boolean): void {
    const {replicated, files, fileOf, scratch, report, baseLogBytes} = this.#parts;
    const {id} = tenant;
    const target = fileOf(tenant);
    if (target === null) return;
    const token = tokenOf(tenant);
    const standby = new Standby({
      tenant,
      log: replicated.tenant(tenant),
      bases: replicated.bases,
      files,
      target,
      scratch: join(scratch, token),
      rate: this.#rate,
      baseLogBytes,
      report,
    });
    this.#kept.set(id, {
      standby,
      token,
      shard: shardOf(id),
      makesBases,
      isLong: false,
      isHeld: this.#held.has(id),
      newRecords: 0,
      sinceMs: null,
      failures: 0,
      reported: null,
      cancelRetry: () => {},
    });
    this.#ids.set(token, id);
    this.#watchShards();
    this.#steps.add(id);
  }

  #leaves(id: string, work: Promise<unknown>): void {
    const all = Promise.allSettled([this.#leaving.get(id), work]).then(() => {
      if (this.#leaving.get(id) === all) this.#leaving.delete(id);
    });
    this.#leaving.set(id, all);
  }

  async #left(id: string): Promise<void> {
    while (this.#leaving.has(id)) await this.#leaving.get(id);
  }

  /** The file stays. */
  #drop(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    kept.cancelRetry();
    this.#leaves(id, kept.standby.stop());
    this.#kept.delete(id);
    this.#ids.delete(kept.token);
    this.#watchShards();
  }

  #watchShards(): void {
    const isOver = this.#end.signal.aborted;
    this.#watches.set(new Set(isOver ? [] : [...this.#kept.values()].map(({shard}) => shard)));
  }

  #notice(token: string): void {
    const id = this.#ids.get(token);
    const kept = id === undefined ? undefined : this.#kept.get(id);
    if (id === undefined || kept === undefined) return;
    kept.newRecords++;
    kept.sinceMs ??= this.#parts.clock.nowMs;
    this.#steps.add(id);
  }

  #step(id: string): Promise<void> {
    return this.#attempt(id, async kept => {
      if (kept.isLong) return; // a step follows
      const {newRecords} = kept;
      const step = await kept.standby.step();
      if (step === 'more') this.#steps.add(id);
      if (step === 'base_needed') this.#seeds.add(id);
      if (step !== 'current') return;
      kept.newRecords -= newRecords;
      if (kept.newRecords === 0) kept.sinceMs = null;
      if (kept.makesBases && kept.standby.isBaseDue) this.#bases.add(id);
    });
  }

  #seed(id: string): Promise<void> {
    return this.#attempt(id, async kept => {
      const isSeeded = await this.#long(kept, () => kept.standby.seed());
      if (!isSeeded) throw new StandbyError('its log was trimmed, and it has no sound base');
      this.#steps.add(id);
    });
  }

  #makeBase(id: string): Promise<void> {
    return this.#attempt(id, async kept => {
      const {standby, token} = kept;
      if (!standby.isBaseDue) return;
      const {replicated, scratch, onBase, freeBytes} = this.#parts;
      // A server that a base has filled takes no lease any more.
      if ((standby.state?.bytes ?? 0) > (freeBytes?.() ?? Number.POSITIVE_INFINITY)) throw new StandbyError(NO_SPACE);
      const written = await this.#long(kept, () => standby.writeBase(join(scratch, `${token}.base`)));
      // Records that came meanwhile wait for the file, and not for the base to be sent.
      this.#steps.add(id);
      if (written === null) return;
      const {size} = statSync(written.path);
      const kind = await storeBase(replicated, standby.tenant, written, this.#end.signal);
      if (kind === 'stored') {
        standby.baseStored(written.position);
        onBase?.(size);
      }
      if (kind === 'full') throw new StandbyError(NO_SPACE);
    });
  }

  async #long<T>(kept: Kept, work: () => Promise<T>): Promise<T> {
    kept.isLong = true;
    try {
      return await work();
    } finally {
      kept.isLong = false;
    }
  }

  async #attempt(id: string, work: (kept: Kept) => Promise<void>): Promise<void> {
    await this.#left(id);
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.isHeld || this.#end.signal.aborted) return;
    kept.cancelRetry();
    try {
      await work(kept);
      [kept.failures, kept.reported] = [0, null];
    } catch (error) {
      if (this.#kept.get(id) !== kept || kept.isHeld) return;
      this.#failed(id, kept, error as Error);
    }
  }

  #failed(id: string, kept: Kept, error: Error): void {
    const pauseMs = backOffMs(STANDBY_RETRY_MS, STANDBY_RETRY_MS_MAX, kept.failures++);
    kept.cancelRetry = this.#parts.clock.after(pauseMs, () => this.#steps.add(id));
    // Elections and stale reads pass.
    const isReported = kept.failures >= STANDBY_REPORTED_FAILURES && kept.reported !== error.message;
    if (!isReported) return;
    kept.reported = error.message;
    this.#parts.report(`the standby of ${id} does not follow its log: ${error.message}`);
  }
}
