/**
 * Small records with a compare-and-set on their revision, which is the sequence of their newest message: members, owners,
 * settings. The stream keeps one message for each key. A removed record is an empty one, so its revisions go on.
 */
import {randomBytes} from 'node:crypto';
import {bounded, decidedAppend, type Unknown} from './decided-append.ts';
import type {LogEngine, Message} from './log-engine.ts';
import type {Subjects} from './subjects.ts';
import type {Timing} from './timing.ts';

export type SmallRecord = {
  /** Null: it was removed. */
  readonly value: Buffer | null;
  /** 0: there is none. */
  readonly revision: number;
};

export type SetDecision =
  | {readonly kind: 'stored'; readonly revision: number}
  /**
   * Its revision is another one now. The value was not stored, or was replaced since. An earlier revision: the servers have
   * lost the later ones.
   */
  | {readonly kind: 'conflict'; readonly now: SmallRecord}
  | {readonly kind: 'full'}
  | {readonly kind: 'abandoned'};

export type SetOutcome = SetDecision | Unknown<SetDecision>;

/** Those that there are, once, and then each change. */
export type FollowedRecords = {readonly isListing: boolean; readonly records: ReadonlyMap<string, SmallRecord>};

export type RecordChange = {readonly key: string; readonly record: SmallRecord};

const NO_RECORD: SmallRecord = {value: null, revision: 0};

/** Each value begins with random bytes, which tell a writer whether the newest one is its own. */
const ID_BYTES = 16;

export class SmallRecords {
  readonly #engine: LogEngine;
  readonly #timing: Timing;
  readonly #subjects: Subjects;

  constructor(engine: LogEngine, timing: Timing, subjects: Subjects) {
    this.#engine = engine;
    this.#timing = timing;
    this.#subjects = subjects;
  }

  /** Null: there was never one. It can be older than the newest; only `set` shows that. @throws EngineError */
  async get(key: string): Promise<SmallRecord | null> {
    const message = await this.#engine.last(this.#subjects.record(key));
    return message === null ? null : recordOf(message);
  }

  /** @param value null removes it. @param revision that it replaces; 0: there is none */
  set(key: string, value: Buffer | null, revision: number, signal?: AbortSignal): Promise<SetOutcome> {
    return bounded(this.#set(key, value, revision, signal), this.#timing);
  }

  /**
   * Removes it with its revisions, so that nothing is left of its key, unless it is newer. Only for keys of which a first value
   * that arrives late does no harm: it is stored again. @throws EngineError
   */
  async erase(key: string, revision: number): Promise<void> {
    if (revision > 0) await this.#engine.removeBefore(this.#subjects.record(key), revision + 1);
  }

  async #set(key: string, value: Buffer | null, revision: number, signal?: AbortSignal): Promise<SetDecision> {
    const id = randomBytes(ID_BYTES);
    const decision = await decidedAppend(
      this.#engine,
      this.#timing,
      {
        subject: this.#subjects.record(key),
        bytes: Buffer.concat(value === null ? [id] : [id, Buffer.of(1), value]),
        after: revision,
        judge: ({bytes}) => (bytes.subarray(0, ID_BYTES).equals(id) ? 'same' : 'other'),
      },
      signal,
    );
    switch (decision.kind) {
      case 'stored':
        return {kind: 'stored', revision: decision.sequence};
      case 'refused':
      case 'unknowable':
        return {kind: 'conflict', now: decision.by === null ? NO_RECORD : recordOf(decision.by)};
      default:
        return decision;
    }
  }

  /**
   * The records whose keys have one of the prefixes: those that are there, `null` once when these have been returned, and then each
   * change. A record that changes quickly may be returned in its newest state only.
   * @throws EngineError
   */
  async *watch(keyPrefixes: readonly string[], signal: AbortSignal): AsyncGenerator<RecordChange | null> {
    const stream = {kind: 'records'} as const;
    const prefix = this.#subjects.prefix(stream);
    const prefixes = keyPrefixes.map(keyPrefix => prefix + keyPrefix);
    for await (const message of this.#engine.watch(stream, prefixes, {from: 1, signal})) {
      yield message === null ? null : {key: message.subject.slice(prefix.length), record: recordOf(message)};
    }
  }

  /**
   * As `watch`, with all that are there as one. A record that is not listed is not there, and one that is has this
   * revision, also if it had a later one before: servers with older stores have lost that.
   * @throws EngineError
   */
  async *follow(keyPrefixes: readonly string[], signal: AbortSignal): AsyncGenerator<FollowedRecords> {
    const listed = new Map<string, SmallRecord>();
    let isListing = true;
    for await (const change of this.watch(keyPrefixes, signal)) {
      if (change === null) {
        isListing = false;
        yield {isListing: true, records: listed};
      } else if (isListing) listed.set(change.key, change.record);
      else yield {isListing, records: new Map([[change.key, change.record]])};
    }
  }

  /** Values that are there, in order, by the rests of their keys. @throws EngineError */
  async list(keyPrefix: string): Promise<Map<string, Buffer>> {
    for await (const {records} of this.follow([keyPrefix], new AbortController().signal)) {
      const found = [...records].flatMap(([key, {value}]) =>
        value === null ? [] : [[key.slice(keyPrefix.length), value] as const],
      );
      return new Map(found.sort(([one], [other]) => (one < other ? -1 : 1)));
    }
    return new Map();
  }
}

function recordOf({bytes, sequence}: Message): SmallRecord {
  return {value: bytes.length <= ID_BYTES ? null : bytes.subarray(ID_BYTES + 1), revision: sequence};
}
