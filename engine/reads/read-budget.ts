/**
 * Limits the time that a query reads. On the serving thread, a query has SCAN_INLINE_MS of CPU time and a limited
 * number of documents. A query that needs more is aborted and run again on a scan thread, from its beginning and in one
 * snapshot. So a result always shows one moment, and no query blocks the others.
 */
import {performance} from 'node:perf_hooks';
import {assert} from '../../shared/assert.ts';
import {SCAN_INLINE_CHARS, SCAN_INLINE_CLOCK_MS, SCAN_INLINE_DOCUMENTS, SCAN_INLINE_MS} from '../limits.ts';
import type {TableInfo} from '../storage/rows.ts';

export interface ReadBudget {
  /** The query will read every document of the table. @throws the error that ends the query */
  willReadAll(table: TableInfo): void;
  /** Reports the reads since the last call. @throws the error that ends the query */
  hasRead(documents: number, chars: number): void;
}

/**
 * Thrown by an InlineReadBudget: the query belongs on a scan thread. Not an Error, because nothing is wrong, and a stack is
 * expensive.
 */
export const HAND_OVER = Symbol('hand over');

/**
 * The budget that the queries of one turn share on the serving thread: SCAN_INLINE_MS of its CPU time. Wall-clock time
 * alone would abort queries that had only waited for a CPU, and read them twice when the machine is busiest.
 * SCAN_INLINE_CLOCK_MS still ends them, because the disk can be slow.
 */
export class InlineBudget {
  readonly #fromCpuMs = threadCpuMs();
  /** The earliest time at which the budget can be spent. */
  #nextCheckMs = performance.now() + SCAN_INLINE_MS;
  readonly #endsMs = performance.now() + SCAN_INLINE_CLOCK_MS;

  get isSpent(): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#nextCheckMs) return false;
    const leftMs = SCAN_INLINE_MS - (threadCpuMs() - this.#fromCpuMs);
    this.#nextCheckMs = nowMs + leftMs;
    return leftMs <= 0 || nowMs >= this.#endsMs;
  }
}

export class InlineReadBudget implements ReadBudget {
  readonly #count: (table: TableInfo) => number;
  readonly #budget: InlineBudget;
  #documents = 0;
  #chars = 0;

  /** @param count number of documents of a table that are counted so far */
  constructor(count: (table: TableInfo) => number, budget = new InlineBudget()) {
    this.#count = count;
    this.#budget = budget;
  }

  willReadAll(table: TableInfo): void {
    if (this.#count(table) > SCAN_INLINE_DOCUMENTS) throw HAND_OVER;
  }

  hasRead(documents: number, chars: number): void {
    assert(documents >= 0 && chars >= 0, 'reads only add up');
    this.#documents += documents;
    this.#chars += chars;
    const isOver = this.#documents > SCAN_INLINE_DOCUMENTS || this.#chars > SCAN_INLINE_CHARS || this.#budget.isSpent;
    if (isOver) throw HAND_OVER;
  }
}

/** Older releases of Node report only the whole process's time, which is never less. */
function threadCpuMs(): number {
  const {user, system} = process.threadCpuUsage === undefined ? process.cpuUsage() : process.threadCpuUsage();
  return (user + system) / 1000;
}

/** For queries that can use everything the limits of a scan allow. */
export const UNHURRIED: ReadBudget = {willReadAll: () => undefined, hasRead: () => undefined};
