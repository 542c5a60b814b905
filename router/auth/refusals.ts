/**
 * Counts requests refused because of their credentials or rights, and reports them to the supervisor so that their log
 * is useful and cannot be flooded. Of similar refusals the first one in a window is reported at once, and the number of
 * further ones when the window ends. Nothing waits for these reports.
 *
 * Refusals are similar if they have the same key, operation and error. Without a valid credential, they are similar if
 * they have the same address and error, because the routes that a client guesses say little. Each of the two kinds has
 * its own quota, so that strangers cannot hide refusals of keys. Refusals beyond the quota are only counted.
 */
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {REFUSAL_GROUPS_MAX, REFUSAL_WINDOW_MS} from '../limits.ts';

type Group = {
  last: RefusedRequest;
  /** Counted and not reported yet. */
  more: number;
  endMs: number;
};

export class Refusals {
  readonly #tell: (refused: RefusedRequest) => void;
  readonly #clock: () => number;
  readonly #ofKeys = new Map<string, Group>();
  readonly #ofOthers = new Map<string, Group>();
  readonly #metrics: RouterMetrics;

  /** @param clock milliseconds, monotonic */
  constructor(tell: (refused: RefusedRequest) => void, clock: () => number, metrics: RouterMetrics) {
    this.#tell = tell;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** @param refused with a count of 1 */
  note(refused: RefusedRequest): void {
    const isKeys = refused.key !== null;
    this.#metrics.count('svc_refusals_total', {by: isKeys ? 'key' : 'other'});
    const groups = isKeys ? this.#ofKeys : this.#ofOthers;
    const name = isKeys ? `${refused.key} ${refused.operation} ${refused.code}` : `${refused.address} ${refused.code}`;
    const known = groups.get(name);
    if (known !== undefined) {
      known.more++;
      known.last = refused;
    } else if (groups.size < REFUSAL_GROUPS_MAX) {
      groups.set(name, {last: refused, more: 0, endMs: this.#clock() + REFUSAL_WINDOW_MS});
      this.#tell(refused);
    } else this.#metrics.count('svc_refusals_unrecorded_total');
  }

  /** Reports the counts of windows that have ended, and forgets groups that had no further refusals. */
  poll(): void {
    const nowMs = this.#clock();
    for (const groups of [this.#ofKeys, this.#ofOthers]) {
      for (const [name, group] of groups) {
        if (group.endMs > nowMs) continue;
        if (group.more === 0) groups.delete(name);
        else this.#tellMore(group);
        group.endMs = nowMs + REFUSAL_WINDOW_MS;
      }
    }
  }

  /** Reports all remaining counts. */
  close(): void {
    for (const groups of [this.#ofKeys, this.#ofOthers]) {
      for (const group of groups.values()) if (group.more > 0) this.#tellMore(group);
    }
  }

  #tellMore(group: Group): void {
    this.#tell({...group.last, count: group.more});
    group.more = 0;
  }
}
