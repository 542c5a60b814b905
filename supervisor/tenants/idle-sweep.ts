/** Lets go of tenants that nothing has used for a while. */
import type {TenantEntry} from './tenant-entry.ts';

/** Maximum interval between checks; there are at least four within the idle time. */
const SWEEP_MS_MAX = 1_000;
const SWEEP_MS_MIN = 25;

export type IdleSweepParts = {
  /** 0: idle tenants are never let go. */
  idleStopMs: number;
  now: () => number;
  entries: () => Iterable<TenantEntry>;
  letGo: (entry: TenantEntry) => void;
  /** Called after each check. */
  swept: () => void;
};

export class IdleSweep {
  readonly #parts: IdleSweepParts;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: IdleSweepParts) {
    this.#parts = parts;
  }

  start(): void {
    const {idleStopMs} = this.#parts;
    const sweepMs = idleStopMs === 0 ? SWEEP_MS_MAX : Math.min(SWEEP_MS_MAX, Math.max(SWEEP_MS_MIN, idleStopMs / 4));
    this.#timer = setInterval(() => this.#sweep(), sweepMs);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #sweep(): void {
    const {idleStopMs, now, entries, letGo, swept} = this.#parts;
    if (idleStopMs > 0) {
      const idleSinceMs = now() - idleStopMs;
      for (const entry of [...entries()]) {
        const {state} = entry.lifecycle;
        if ((state !== 'awake' && state !== 'remote') || entry.lastActiveMs > idleSinceMs) continue;
        if (Math.max(entry.inUseUntilMs, entry.busyUntilMs) <= now()) letGo(entry);
      }
    }
    swept();
  }
}
