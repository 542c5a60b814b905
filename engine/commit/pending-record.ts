/**
 * The effects of a write so far, as JSON of its journal record, and the record made of them. Most writes have a few
 * texts. Batched inserts come as the stored bytes, which saves encoding them once for the hash and once for the row.
 */
import {Buffer} from 'node:buffer';
import {JOURNAL_VERSION} from '../../shared/journal-chain.ts';

export class PendingRecord {
  readonly #events: (string | Buffer)[] = [];
  readonly #writes: (string | Buffer)[] = [];
  #hasBytes = false;
  /** The job or cron tick whose run this is. */
  scheduledExecutionId: string | null;

  constructor(scheduledExecutionId: string | null = null) {
    this.scheduledExecutionId = scheduledExecutionId;
  }

  /** Nothing has been done: no record will be written. */
  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** @param event its JSON */
  event(event: string): void {
    this.#events.push(event);
  }

  /** @param write its JSON: the resulting document */
  write(write: string): void {
    this.#writes.push(write);
  }

  /** Several documents, one after the other. @param events JSON, separated by commas. @param writes the same */
  many(events: Buffer, writes: Buffer): void {
    this.#events.push(events);
    this.#writes.push(writes);
    this.#hasBytes = true;
  }

  /** The stored form: text, or its bytes. */
  record(sequence: number, timestamp: number): string | Buffer {
    const head = `{"version":${JOURNAL_VERSION},"sequence":${sequence},"timestamp":${timestamp},"events":[`;
    const end = `],"scheduled_execution_id":${JSON.stringify(this.scheduledExecutionId)}}`;
    if (!this.#hasBytes) return `${head}${this.#events.join(',')}],"writes":[${this.#writes.join(',')}${end}`;
    return Buffer.concat(
      [head, ...separated(this.#events), '],"writes":[', ...separated(this.#writes), end].map(part =>
        typeof part === 'string' ? Buffer.from(part) : part,
      ),
    );
  }
}

function separated(parts: readonly (string | Buffer)[]): (string | Buffer)[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [COMMA, part]));
}

const COMMA = Buffer.from(',');
