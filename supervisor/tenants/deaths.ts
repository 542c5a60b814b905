/**
 * Attributes crashes of one tenant's workers: collects from all routers the calls that were under way at each crash,
 * and passes them to the quarantine. The next worker is not announced before that, so that a newly refused call is not
 * sent to it. A router that does not report is waited for at most DEATH_REPORT_MS.
 */
import type {TenantSuspects, UserCall} from '../../shared/ipc/control.ts';
import {Quarantine, type Refusal} from '../../shared/quarantine.ts';
import {DEATH_REPORT_MS} from '../limits.ts';

export type Verdict = {isHeld: boolean; refused: Refusal[]};

type Death = {socketPath: string; calls: UserCall[]; unheard: Set<number>; timer: NodeJS.Timeout};

export class Deaths {
  readonly #quarantine = new Quarantine();
  readonly #now: () => number;
  readonly #onVerdict: (verdict: Verdict) => void;
  #open: Death | null = null;

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
  died(socketPath: string, calls: UserCall[], unheard: Set<number>): void {
    if (this.#open !== null) this.#close(this.#open);
    const timer = setTimeout(() => this.#close(death), DEATH_REPORT_MS);
    const death: Death = {socketPath, calls, unheard, timer};
    this.#open = death;
    this.#closeIfKnown(death);
  }

  /** A router lost its link to this worker. */
  heard(router: number, socketPath: string, calls: UserCall[]): void {
    const death = this.#open;
    if (death?.socketPath !== socketPath || !death.unheard.delete(router)) return;
    death.calls.push(...calls);
    this.#closeIfKnown(death);
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

  #closeIfKnown(death: Death): void {
    if (death.unheard.size === 0) this.#close(death);
  }

  #close(death: Death): void {
    clearTimeout(death.timer);
    this.#open = null;
    this.#onVerdict(
      death.calls.length === 0 ? {isHeld: false, refused: []} : this.#quarantine.died(death.calls, this.#now()),
    );
  }
}
