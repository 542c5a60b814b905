/** Service control of one tenant: its services, sandboxes and sessions, and the timer that ends the last two. */
import type {Commit, Stage} from '../../engine/commit/commit.ts';
import type {ControlParts} from './control-parts.ts';
import {Sandboxes} from './sandboxes.ts';
import {Services} from './services/services.ts';
import {Sessions} from './sessions.ts';

/** The longest delay of a Node timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Never ends. */
const ALWAYS_MS = Number.MAX_SAFE_INTEGER;

export class Control implements Stage {
  readonly services: Services;
  readonly sandboxes: Sandboxes;
  readonly sessions: Sessions;
  readonly #clock: () => number;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  /**
   * @param onUse receives the time until which any of them wants the tenant awake, epoch milliseconds; null: none does
   */
  constructor(parts: Omit<ControlParts, 'changed'>, onUse: (untilMs: number | null) => void) {
    this.#clock = parts.clock;
    // Until the first report, which waits for everything below.
    let isInUse = true;
    const tell = (): void => {
      const untilMs = this.services.areWanted ? ALWAYS_MS : latest(this.sandboxes.lastEndMs, this.sessions.lastEndMs);
      isInUse = untilMs !== null;
      onUse(untilMs);
    };
    let isChanged = false;
    const changed = (): void => {
      if (isChanged) return;
      isChanged = true;
      // The first use is reported before its request is answered, so that the worker is not stopped as idle after it.
      if (!isInUse && !this.#isClosed) tell();
      // Once for all changes of this tick.
      setImmediate(() => {
        isChanged = false;
        if (this.#isClosed) return;
        this.#arm();
        tell();
      });
    };
    this.sandboxes = new Sandboxes({...parts, changed});
    this.sessions = new Sessions({...parts, changed}, this.sandboxes);
    this.services = new Services({...parts, changed});
    changed();
  }

  committed(commit: Commit): void {
    this.services.committed(commit);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await Promise.all([this.services.close(), this.sandboxes.close()]);
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const ends = [this.sandboxes.nextEndMs, this.sessions.nextEndMs].filter(endMs => endMs !== null);
    if (ends.length === 0) return;
    const ms = Math.min(TIMER_MS_MAX, Math.max(1, Math.min(...ends) - this.#clock()));
    this.#timer = setTimeout(() => {
      this.sandboxes.expire();
      this.sessions.expire();
      this.#arm(); // with a clock that was set back nothing has expired yet
    }, ms).unref();
  }
}

function latest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
