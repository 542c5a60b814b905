/** Retries runs of subscribed queries that the service refused, with increasing pauses. */
import {backOffMs} from '../../../../shared/back-off.ts';
import {LIVE_RUN_AGAIN_MS, LIVE_RUN_AGAIN_MS_MAX} from '../../limits.ts';
import type {SubscribedQuery} from './subscribed-query.ts';

type Refused = {times: number; timer: NodeJS.Timeout | null};

export class Retries {
  readonly #onDue: (query: SubscribedQuery, slotKey: string) => void;
  readonly #refused = new Map<SubscribedQuery, Map<string, Refused>>();

  /** @param onDue called when a run of this slot can be retried */
  constructor(onDue: (query: SubscribedQuery, slotKey: string) => void) {
    this.#onDue = onDue;
  }

  /** @returns the number of refusals in a row, including this one */
  refused(query: SubscribedQuery, slotKey: string): number {
    let slots = this.#refused.get(query);
    if (slots === undefined) {
      slots = new Map();
      this.#refused.set(query, slots);
    }
    const known = slots.get(slotKey);
    const times = (known?.times ?? 0) + 1;
    if (known !== undefined && known.timer !== null) clearTimeout(known.timer);
    const waitMs = backOffMs(LIVE_RUN_AGAIN_MS, LIVE_RUN_AGAIN_MS_MAX, times - 1);
    const refused: Refused = {times, timer: null};
    refused.timer = setTimeout(() => {
      refused.timer = null;
      this.#onDue(query, slotKey);
    }, waitMs);
    slots.set(slotKey, refused);
    return times;
  }

  /** A run succeeded. */
  ran(query: SubscribedQuery, slotKey: string): void {
    const slots = this.#refused.get(query);
    const known = slots?.get(slotKey);
    if (slots === undefined || known === undefined) return;
    if (known.timer !== null) clearTimeout(known.timer);
    slots.delete(slotKey);
    if (slots.size === 0) this.#refused.delete(query);
  }

  /** The query has no subscribers any more. */
  forget(query: SubscribedQuery): void {
    for (const {timer} of this.#refused.get(query)?.values() ?? []) if (timer !== null) clearTimeout(timer);
    this.#refused.delete(query);
  }

  close(): void {
    for (const query of [...this.#refused.keys()]) this.forget(query);
  }
}
