/**
 * The log of one tenant. All its records pass one compare-and-set, so its history is one line whatever its writers
 * believe: a writer whose epoch is over finds the `open` of the next one where its record had to be.
 */
import {type Source, sourceOf} from '../../engine/copies/bytes.ts';
import {assert} from '../../shared/assert.ts';
import {PART_BYTES} from '../limits.ts';
import {bounded, decidedAppend, type Successor, type Unknown} from './decided-append.ts';
import type {LogEngine, Message} from './log-engine.ts';
import {LogError} from './log-error.ts';
import {readBody, sendParts, sumOf} from './parts.ts';
import {
  type DecodedRecord,
  decodeRecord,
  encodeRecord,
  followFault,
  type LogPosition,
  nextHead,
  type RecordHead,
  type RecordKind,
} from './record.ts';
import type {Subjects, TenantName} from './subjects.ts';
import type {Timing} from './timing.ts';

export type LogEntry = {readonly kind: RecordKind; readonly epoch: number; readonly body: Source};

export type AppendDecision =
  | {readonly kind: 'committed'; readonly position: LogPosition}
  /** Fenced: another record is in its place, for ever. */
  | {readonly kind: 'refused'}
  /** Fenced as well. Whether it was stored cannot be found out, because its place has been trimmed. */
  | {readonly kind: 'unknowable'}
  /** The log has no space. It was not stored. */
  | {readonly kind: 'full'}
  /** The signal was aborted. It may have been stored. */
  | {readonly kind: 'abandoned'};

/** `unknown`: it stays pending, and `decided` resolves with what became of it. */
export type AppendOutcome = AppendDecision | Unknown<AppendDecision>;

export type LogRecord = {
  readonly head: RecordHead;
  readonly position: LogPosition;
  /** In parts of up to `PART_BYTES`. @throws LogError, EngineError */
  readonly body: () => AsyncGenerator<Buffer>;
};

export type OpenOptions = {
  readonly epoch: number;
  /** Who opens it: the host and its incarnation. */
  readonly note: string;
  /** Where the file is; null: it has nothing. */
  readonly from: LogPosition | null;
  /** Note of the newest `open` up to there; null: there is none. */
  readonly openedBy: string | null;
  /** Brings the file to the record, before the next one is read. */
  readonly apply: (record: LogRecord) => Promise<void> | void;
  /**
   * Resolves when the owner that opened the log last serves no reads any more: it has closed, or its lease has ended. It may
   * also resolve when the log has gone on after `tail`, the newest record that was read: then the `open` is refused. It is
   * called before each attempt to append the `open`, because between two of them another host can have opened the log and
   * begun to serve. The owner is the one that the log names: a host can become the owner elsewhere and end before it
   * opened.
   */
  readonly ownerEnds: (owner: {openedBy: string | null; tail: LogPosition}) => Promise<void> | void;
  readonly signal?: AbortSignal;
};

export type OpenOutcome =
  | {readonly kind: 'opened'; readonly position: LogPosition}
  /** The log has been opened in this epoch or a higher one. */
  | {readonly kind: 'superseded'; readonly epoch: number}
  | {readonly kind: 'full'}
  | {readonly kind: 'abandoned'};

export class TenantLog {
  readonly #engine: LogEngine;
  readonly #timing: Timing;
  readonly #subject;
  readonly #parts;

  constructor(engine: LogEngine, timing: Timing, subjects: Subjects, tenant: TenantName) {
    this.#engine = engine;
    this.#timing = timing;
    this.#subject = subjects.log(tenant);
    this.#parts = subjects.parts(tenant);
  }

