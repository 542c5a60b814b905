/**
 * What watches a query while it reads. On the thread that serves, a query may read with SCAN_INLINE_MS of processor time and so many documents;
 * one that needs more is given up and run again, from its beginning and in one snapshot, on a scan thread. So an answer is
 * always of one moment, and no query holds up the others.
 */
import {performance} from 'node:perf_hooks';
import {SCAN_INLINE_CHARS, SCAN_INLINE_CLOCK_MS, SCAN_INLINE_DOCUMENTS, SCAN_INLINE_MS} from '../limits.ts';
import type {TableInfo} from '../storage/rows.ts';

export interface Pace {
  /** The query will look at every document of the table. @throws what ends the query */
  willReadAll(table: TableInfo): void;
  /** So much was read since the last call. @throws what ends the query */
  hasRead(documents: number, chars: number): void;
}

/** Thrown by an InlinePace: the query belongs on a scan thread. No Error, because nothing is wrong, and a stack costs. */
export const HAND_OVER = Symbol('hand over');

/**
 * What the queries of one turn may take of the thread that serves, together: SCAN_INLINE_MS of its processor time. The
 * clock's time alone would give up queries that had only waited for a processor, and have them read twice when the machine is
 * busiest. SCAN_INLINE_CLOCK_MS ends them all the same: the disk may be slow.
 */
export class InlineBudget {
  readonly #fromCpuMs = threadCpuMs();
  /** No sooner can it be spent. */
  #looksMs = performance.now() + SCAN_INLINE_MS;
  readonly #endsMs = performance.now() + SCAN_INLINE_CLOCK_MS;

  get isSpent(): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#looksMs) return false;
    const leftMs = SCAN_INLINE_MS - (threadCpuMs() - this.#fromCpuMs);
    this.#looksMs = nowMs + leftMs;
    return leftMs <= 0 || nowMs >= this.#endsMs;
  }
}

export class InlinePace implements Pace {
  readonly #count: (table: TableInfo) => number;
  readonly #budget: InlineBudget;
  #documents = 0;
  #chars = 0;

  /** @param count documents of a table, as far as they are counted */
  constructor(count: (table: TableInfo) => number, budget = new InlineBudget()) {
    this.#count = count;
    this.#budget = budget;
  }

  willReadAll(table: TableInfo): void {
    if (this.#count(table) > SCAN_INLINE_DOCUMENTS) throw HAND_OVER;
  }

  hasRead(documents: number, chars: number): void {
    this.#documents += documents;
    this.#chars += chars;
    const isOver = this.#documents > SCAN_INLINE_DOCUMENTS || this.#chars > SCAN_INLINE_CHARS || this.#budget.isSpent;
    if (isOver) throw HAND_OVER;
  }
}

/** Older releases of Node tell only of the whole process, which is no less. */
function threadCpuMs(): number {
  const {user, system} = process.threadCpuUsage === undefined ? process.cpuUsage() : process.threadCpuUsage();
  return (user + system) / 1000;
}

/** For queries that may take what the limits of a scan allow. */
export const UNHURRIED: Pace = {willReadAll: () => undefined, hasRead: () => undefined};
