/**
 * Limits how fast hung children are killed, across the server. A few at once is typical of a fault in them. Many within
 * a minute mean that the machine is overloaded, and each replacement would add to that load. So the pauses between
 * kills double, until a minute passes without any.
 */
import {backOffMs} from '../../shared/back-off.ts';
import {KILL_PAUSE_MS_MAX, KILL_PAUSE_MS_MIN, KILLS_AT_ONCE_MAX, KILLS_FORGOTTEN_MS} from '../limits.ts';

export class KillRate {
  readonly #now: () => number;
  /** Kills since the last period of KILLS_FORGOTTEN_MS without one. */
  #kills = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether one can be killed now; if so, it is counted. */
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

/** The pause before the next kill, after this many. */
function pauseMs(kills: number): number {
  if (kills < KILLS_AT_ONCE_MAX) return 0;
  return backOffMs(KILL_PAUSE_MS_MIN, KILL_PAUSE_MS_MAX, kills - KILLS_AT_ONCE_MAX);
}
