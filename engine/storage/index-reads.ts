/**
 * When each index was last read, by queries and by functions, since the tenant was opened. A read stores one number.
 * Scan threads write to the same memory; the process of isolates reports its reads with its results. One tenant has a
 * process, so there is one object per thread.
 */
import {INDEX_READS_SLOTS} from '../limits.ts';

const MINUTE = 60_000;

export class IndexReads {
  /**
   * Epoch minutes, by the number of the index; 0: not read. Indexes that share a slot are both shown as read. Null: the
   * process of isolates, whose results name what they read.
   */
  #minutes: Uint32Array | null = null;
  sinceMs = 0;

  /** The tenant is open. Not at the start of the process: a spare can wait for days. */
  begin(): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(INDEX_READS_SLOTS * Uint32Array.BYTES_PER_ELEMENT);
    this.sinceMs = Date.now();
    this.shareMemory(memory);
    return memory;
  }

  /** From now on this thread writes to the memory of another. */
  shareMemory(memory: SharedArrayBuffer): void {
    this.#minutes = new Uint32Array(memory);
  }

  note(index: number, nowMs = Date.now()): void {
    if (this.#minutes !== null) this.#minutes[index % INDEX_READS_SLOTS] = nowMs / MINUTE;
  }

  /** Epoch milliseconds, to the minute; null: not since the tenant was opened. */
  lastMs(index: number): number | null {
    const minute = this.#minutes?.[index % INDEX_READS_SLOTS] ?? 0;
    return minute === 0 ? null : minute * MINUTE;
  }
}

export const indexReads = new IndexReads();
