/**
 * How fast children that hang may be killed, over the whole server. A few at once is what a fault looks like. Many within a
 * minute mean that the machine is the matter, and then each replacement would add to what it suffers from: the pauses
 * between kills double, until a minute without any.
 */
import {backOffMs} from '../../shared/back-off.ts';
import {KILL_PAUSE_MS_MAX, KILL_PAUSE_MS_MIN, KILLS_AT_ONCE_MAX, KILLS_FORGOTTEN_MS} from '../limits.ts';

export class KillPace {
  readonly #now: () => number;
  /** Kills since the last time that KILLS_FORGOTTEN_MS passed without one. */
  #kills = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds of a clock that is never set */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** May one be killed now? If so it is counted. */
  take(): boolean {
    const nowMs = this.#now();
    const sinceMs = nowMs - this.#lastMs;
    if (sinceMs >= KILLS_FORGOTTEN_MS) this.#kills = 0;
    if (sinceMs < pauseMs(this.#kills)) return false;
    this.#kills++;
    this.#lastMs = nowMs;
    return true;
  }
}

/** The pause before the next one after so many. */
function pauseMs(kills: number): number {
  if (kills < KILLS_AT_ONCE_MAX) return 0;
  return backOffMs(KILL_PAUSE_MS_MIN, KILL_PAUSE_MS_MAX, kills - KILLS_AT_ONCE_MAX);
}
