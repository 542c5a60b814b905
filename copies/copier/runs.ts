/** Requests to copy everything now. Each waits until what was there when it arrived is in the repository. */
import {overloaded, type ServiceError, unavailable} from '../../shared/errors.ts';
import type {BackupRun} from '../../shared/protocol/backups.ts';
import {MISSING_NAMED_MAX, RUNS_MAX} from './limits.ts';
import type {TenantCopy} from './tenant-copy.ts';

/** What a tenant's copy must reach. `commit` null: it needs another base. */
type Target = {commit: number | null; storedCount: number};

type Run = {
  sinceMs: number;
  /** Null: the spools have not been looked at since. */
  targets: Map<TenantCopy, Target> | null;
  timer: NodeJS.Timeout;
  resolve: (done: BackupRun) => void;
  reject: (error: ServiceError) => void;
};

export class Runs {
  readonly #runs = new Set<Run>();
  readonly #now: () => number;
  /** Why it is not done yet; null: nothing is known to be wrong. */
  readonly #fault: () => string | null;

  constructor(now: () => number, fault: () => string | null) {
    this.#now = now;
    this.#fault = fault;
  }

  get areWaiting(): boolean {
    return this.#runs.size > 0;
  }

  /** @throws session.worker_unavailable 503: not all is in the repository in time; session.overloaded 503 */
  wait(withinMs: number): Promise<BackupRun> {
    if (this.#runs.size >= RUNS_MAX) throw overloaded(`${RUNS_MAX} requests to copy everything wait already`);
    return new Promise((resolve, reject) => {
      const run: Run = {
        sinceMs: this.#now(),
        targets: null,
        timer: setTimeout(() => this.#giveUp(run), withinMs),
        resolve,
        reject,
      };
      this.#runs.add(run);
    });
  }

  /** All spools were looked at after this time. */
  looked(sinceMs: number, copies: Iterable<TenantCopy>): void {
    const all = [...copies];
    if (all.some(({isUnread}) => isUnread)) return;
    for (const run of this.#runs) {
      if (run.targets !== null || run.sinceMs > sinceMs) continue;
      run.targets = new Map();
      for (const copy of all) {
        const {isStored, storedCount, newestSpooled: commit} = copy;
        if (!isStored) run.targets.set(copy, {commit, storedCount});
      }
    }
  }

  /** Something was stored, or nothing is left that can be. */
  settle(copies: ReadonlyMap<string, TenantCopy>): void {
    for (const run of this.#runs) {
      if (run.targets === null) continue;
      for (const [copy, target] of run.targets) {
        if (copies.get(copy.tenant) !== copy || isReached(copy, target)) run.targets.delete(copy);
      }
      const waits = [...run.targets.keys()];
      if (waits.some(({isStuck}) => !isStuck)) continue;
      if (waits.length > 0) {
        this.#giveUp(run);
        continue;
      }
      this.#end(run);
      const tenants = [...copies.values()].filter(({position}) => position != null).length;
      run.resolve({tenants, took_ms: Math.max(0, this.#now() - run.sinceMs)});
    }
  }

  /** No more tries are made. */
  giveUp(): void {
    for (const run of [...this.#runs]) this.#giveUp(run);
  }

  #giveUp(run: Run): void {
    this.#end(run);
    const left = [...(run.targets ?? new Map<TenantCopy, Target>()).keys()];
    const missing = left.map(({tenant}) => tenant).sort();
    const why = this.#fault() ?? left.find(({isStuck}) => isStuck)?.fault?.message ?? null;
    const some = missing.length === 1 ? '1 tenant is' : `${missing.length} tenants are`;
    const what = run.targets === null ? 'the tenants were not copied' : `${some} not copied`;
    run.reject(
      unavailable(`${what} yet${why === null ? '' : `: ${why}`}`, {
        missing: missing.slice(0, MISSING_NAMED_MAX),
        missing_count: run.targets === null ? null : missing.length,
        // A command does not repeat it.
        started: true,
      }),
    );
  }

  #end(run: Run): void {
    clearTimeout(run.timer);
    this.#runs.delete(run);
  }
}

function isReached({isStored, packages, position, storedCount}: TenantCopy, target: Target): boolean {
  if (isStored) return true;
  if (packages.isDue || position == null || storedCount === target.storedCount) return false;
  return target.commit === null || position.commit >= target.commit;
}
