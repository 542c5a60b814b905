/**
 * Files of any size in the store of the cluster, in messages of `PART_BYTES`, with two of them in memory. Each file has a
 * subject of its own, and a small record of its tenant lists it.
 *
 * Each part expects the part before it, so it is stored once and in its place.
 */
import {createHash, type Hash} from 'node:crypto';
import type {Source} from '../../engine/copies/bytes.ts';
import {PART_BYTES} from '../limits.ts';
import {bounded, type Decision, decidedAppend} from './decided-append.ts';
import type {LogEngine, Subject} from './log-engine.ts';
import {LogError} from './log-error.ts';
import {partOf} from './parts.ts';
import type {NotStored} from './stored-list.ts';
import type {Timing} from './timing.ts';

export type SentFile = {
  readonly file: Source;
  /** Receives every byte. */
  readonly sum: Hash;
  /** Whether the list is still as this writer left it. @throws EngineError */
  readonly isListed: () => Promise<boolean>;
};

export type ReadFile = {
  /** Begins the sentence of the error. */
  readonly what: string;
  readonly bytes: number;
  readonly digest: readonly [algorithm: 'sha256' | 'sha512', digest: Buffer];
};

const NAMES = {sha256: 'SHA-256', sha512: 'SHA-512'};

export class StoredParts {
  readonly #engine: LogEngine;
  readonly #timing: Timing;

  constructor(engine: LogEngine, timing: Timing) {
    this.#engine = engine;
    this.#timing = timing;
  }

  /** @param subject has nothing yet. @returns null: all of it is stored. @throws LogError, EngineError */
  async send(subject: Subject, {file, sum, isListed}: SentFile, signal?: AbortSignal): Promise<NotStored | null> {
    let after = 0;
    for (let at = 0; at < file.length; at += PART_BYTES) {
      const bytes = file.read(at, Math.min(PART_BYTES, file.length - at));
      sum.update(bytes);
      const decision = await this.#sendPart({subject, bytes, after, isListed}, signal);
      if (decision.kind === 'refused' || decision.kind === 'unknowable') return {kind: 'superseded'};
      if (decision.kind !== 'stored') return decision;
      after = decision.sequence;
    }
    return null;
  }

  /**
   * The bytes, in parts. The last one is returned after the digest of all was compared.
   * @throws LogError: it was removed meanwhile, or is damaged; EngineError
   */
  async *read(subject: Subject, {what, bytes, digest: [algorithm, digest]}: ReadFile): AsyncGenerator<Buffer> {
    const damaged = (detail: string) => new LogError('damaged', `${what}: ${detail}`);
    const sum = createHash(algorithm);
    let left = bytes;
    let next = partOf(this.#engine, subject, 1);
    while (left > 0) {
      const message = await next;
      if (message === null || message.bytes.length > left) throw damaged(`${left} bytes are missing`);
      sum.update(message.bytes);
      left -= message.bytes.length;
      if (left === 0 && !sum.digest().equals(digest)) throw damaged(`its ${NAMES[algorithm]} is another one`);
      if (left > 0) {
        // The next part is on its way while the caller has this one.
        next = partOf(this.#engine, subject, message.sequence + 1);
        next.catch(() => undefined); // the caller may stop before it is awaited
      }
      yield message.bytes;
    }
  }

  /** All of it: no other file ever has the subject. @throws EngineError */
  async remove(subject: Subject): Promise<void> {
    const last = await this.#engine.last(subject);
    if (last !== null) await this.#engine.removeBefore(subject, last.sequence + 1);
  }

  /** If the parts before it were removed, it is refused and has no successor: the list says so. */
  async #sendPart(
    {subject, bytes, after, isListed}: {subject: Subject; bytes: Buffer; after: number} & Pick<SentFile, 'isListed'>,
    signal?: AbortSignal,
  ): Promise<Decision | NotStored> {
    const end = new AbortController();
    const ended = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]);
    const judge = (message: {bytes: Buffer}) => (message.bytes.equals(bytes) ? 'same' : 'other');
    try {
      let decided = decidedAppend(this.#engine, this.#timing, {subject, bytes, after, judge}, ended);
      for (;;) {
        const decision = await bounded(decided, this.#timing);
        if (decision.kind !== 'unknown') return decision;
        if (!(await isListed())) return {kind: 'superseded'};
        decided = decision.decided;
      }
    } finally {
      end.abort();
    }
  }
}
