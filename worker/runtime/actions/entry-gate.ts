/**
 * Limits how many isolates of an action thread can compute at once, by available memory. One V8 call can take about a
 * GiB more than its isolate's limit before anything notices, and cannot be interrupted. So an entry that has just begun
 * counts as if it took that much. An entry that has computed for a while shows in the memory of the process and counts
 * no longer.
 *
 *   enter ──room──▶ young ──ENTRY_YOUNG_MS, and memory is not short──▶ old ──▶ leave
 *      └──none──▶ waits, the first first
 */

import {ownBytes} from '../../../shared/own-memory.ts';
import {
  ENTRY_BYTES,
  ENTRY_YOUNG_MS,
  ENTRY_YOUNG_MS_MAX,
  FUNCTIONS_PROCESS_BYTES_END,
  FUNCTIONS_PROCESS_BYTES_SHORT,
} from '../limits.ts';

/** Interval for measuring memory, and for checking capacity while an entry waits. */
const POLL_MS = 10;

export class EntryGate {
  readonly #bytesNow: () => number;
  readonly #inside = new Set<Entry>();
  #waiting: Entry[] = [];
  #timer: NodeJS.Timeout | null = null;
  #bytes = 0;
  #readMs = Number.NEGATIVE_INFINITY;

  /** @param bytesNow measures the memory of the process; tests replace it */
  constructor(bytesNow: () => number = () => ownBytes('self') ?? process.memoryUsage.rss()) {
    this.#bytesNow = bytesNow;
  }

  /** Returns an entry. It is already inside, or `admitted` resolves when it is inside or has left without entering. */
  enter(): Entry {
    const entry = new Entry(this);
    if (this.#waiting.length === 0 && this.#hasRoom()) this.#admit(entry);
    else {
      this.#waiting.push(entry);
      this.#timer ??= setInterval(() => this.#admitAll(), POLL_MS);
    }
    return entry;
  }

  leave(entry: Entry): void {
    if (!this.#inside.delete(entry)) this.#waiting = this.#waiting.filter(waiting => waiting !== entry);
    this.#admitAll();
  }

  #admitAll(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) this.#admit(this.#waiting.shift()!);
    if (this.#waiting.length > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #admit(entry: Entry): void {
    this.#inside.add(entry);
    entry.admit();
  }

  #hasRoom(): boolean {
    // At least one entry always runs, whatever memory is in use.
    if (this.#inside.size === 0) return true;
    const nowMs = performance.now();
    if (nowMs - this.#readMs >= POLL_MS) {
      this.#readMs = nowMs;
      this.#bytes = this.#bytesNow();
    }
    const youngMs = this.#bytes > FUNCTIONS_PROCESS_BYTES_SHORT ? ENTRY_YOUNG_MS_MAX : ENTRY_YOUNG_MS;
    let young = 0;
    for (const {sinceMs} of this.#inside) if (nowMs - sinceMs < youngMs) young++;
    return this.#bytes + (young + 1) * ENTRY_BYTES <= FUNCTIONS_PROCESS_BYTES_END;
  }
}

export class Entry {
  readonly #gate: EntryGate;
  readonly #admitted = Promise.withResolvers<void>();
  isInside = false;
  sinceMs = 0;

  constructor(gate: EntryGate) {
    this.#gate = gate;
  }

  get admitted(): Promise<void> {
    return this.#admitted.promise;
  }

  admit(): void {
    this.isInside = true;
    this.sinceMs = performance.now();
    this.#admitted.resolve();
  }

  /** It is over, or no longer needed. */
  leave(): void {
    this.isInside = false;
    this.#admitted.resolve();
    this.#gate.leave(this);
  }
}
