/**
 * Attributes crashes of one tenant's workers: collects from all routers the calls that were under way at each crash,
 * and passes them to the quarantine. The next worker is not announced before that, so that a newly refused call is not
 * sent to it. A router that does not report is waited for at most CRASH_REPORT_MS. By then it answers nothing from
 * memory that the worker before allowed, so the next one can change it.
 */
import {assert} from '../../shared/assert.ts';
import type {TenantSuspects, UserCall, WorkerName} from '../../shared/ipc/control.ts';
import {CACHE_LEASE_MS} from '../../shared/limits.ts';
import {Quarantine, type Refusal} from '../../shared/quarantine.ts';
import {CRASH_REPORT_MS} from '../limits.ts';

/** A timer can fire early by a millisecond. */
assert(CACHE_LEASE_MS + 1 < CRASH_REPORT_MS, 'leases of caches end before the next worker is announced');

export type Verdict = {isAttributed: boolean; refused: Refusal[]};

type Crash = {worker: WorkerName; calls: UserCall[]; unheard: Set<number>; timer: NodeJS.Timeout};

export class Crashes {
  readonly #quarantine = new Quarantine();
  readonly #now: () => number;
  readonly #onVerdict: (verdict: Verdict) => void;
  #open: Crash | null = null;

  /**
   * @param now milliseconds of a monotonic clock
   * @param onVerdict called when calls were under way at a crash and all of them are known
   */
  constructor(now: () => number, onVerdict: (verdict: Verdict) => void) {
    this.#now = now;
    this.#onVerdict = onVerdict;
  }

  /** Whether the calls of the last crash are still incomplete. */
  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** @param unheard routers that may have had more calls under way */
  died(worker: WorkerName, calls: UserCall[], unheard: Set<number>): void {
    if (this.#open !== null) this.#close(this.#open);
    const timer = setTimeout(() => this.#close(crash), CRASH_REPORT_MS);
    const crash: Crash = {worker, calls, unheard, timer};
    this.#open = crash;
    this.#closeIfKnown(crash);
  }

  /** A router lost its link to this worker. */
  heard(router: number, worker: WorkerName, calls: UserCall[]): void {
    const crash = this.#open;
    if (crash?.worker !== worker || !crash.unheard.delete(router)) return;
    crash.calls.push(...calls);
    this.#closeIfKnown(crash);
  }

  routerEnded(router: number): void {
    if (this.#open === null) return;
    this.#open.unheard.delete(router);
    this.#closeIfKnown(this.#open);
  }

  /** The tenant is being deleted, or the server stops. */
  end(): void {
    if (this.#open !== null) clearTimeout(this.#open.timer);
    this.#open = null;
  }

  answered(key: string): void {
    this.#quarantine.answered(key);
  }

  /** Null: no call is suspected. */
  suspects(): Omit<TenantSuspects, 'tenant'> | null {
    const nowMs = this.#now();
    return this.#quarantine.isEmpty(nowMs) ? null : this.#quarantine.suspects(nowMs);
  }

  #closeIfKnown(crash: Crash): void {
    if (crash.unheard.size === 0) this.#close(crash);
  }

  #close(crash: Crash): void {
    clearTimeout(crash.timer);
    this.#open = null;
    this.#onVerdict(
      crash.calls.length === 0 ? {isAttributed: false, refused: []} : this.#quarantine.died(crash.calls, this.#now()),
    );
  }
}
