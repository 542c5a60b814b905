/**
 * What watches a query while it reads. On the thread that serves, a query may read for SCAN_INLINE_MS and so many documents;
 * one that needs more is given up and run again, from its beginning and in one snapshot, on a scan thread. So an answer is
 * always of one moment, and no query holds up the others.
 */
import {performance} from 'node:perf_hooks';
import {SCAN_INLINE_CHARS, SCAN_INLINE_DOCUMENTS, SCAN_INLINE_MS} from '../../shared/limits.ts';
import type {TableInfo} from './reader.ts';

export interface Pace {
  /** The query will look at every document of the table. @throws what ends the query */
  willReadAll(table: TableInfo): void;
  /** So much was read since the last call. @throws what ends the query */
  hasRead(documents: number, chars: number): void;
}

/** Thrown by an InlinePace: the query belongs on a scan thread. No Error, because nothing is wrong, and a stack costs. */
export const HAND_OVER = Symbol('hand over');

export class InlinePace implements Pace {
  readonly #count: (table: TableInfo) => number;
  readonly #endsMs: number;
  #documents = 0;
  #chars = 0;

  /** @param count documents of a table, as far as they are counted, @param endsMs performance.now() at which its time is up */
  constructor(count: (table: TableInfo) => number, endsMs = performance.now() + SCAN_INLINE_MS) {
    this.#count = count;
    this.#endsMs = endsMs;
  }

  willReadAll(table: TableInfo): void {
    if (this.#count(table) > SCAN_INLINE_DOCUMENTS) throw HAND_OVER;
  }

  hasRead(documents: number, chars: number): void {
    this.#documents += documents;
    this.#chars += chars;
    const isOver =
      this.#documents > SCAN_INLINE_DOCUMENTS || this.#chars > SCAN_INLINE_CHARS || performance.now() >= this.#endsMs;
    if (isOver) throw HAND_OVER;
  }
}

/** For queries that may take what the limits of a scan allow. */
export const UNHURRIED: Pace = {willReadAll: () => undefined, hasRead: () => undefined};
