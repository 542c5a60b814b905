/**
 * Limits how much one invocation can read and write. A call beyond a limit fails. The failure is remembered, because a
 * mutation that catches the error must not commit its earlier writes.
 */

import {Buffer} from 'node:buffer';
import {assert} from '../../../shared/assert.ts';
import type {Deadline} from '../deadline.ts';
import {
  FUNCTION_LIMIT_WARNING,
  FUNCTION_READ_BYTES_MAX,
  FUNCTION_READ_DOCUMENTS_MAX,
  FUNCTION_READS_MAX,
  FUNCTION_WRITTEN_BYTES_MAX,
  FUNCTION_WRITTEN_DOCUMENTS_MAX,
} from '../limits.ts';
import {DatabaseFault} from './database-fault.ts';

const LIMITS = {
  documents: [FUNCTION_READ_DOCUMENTS_MAX, 'Too many documents read in a single function execution'],
  bytes: [FUNCTION_READ_BYTES_MAX, 'Too many bytes read in a single function execution'],
  reads: [FUNCTION_READS_MAX, 'Too many reads in a single function execution'],
  writes: [FUNCTION_WRITTEN_DOCUMENTS_MAX, 'Too many writes in a single function execution'],
  writtenBytes: [FUNCTION_WRITTEN_BYTES_MAX, 'Too many bytes written in a single function execution'],
} as const;
type Counter = keyof typeof LIMITS;
/** Documents between two checks of the clock: with a filter of FILTER_NODES_MAX they take slightly more than 1 ms. */
const POLL_DOCUMENTS = 16;
const COUNTERS = Object.keys(LIMITS) as Counter[];

export class Budget {
  readonly #used: Record<Counter, number> = {documents: 0, bytes: 0, reads: 0, writes: 0, writtenBytes: 0};
  /** The message of the first exceeded limit; null: none. */
  exceeded: string | null = null;
  #deadline: Deadline | null = null;

  /** @param deadline null: the caller limits the time */
  begin(deadline: Deadline | null): void {
    this.#deadline = deadline;
    for (const counter of COUNTERS) this.#used[counter] = 0;
    this.exceeded = null;
  }

  /** Counts a get or a query. @throws DatabaseFault */
  read(): void {
    this.#use('reads', 1);
  }

  /** Counts a document that was read, even if a filter excludes it. @throws DatabaseFault, TimeIsUp */
  scanned(body: string): void {
    this.#use('documents', 1);
    this.#use('bytes', Buffer.byteLength(body));
    if (this.#used.documents % POLL_DOCUMENTS === 0) this.#deadline?.check();
  }

  /** Whether one more document can be read. */
  admits(body: string): boolean {
    const {documents, bytes} = this.#used;
    return documents < FUNCTION_READ_DOCUMENTS_MAX && bytes + Buffer.byteLength(body) <= FUNCTION_READ_BYTES_MAX;
  }

  /** @throws DatabaseFault */
  wrote(bytes: number): void {
    this.#use('writes', 1);
    this.#use('writtenBytes', bytes);
  }

  /** Log lines for limits that are nearly reached. */
  warnings(): string[] {
    const lines: string[] = [];
    for (const counter of COUNTERS) {
      const [limit, message] = LIMITS[counter];
      const used = this.#used[counter];
      if (used < limit * FUNCTION_LIMIT_WARNING || used > limit) continue;
      lines.push(`[WARN] ${message.replace(/^Too many/, 'Many')} (actual: ${used}, limit: ${limit})`);
    }
    return lines;
  }

  #use(counter: Counter, amount: number): void {
    assert(amount >= 0, `${counter} are used, never given back`);
    this.#used[counter] += amount;
    const [limit, message] = LIMITS[counter];
    if (this.#used[counter] <= limit) return;
    this.exceeded ??= `${message} (limit: ${limit})`;
    throw new DatabaseFault(`${message} (limit: ${limit})`);
  }
}
