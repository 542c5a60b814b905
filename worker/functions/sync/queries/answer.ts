/**
 * The result of a live query and the versions at which it is valid. An answer is valid from the version of its run to
 * the last one before a commit touched what it read. Until then it is open: valid at every later version. Only an
 * answer whose read set is watched can be open. Its watch ends when it is replaced, so it is closed then: code that
 * still refers to it (a snapshot batch, a session's next transition) must not treat it as valid later.
 */

import type {Change} from '../../../../engine/commit/commit.ts';
import {hitOfReads} from '../../../../engine/live/hit-range.ts';
import type {HitRange} from '../../../../engine/live/live-figures.ts';
import type {Watch, Watcher} from '../../../../engine/live/live-index.ts';
import type {PackedReadSet} from '../../../../engine/reads/read-set.ts';
import {assert} from '../../../../shared/assert.ts';
import type {Because} from '../../../../shared/protocol/function-socket/server-message.ts';
import {textDigest} from '../../../../shared/values/text-digest.ts';

/** Later than every version. */
export const OPEN = Number.POSITIVE_INFINITY;

/**
 * The part of an answer that is sent. Equal consecutive answers share one object, so that equal results are identical.
 * `error`: the full message; `shown`: the message for clients.
 */
export type Result =
  | {readonly n: number; readonly ok: true; readonly text: string; readonly digest: string}
  | {readonly n: number; readonly ok: false; readonly error: string; readonly shown: string};

/**
 * Results whose text differs from the text of the parsed and serialised value: a client that got the value has another
 * text.
 */
const unstable = new WeakSet<Result>();
const stable = new WeakSet<Result>();

/** Whether a client that was sent this as a value has its text. */
export function isStable(result: Result & {ok: true}): boolean {
  if (stable.has(result)) return true;
  if (unstable.has(result)) return false;
  const isSame = JSON.stringify(JSON.parse(result.text)) === result.text;
  (isSame ? stable : unstable).add(result);
  return isSame;
}

let results = 0;

export function valueResult(text: string): Result {
  return {n: ++results, ok: true, text, digest: textDigest(text)};
}

export function errorResult(error: string, shown: string): Result {
  return {n: ++results, ok: false, error, shown};
}

function isSameResult(a: Result, b: Result): boolean {
  if (a.ok !== b.ok) return false;
  return a.ok ? b.ok && a.digest === b.digest && a.text === b.text : !b.ok && a.error === b.error;
}

/** Whether clients are sent the same for both. */
export function isShownAlike(a: Result, b: Result): boolean {
  if (a.ok) return b.ok && a.digest === b.digest && a.text === b.text;
  return !b.ok && a.shown === b.shown;
}

/** Returns the previous result if the new one is equal. */
export function sameOr(made: Result, before: Result | null): Result {
  return before !== null && isSameResult(before, made) ? before : made;
}

/** How an answer was made. */
export type AnswerFacts = {
  result: Result;
  /** The version that its run read. */
  from: number;
  /** Where its page ends, which is the end of the page in later runs too; null: it has none. */
  journal: string | null;
  lines: readonly string[];
  because: Because;
  /** Its run used the caller's identity. */
  identityUsed: boolean;
};

let answers = 0;

export class Answer implements Watcher {
  /** Unique number of the answer. */
  readonly n = ++answers;
  readonly result: Result;
  readonly from: number;
  readonly journal: string | null;
  readonly lines: readonly string[];
  readonly because: Because;
  readonly identityUsed: boolean;
  #to = OPEN;
  #watch: Watch | null = null;
  #readBytes = 0;
  #readSet: PackedReadSet | null = null;
  #touchedBy: Change | null = null;
  readonly #onTouched: (answer: Answer) => void;

  /**
   * @param onTouched called once, during the notification of the commit that touched the answer; it closes the answer
   */
  constructor({result, from, journal, lines, because, identityUsed}: AnswerFacts, onTouched: (answer: Answer) => void) {
    this.result = result;
    this.from = from;
    this.journal = journal;
    this.lines = lines;
    this.because = because;
    this.identityUsed = identityUsed;
    this.#onTouched = onTouched;
  }

  /** The last version at which it is valid. */
  get to(): number {
    return this.#to;
  }

  get isOpen(): boolean {
    return this.#to === OPEN;
  }

  get touchedBy(): Change | null {
    return this.#touchedBy;
  }

  /** The range of what it read that was written to; null: none, or it is not known. */
  get hitRange(): HitRange | null {
    return this.#touchedBy === null || this.#readSet === null ? null : hitOfReads(this.#touchedBy, this.#readSet);
  }

  /**
   * Memory of the answer, with its read set. The read set still counts when it is no longer watched, because the answer
   * is about to be replaced then.
   */
  get bytes(): number {
    return this.#readBytes + (this.result.ok ? this.result.text.length : this.result.error.length);
  }

  /** Characters to send it. */
  get chars(): number {
    const {result, lines} = this;
    return lines.reduce((sum, {length}) => sum + length, result.ok ? result.text.length : result.shown.length);
  }

  /**
   * Attaches the watch that reports changes of its read set while it is open.
   * @param readSet what it watches: shares its texts with the watch
   * @param bytes memory of the watch; set before `bytes` is read
   */
  watches(watch: Watch, readSet: PackedReadSet, bytes: number): void {
    this.#watch = watch;
    this.#readSet = readSet;
    this.#readBytes = bytes;
  }

  wrote(change: Change): void {
    if (this.#touchedBy !== null || !this.isOpen) return;
    this.#touchedBy = change;
    this.#onTouched(this);
  }

  /** It is not valid after this version. */
  close(to: number): void {
    assert(this.isOpen, 'an answer is closed once');
    assert(to >= this.from, `an answer from ${this.from} is not closed at ${to}`);
    this.#to = to;
    this.#watch?.end();
    this.#watch = null;
  }

  /** It is replaced or has no subscribers. @param now the newest version: nothing up to it has touched the answer */
  letGo(now: number): void {
    if (this.isOpen) this.close(Math.max(this.from, now));
  }
}
