/**
 * The longest delay of an event loop in fixed windows of time. Reading it changes nothing, so several scrapers, or a
 * scraper and a person, see the same value.
 */
import {monitorEventLoopDelay} from 'node:perf_hooks';

/** How often the event loop's delay is sampled. */
const RESOLUTION_MS = 20;
/** Longer than most scrape intervals: a value is visible for one to two windows. */
export const LONGEST_DELAY_WINDOW_MS = 60_000;

/** The part of `monitorEventLoopDelay` that is used; nanoseconds. */
export type DelaySampler = {readonly max: number; reset(): void};

export class LongestDelay {
  readonly #sampler: DelaySampler;
  /** Of the window before the current one. */
  #previousNs = 0;

  constructor(sampler: DelaySampler) {
    this.#sampler = sampler;
    setInterval(() => this.#beginWindow(), LONGEST_DELAY_WINDOW_MS).unref();
  }

  static ofThisProcess(): LongestDelay {
    const sampler = monitorEventLoopDelay({resolution: RESOLUTION_MS});
    sampler.enable();
    return new LongestDelay(sampler);
  }

  /** The maximum of the current window and the previous one. */
  seconds(): number {
    return Math.max(0, Math.max(this.#previousNs, this.#sampler.max) / 1e9 - RESOLUTION_MS / 1e3);
  }

  #beginWindow(): void {
    this.#previousNs = this.#sampler.max;
    this.#sampler.reset();
  }
}
