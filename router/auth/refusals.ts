/**
 * Counts requests that were refused for who asked, and tells the supervisor so much of it that the log of them is useful and cannot be
 * flooded: of those that are alike the first at once, and how many more came when a window ends. Nothing waits for it.
 *
 * Alike are those of one key with one operation and error, and of an address without a valid credential those with one error: which
 * routes somebody guesses at says little. Each of the two kinds has places of its own, so that strangers hide nothing of what keys
 * try. What finds no place is only counted.
 */
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import type {MetricJson} from '../../shared/metric-json.ts';
import {REFUSAL_GROUPS_MAX, REFUSAL_WINDOW_MS} from '../limits.ts';

type Group = {
  last: RefusedRequest;
  /** Not told yet. */
  more: number;
  endMs: number;
};

export class Refusals {
  readonly #tell: (refused: RefusedRequest) => void;
  readonly #clock: () => number;
  readonly #ofKeys = new Map<string, Group>();
  readonly #ofOthers = new Map<string, Group>();
  #keys = 0;
  #others = 0;
  #untold = 0;

  /** @param clock milliseconds that never go back */
  constructor(tell: (refused: RefusedRequest) => void, clock: () => number) {
    this.#tell = tell;
    this.#clock = clock;
  }

  /** @param refused with a count of 1 */
  note(refused: RefusedRequest): void {
    const isKeys = refused.key !== null;
    if (isKeys) this.#keys++;
    else this.#others++;
    const groups = isKeys ? this.#ofKeys : this.#ofOthers;
    const name = isKeys ? `${refused.key} ${refused.operation} ${refused.code}` : `${refused.address} ${refused.code}`;
    const known = groups.get(name);
    if (known !== undefined) {
      known.more++;
      known.last = refused;
    } else if (groups.size < REFUSAL_GROUPS_MAX) {
      groups.set(name, {last: refused, more: 0, endMs: this.#clock() + REFUSAL_WINDOW_MS});
      this.#tell(refused);
    } else this.#untold++;
  }

  /** Tells what was only counted in windows that are over. A group of which nothing more came is forgotten. */
  look(): void {
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

  /** Tells all that was counted. */
  close(): void {
    for (const groups of [this.#ofKeys, this.#ofOthers]) {
      for (const group of groups.values()) if (group.more > 0) this.#tellMore(group);
    }
  }

  metrics(): MetricJson[] {
    return [
      {
        name: 'svc_refusals_total',
        help: 'Requests refused with 401 or 403, by whether they carried a valid key.',
        type: 'counter',
        aggregator: 'sum',
        values: [
          {labels: {by: 'key'}, value: this.#keys},
          {labels: {by: 'other'}, value: this.#others},
        ],
      },
      {
        name: 'svc_refusals_unrecorded_total',
        help: 'Refused requests that were counted only, because the log of refusals records a limited number of kinds per minute.',
        type: 'counter',
        aggregator: 'sum',
        values: [{labels: {}, value: this.#untold}],
      },
    ];
  }

  #tellMore(group: Group): void {
    this.#tell({...group.last, count: group.more});
    group.more = 0;
  }
}
