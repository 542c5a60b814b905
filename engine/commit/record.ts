/**
 * Records of the journal: the head, to which the next record is chained, the digest that chains it, and the record of
 * the write that is running.
 */
import {Buffer} from 'node:buffer';
import {createHash, hash} from 'node:crypto';
import {FIRST_PREVIOUS_DIGEST, JOURNAL_VERSION} from '../../shared/journal-chain.ts';
import {storageDamaged} from '../storage/damage.ts';
import type {Statements} from '../storage/statements.ts';
import type {Cause} from './cause.ts';

/** The newest record, to which the next one is chained. */
export type JournalHead = {sequence: number; digest: string; timestamp: number};

/** @throws op.storage_damaged 503: no record may be chained to a damaged one */
export function readJournalHead({journalHead, journalDigest, meta}: Statements): JournalHead {
  const last = journalHead.get();
  if (last === undefined) return {sequence: 0, digest: FIRST_PREVIOUS_DIGEST, timestamp: 0};
  const {sequence, record, digest} = last;
  const previous =
    sequence === meta.get('journal_floor')
      ? (meta.get('floor_previous_digest') ?? FIRST_PREVIOUS_DIGEST)
      : journalDigest.get(sequence - 1);
  if (previous === undefined || recordDigest(String(previous), String(record)) !== digest)
    throw storageDamaged({check: 'chain', sequence});
  const said = JSON.parse(record) as {sequence: number; timestamp: number};
  if (said.sequence !== sequence) throw storageDamaged({check: 'chain', sequence});
  return {sequence, digest, timestamp: said.timestamp};
}

/** The digest that chains a record to the one before. @param record its text, or the bytes of that text */
export function recordDigest(previous: string, record: string | Buffer): string {
  if (typeof record === 'string') return hash('sha256', `${previous}\n${record}`);
  return createHash('sha256').update(`${previous}\n`).update(record).digest('hex');
}

/** A record in the form that clients and followers see: the stored JSON with its digest as the last field. */
export function sealedRecord(record: string, digest: string): string {
  return `${record.slice(0, -1)},"integrity_sha256":"${digest}"}`;
}

/**
 * The effects of a write so far, as JSON of its journal record, and the record made of them. Most writes have a few
 * texts. Batched inserts come as the stored bytes, which saves encoding them once for the hash and once for the row.
 */
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
  record(sequence: number, timestamp: number, cause: Cause): string | Buffer {
    const head = `{"version":${JOURNAL_VERSION},"sequence":${sequence},"timestamp":${timestamp},"events":[`;
    const run = JSON.stringify(this.scheduledExecutionId);
    const end = `],"scheduled_execution_id":${run},"cause":${JSON.stringify(cause)}}`;
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
