/**
 * How much one invocation may read and write. The call that goes beyond fails; that it did is remembered, because a mutation
 * that catches the error must not commit what it got done until then.
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
/** Documents between two looks at the clock: a filter of FILTER_NODES_MAX takes a good millisecond for so many. */
const LOOK_DOCUMENTS = 16;
const COUNTERS = Object.keys(LIMITS) as Counter[];

export class Budget {
  readonly #used: Record<Counter, number> = {documents: 0, bytes: 0, reads: 0, writes: 0, writtenBytes: 0};
  /** The message of the first limit that was exceeded; null: none was. */
  exceeded: string | null = null;
  #deadline: Deadline | null = null;

  /** @param deadline null: the caller bounds the time */
  begin(deadline: Deadline | null): void {
    this.#deadline = deadline;
    for (const counter of COUNTERS) this.#used[counter] = 0;
    this.exceeded = null;
  }

  /** A get or a query. @throws DatabaseFault */
  read(): void {
    this.#use('reads', 1);
  }

  /** A document that was looked at, also when a filter leaves it out. @throws DatabaseFault, TimeIsUp */
  scanned(body: string): void {
    this.#use('documents', 1);
    this.#use('bytes', Buffer.byteLength(body));
    if (this.#used.documents % LOOK_DOCUMENTS === 0) this.#deadline?.check();
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

  /** Log lines for limits that came near. */
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
