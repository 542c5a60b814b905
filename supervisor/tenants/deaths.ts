/**
 * What the deaths of one tenant's workers are held against: gathers from all routers what was under way at each, and lets
 * the quarantine judge it. Nobody is told of the next worker before that, so that a call which is refused from now on is not sent
 * to it; but a router that says nothing is waited for DEATH_REPORT_MS only.
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
   * @param now milliseconds of a clock that is never set
   * @param onVerdict calls were under way at a death, and all of them are known
   */
  constructor(now: () => number, onVerdict: (verdict: Verdict) => void) {
    this.#now = now;
    this.#onVerdict = onVerdict;
  }

  /** Not all is known of the last one. */
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

  /** Null: nothing is suspected. */
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
