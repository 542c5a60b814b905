/**
 * Whether this host may answer reads: only while it has its lease in the cluster, because another host can have written
 * since (decision 0109). Compare it after a request has arrived. Writes need no lease, because the log decides.
 */
import {monotonicMs} from '../../shared/monotonic.ts';
import {LEASE_WAIT_MS} from './limits.ts';

export class LeaseGate {
  #untilMs = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Set<(holds: boolean) => void>();

  /** @param untilMs an instant of the host's monotonic clock */
  until(untilMs: number): void {
    this.#untilMs = untilMs;
    if (!this.holds()) return;
    // One that is resumed can wait again, if little of the lease is left.
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume(true);
  }

  /** Reads the clock, because a time from before a pause says nothing. */
  holds(): boolean {
    return monotonicMs() < this.#untilMs;
  }

  /** @param resume called once: with true when the lease is renewed, with false after LEASE_WAIT_MS */
  whenRenewed(resume: (holds: boolean) => void): void {
    const timer = setTimeout(() => {
      this.#waiting.delete(once);
      resume(false);
    }, LEASE_WAIT_MS);
    const once = (holds: boolean) => {
      clearTimeout(timer);
      resume(holds);
    };
    this.#waiting.add(once);
  }
}