  /**
   * Takes the log over for an epoch. After it no record of an earlier epoch can be appended. It goes on until it is
   * decided, or the signal aborts.
   * @throws LogError, EngineError: the caller opens again, from where `apply` has brought the file
   */
  async open(options: OpenOptions): Promise<OpenOutcome> {
    const {epoch, note, apply, ownerEnds, signal} = options;
    let {from: tail, openedBy} = options;
    for (;;) {
      for await (const record of this.read(tail)) {
        if (record.head.epoch >= epoch) return {kind: 'superseded', epoch: record.head.epoch};
        await apply(record);
        tail = record.position;
        if (tail.kind === 'open') openedBy = await noteOf(record);
      }
      if (tail !== null && tail.epoch >= epoch) return {kind: 'superseded', epoch: tail.epoch};
      if (tail !== null) await ownerEnds({openedBy, tail});
      const entry: LogEntry = {kind: 'open', epoch, body: sourceOf(Buffer.from(note))};
      const outcome = await this.append(tail, entry, signal);
      const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
      if (decision.kind === 'committed') return {kind: 'opened', position: decision.position};
      if (decision.kind === 'full' || decision.kind === 'abandoned') return decision;
    }
  }

  /** Appends one record. @param after the newest record, which the caller has read or appended; null: there is none */
  append(after: LogPosition | null, entry: LogEntry, signal?: AbortSignal): Promise<AppendOutcome> {
    return bounded(this.#append(after, entry, signal), this.#timing);
  }

  async #append(after: LogPosition | null, entry: LogEntry, signal?: AbortSignal): Promise<AppendDecision> {
    const {body} = entry;
    const isInParts = body.length > PART_BYTES;
    const sent = isInParts
      ? await sendParts(this.#engine, this.#timing, {subject: this.#parts, body, signal})
      : ({kind: 'sent', parts: []} as const);
    if (sent.kind !== 'sent') return sent;
    const head = nextHead(after, {...entry, body: sumOf(body)}, sent.parts);
    const {kind, epoch, n, digest} = head;
    const decision = await decidedAppend(
      this.#engine,
      this.#timing,
      {
        subject: this.#subject,
        bytes: encodeRecord(head, isInParts ? Buffer.alloc(0) : body.read(0, body.length)),
        after: head.sequenceBefore,
        judge: message => successorOf(head, message),
      },
      signal,
    );
    switch (decision.kind) {
      case 'stored':
        return {kind: 'committed', position: {kind, epoch, n, digest, sequence: decision.sequence}};
      case 'refused':
      case 'unknowable':
        return {kind: decision.kind};
      default:
        return decision;
    }
  }

  /**
   * The records after a position, up to the one that the engine returned as the newest when the reading began. It need not
   * be the newest that there is: only an append shows that. A server that is behind, or has another log, can send
   * the records between; the chain of their digests shows whether they are the ones.
   * @throws LogError, EngineError
   */
  async *read(from: LogPosition | null): AsyncGenerator<LogRecord> {
    const place = from?.sequence ?? 0;
    const newest = await this.tail();
    if (newest === null || newest.sequence <= place) {
      if (from !== null && newest !== null && isOtherTail(newest, from)) throw diverged(from);
      if (from !== null && (newest === null || newest.sequence < place)) throw behind(from);
      if (from !== null && newest?.digest.equals(from.digest) === false) throw diverged(from);
      return;
    }
    const range = {from: Math.max(place, 1), to: newest.sequence};
    let before = from;
    for await (const message of this.#engine.messages(this.#subject, range)) {
      const record = decodeRecord(message.bytes, message.sequence);
      if (message.sequence === place) {
        if (from !== null && !record.position.digest.equals(from.digest)) throw diverged(from);
        continue;
      }
      checkFollows(before, record, from);
      before = record.position;
      yield this.#recordOf(record);
    }
    // The newest one as well can be removed meanwhile.
    if (before === null || before.sequence < newest.sequence) throw behind(newest);
    if (before.sequence === newest.sequence && !before.digest.equals(newest.digest)) throw diverged(newest);
  }

  /** The newest record that the engine returns. @throws LogError, EngineError */
  async tail(): Promise<LogPosition | null> {
    return (await this.newest())?.position ?? null;
  }

  /** As `tail`, with its body. @throws LogError, EngineError */
  async newest(): Promise<LogRecord | null> {
    const message = await this.#engine.last(this.#subject);
    return message === null ? null : this.#recordOf(decodeRecord(message.bytes, message.sequence));
  }

  /**
   * What the leader of the log has at a position: the same record, another one, or none of the two because the records
   * there have been removed, or its newest record is an earlier one. @throws LogError, EngineError
   */
  async recordAt(position: LogPosition): Promise<'same' | 'other' | 'trimmed' | 'behind'> {
    const message = await this.#engine.next(this.#subject, position.sequence);
    if (message === null) {
      const tail = await this.tail();
      return tail !== null && isOtherTail(tail, position) ? 'other' : 'behind';
    }
    const found = decodeRecord(message.bytes, message.sequence);
    if (found.position.sequence === position.sequence) {
      return found.position.digest.equals(position.digest) ? 'same' : 'other';
    }
    return found.head.sequenceBefore < position.sequence ? 'other' : 'trimmed';
  }

  /**
   * Removes the records before a position, and their parts. The record at the position stays, and so does the last one:
   * an emptied log would accept a first record again.
   * @param keep the oldest record to stay, which a base contains. @throws LogError, EngineError
   */
  async trim(keep: LogPosition): Promise<void> {
    const message = await this.#engine.next(this.#subject, keep.sequence);
    if (message === null) throw behind(keep);
    const {head, position} = decodeRecord(message.bytes, message.sequence);
    if (position.sequence === keep.sequence && !position.digest.equals(keep.digest)) throw diverged(keep);
    assert(position.sequence >= keep.sequence, 'the record that stays is in the log');
    await this.#engine.removeBefore(this.#subject, position.sequence);
    await this.#engine.removeBefore(this.#parts, head.sequenceBefore + 1);
  }

  #recordOf(record: DecodedRecord): LogRecord {
    const {head, position} = record;
    return {head, position, body: () => this.#bodyOf(record)};
  }

  /** A trim removes a record before its parts, so parts that are missing were removed with it, or are lost. */
  async *#bodyOf(record: DecodedRecord): AsyncGenerator<Buffer> {
    try {
      yield* readBody(this.#engine, this.#parts, record);
    } catch (error) {
      if (!(error instanceof LogError) || record.body !== null) throw error;
      if ((await this.recordAt(record.position)) !== 'trimmed') throw error;
      throw new LogError('trimmed', `the record at ${record.position.sequence} was removed meanwhile`, {cause: error});
    }
  }
}

/** Of a record that opens or closes a log: who did so. @throws LogError, EngineError */
export async function noteOf(record: LogRecord): Promise<string> {
  let note = '';
  for await (const bytes of record.body()) note += bytes.toString();
  return note;
}

/** A record that follows another sequence than the expected one: its predecessor has been trimmed. */
function successorOf(head: RecordHead, message: Message): Successor {
  let found: DecodedRecord;
  try {
    found = decodeRecord(message.bytes, message.sequence);
  } catch (error) {
    if (error instanceof LogError) return 'other';
    throw error;
  }
  const {epoch, n, digest, sequenceBefore} = found.head;
  if (epoch === head.epoch && n === head.n && digest.equals(head.digest)) return 'same';
  return sequenceBefore === head.sequenceBefore ? 'other' : 'later';
}

/** @throws LogError */
function checkFollows(before: LogPosition | null, {head, position}: DecodedRecord, from: LogPosition | null): void {
  const fault = followFault(before, head);
  if (fault === null) return;
  // After the position where the reading began, records can have been removed, or the file can have another history.
  if (before === from && head.sequenceBefore > (from?.sequence ?? 0)) {
    throw new LogError('trimmed', `the log begins at ${position.sequence}, after ${describe(from)}`);
  }
  if (before === from && from !== null) throw diverged(from);
  throw new LogError('damaged', `the record at ${position.sequence} ${fault}`);
}

/** A log that is earlier in its stream and has a later epoch has gone on from before the position. */
function isOtherTail(tail: LogPosition, position: LogPosition): boolean {
  return tail.sequence < position.sequence && tail.epoch > position.epoch;
}

function behind(position: LogPosition): LogError {
  return new LogError('behind', `the log ends before ${describe(position)}`);
}

function diverged(from: LogPosition): LogError {
  return new LogError('diverged', `the log has another history than ${describe(from)}`);
}

function describe(position: LogPosition | null): string {
  return position === null
    ? 'the beginning'
    : `record ${position.n} of epoch ${position.epoch} at ${position.sequence}`;
}
