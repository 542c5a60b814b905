/**
 * Drills of the server's backup: at intervals, and on request. The copier restores a tenant into a scratch directory, a
 * confined process checks the file and starts its functions, and the copier records the result. One tenant at a time,
 * with pauses, so that a drill takes little from the tenants that are served.
 *
 *   idle ──due, or requested──▶ tenants chosen at random ──▶ restore ──▶ errand ──▶ record ──▶ pause ──▶ … ──▶ idle
 */
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import {conflict, ServiceError} from '../../shared/errors.ts';
import type {DrilledTenant} from '../../shared/ipc/copier.ts';
import {type DrilledFile, drilledFileIn, type RestoredCopy} from '../../shared/ipc/drill.ts';
import type {Errand} from '../../shared/ipc/errand.ts';
import type {Logger} from '../../shared/log.ts';
import type {DrillStatus} from '../../shared/protocol/backups.ts';
import {randomOnes} from '../../shared/random-ones.ts';
import {removeDrillScratch} from '../files/backup-leftovers.ts';
import {DRILL_CHECK_MS, DRILL_ERRAND_MS, DRILL_PAUSE_MS, DRILL_TENANTS} from '../limits.ts';
import type {ErrandPlace} from '../tenants/errands.ts';

/** When a drill last began, and when one last proved all its tenants; epoch milliseconds, null: never. */
export type DrillTimes = {drilledMs: number | null; provenMs: number | null};

export type DrillsParts = {
  /** 0: only on request. */
  everyMs: number;
  /** Exists only while a drill runs. */
  scratch: string;
  times: DrillTimes;
  /** Survives a restart of the server. */
  remember: (times: DrillTimes) => void;
  copier: {
    tenants: () => Promise<string[]>;
    restore: (tenant: string, path: string) => Promise<RestoredCopy>;
    /** @returns whether the tenant is proven */
    record: (drilled: DrilledTenant) => Promise<boolean>;
  };
  /** Others have to be requested at the host of the cluster that copies. */
  isWriter: () => boolean;
  runErrand: (place: ErrandPlace, errand: Errand, withinMs: number) => Promise<unknown>;
  /** Lets the users of workers reach the directory. */
  letPass: (directory: string) => void;
  clock: () => number;
  log: Logger;
};

export class Drills {
  readonly #parts: DrillsParts;
  #times: DrillTimes;
  #running: {done: number; total: number} | null = null;
  #last: DrillStatus['last'] = null;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: DrillsParts) {
    this.#parts = parts;
    this.#times = parts.times;
  }

  /** Removes what a drill of an earlier process left, and drills at intervals from now on. */
  async start(): Promise<void> {
    const {everyMs, scratch} = this.#parts;
    await removeDrillScratch(scratch);
    if (everyMs === 0) return;
    this.#timer = setInterval(() => this.#check(), Math.min(everyMs, DRILL_CHECK_MS)).unref();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  get status(): DrillStatus {
    return {every_ms: this.#parts.everyMs, running: this.#running, last: this.#last};
  }

  /** 0: never. */
  get provenMs(): number {
    return this.#times.provenMs ?? 0;
  }

  /** Begins a drill. @param count null: of all tenants. @throws op.conflict 409: one is running */
  begin(count: number | null): DrillStatus {
    if (!this.#parts.isWriter()) {
      throw conflict('another host of the cluster copies all tenants to the repository: request it there');
    }
    if (this.#running !== null) throw conflict('a drill is running: GET /api/backup shows how far it is');
    this.#running = {done: 0, total: 0};
    void this.#run(count);
    return this.status;
  }

  #check(): void {
    const {everyMs, isWriter, clock} = this.#parts;
    if (!isWriter()) return;
    const sinceMs = clock() - (this.#times.drilledMs ?? 0);
    // Before the last one: the clock was set back.
    if (this.#running === null && (sinceMs >= everyMs || sinceMs < 0)) this.begin(DRILL_TENANTS);
  }

  async #run(count: number | null): Promise<void> {
    const {copier, clock, log} = this.#parts;
    const startedMs = clock();
    try {
      const all = await copier.tenants();
      const chosen = count === null ? all : randomOnes(all, count);
      const failed = await this.#drillEach(chosen);
      if (this.#isClosed) return; // it was broken off: the next start drills again
      this.#remember({...this.#times, drilledMs: startedMs});
      this.#last = {at: clock(), tenants: chosen.length, failed};
      if (failed === 0 && chosen.length > 0) this.#remember({...this.#times, provenMs: clock()});
      log[failed === 0 ? 'info' : 'error']('a drill of the backup has ended', {tenants: chosen.length, failed});
    } catch (error) {
      // The store or the copier: it says nothing about the copies. The next check tries again.
      log.warn('a drill of the backup could not go on', {error});
    } finally {
      this.#running = null;
    }
  }

  #remember(times: DrillTimes): void {
    this.#times = times;
    this.#parts.remember(times);
  }

  /** @returns how many failed */
  async #drillEach(tenants: readonly string[]): Promise<number> {
    let failed = 0;
    for (const [i, tenant] of tenants.entries()) {
      if (this.#isClosed) break;
      this.#running = {done: i, total: tenants.length};
      if (i > 0) await pause(DRILL_PAUSE_MS);
      if (!(await this.#drill(tenant))) failed++;
    }
    return failed;
  }

  async #drill(tenant: string): Promise<boolean> {
    const {scratch, copier, letPass, clock, log} = this.#parts;
    const startedMs = clock();
    // No directory of a tenant begins so.
    const directory = join(scratch, `drill-${startedMs}`);
    await mkdir(directory, {recursive: true, mode: 0o700});
    letPass(scratch);
    try {
      const copy = await copier.restore(tenant, join(directory, 'tenant.sqlite'));
      const checked = copy.point === null ? null : await this.#checked(tenant, directory, copy.point);
      const isProven = await copier.record({tenant, startedMs, copy, checked});
      if (!isProven) log.error('a drill could not prove the copy of a tenant', {tenant, ...faultsOf(copy, checked)});
      return isProven;
    } finally {
      await removeDrillScratch(scratch);
    }
  }

  async #checked(
    tenant: string,
    directory: string,
    expected: NonNullable<RestoredCopy['point']>,
  ): Promise<DrilledFile> {
    const place = {directory, tenant, generation: 0, createdMs: 0, runsCode: true};
    try {
      const found = drilledFileIn(await this.#parts.runErrand(place, {kind: 'drill', expected}, DRILL_ERRAND_MS));
      return found ?? notChecked('the process that checked the file answered something else');
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return notChecked(caught.message);
    }
  }
}

function notChecked(finding: string): DrilledFile {
  const checks = [{check: 'content' as const, findings: [finding]}];
  return {checks, report: null, functions: 'not_started', query: null, functionFindings: []};
}

function faultsOf({checks}: RestoredCopy, checked: DrilledFile | null): {findings: string[]; objects: string[]} {
  const all = [...checks, ...(checked?.checks ?? [])];
  const findings = [...all.flatMap(one => one.findings), ...(checked?.functionFindings ?? [])];
  return {findings: findings.slice(0, 5), objects: checks.flatMap(({objects}) => objects)};
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms).unref();
  });
}
