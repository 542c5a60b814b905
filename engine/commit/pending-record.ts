/**
 * What a write has done so far, as JSON of its journal record, and the record that they make. Of most writes that is a few texts; documents that
 * are made many at once come as the bytes that are stored, which need not be encoded again to be hashed and again to be stored.
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

  /** Nothing has been done: there will be no record. */
  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** @param event its JSON */
  event(event: string): void {
    this.#events.push(event);
  }

  /** @param write its JSON: what a document has become */
  write(write: string): void {
    this.#writes.push(write);
  }

  /** Some documents, one behind the other. @param events JSON, with commas in between. @param writes the same */
  many(events: Buffer, writes: Buffer): void {
    this.#events.push(events);
    this.#writes.push(writes);
    this.#hasBytes = true;
  }

  /** As it is stored: text, or the bytes of one. */
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
