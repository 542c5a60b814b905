/**
 * What a live query answers, and at which versions. An answer is valid from the version of its run to the last one before a commit touched
 * what it read. While nothing has, it is open: valid at every later version. Only an answer whose reads are watched can be open. When it is
 * replaced its watch ends, so it is closed: those who still hold it (a gather, a session's next move) must not take it for valid later.
 */

import type {Change} from '../../../../engine/commit/commit.ts';
import type {Watch, Watcher} from '../../../../engine/live/live-index.ts';
import {assert} from '../../../../shared/assert.ts';
import type {Because} from '../../../../shared/protocol/function-socket/server-message.ts';
import {textDigest} from '../../../../shared/values/text-digest.ts';

/** Later than every moment there is. */
export const OPEN = Number.POSITIVE_INFINITY;

/**
 * What is shown of an answer. Answers that are equal one after the other share one, so that equal means identical. `error`: the whole story;
 * `shown`: what clients are told.
 */
export type Result =
  | {readonly n: number; readonly ok: true; readonly text: string; readonly digest: string}
  | {readonly n: number; readonly ok: false; readonly error: string; readonly shown: string};

/** Texts that are not what comes of parsing them and writing them again: a client that has the value has another text. */
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

/** Whether clients are told the same of both. */
export function isShownAlike(a: Result, b: Result): boolean {
  if (a.ok) return b.ok && a.digest === b.digest && a.text === b.text;
  return !b.ok && a.shown === b.shown;
}

/** A result that is equal to the one before is that one. */
export function sameOr(made: Result, before: Result | null): Result {
  return before !== null && isSameResult(before, made) ? before : made;
}

/** How an answer came to be. */
export type AnswerFacts = {
  result: Result;
  /** The moment that its run read. */
  from: number;
  /** Where its page ends, to be the end of the page whenever it is run again; null: it has none. */
  journal: string | null;
  lines: readonly string[];
  because: Because;
  /** Its run looked at who asks. */
  identityUsed: boolean;
};

let answers = 0;

export class Answer implements Watcher {
  /** Tells it from any other. */
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
  #touchedBy: Pick<Change, 'table' | 'id'> | null = null;
  readonly #onTouched: (answer: Answer) => void;

  /** @param onTouched called once, while the commit that touched it is being told of: it closes it */
  constructor({result, from, journal, lines, because, identityUsed}: AnswerFacts, onTouched: (answer: Answer) => void) {
    this.result = result;
    this.from = from;
    this.journal = journal;
    this.lines = lines;
    this.because = because;
    this.identityUsed = identityUsed;
    this.#onTouched = onTouched;
  }

  /** The last moment in which it is right. */
  get to(): number {
    return this.#to;
  }

  get isOpen(): boolean {
    return this.#to === OPEN;
  }

  get touchedBy(): Pick<Change, 'table' | 'id'> | null {
    return this.#touchedBy;
  }

  /** What it takes, its read set included: also when that is not watched any more, as it is about to be replaced then. */
  get bytes(): number {
    return this.#readBytes + (this.result.ok ? this.result.text.length : this.result.error.length);
  }

  /** What telling it takes. */
  get chars(): number {
    const {result, lines} = this;
    return lines.reduce((sum, {length}) => sum + length, result.ok ? result.text.length : result.shown.length);
  }

  /** While it is open it is told of what touches what it read. @param bytes that it takes to watch that; told before `bytes` is asked for */
  watches(watch: Watch, bytes: number): void {
    this.#watch = watch;
    this.#readBytes = bytes;
  }

  wrote(change: Change): void {
    if (this.#touchedBy !== null || !this.isOpen) return;
    this.#touchedBy = change;
    this.#onTouched(this);
  }

  /** It is not right any more behind this moment. */
  close(to: number): void {
    assert(this.isOpen, 'an answer is closed once');
    assert(to >= this.from, `an answer from ${this.from} is not closed at ${to}`);
    this.#to = to;
    this.#watch?.end();
    this.#watch = null;
  }

  /** It is replaced or not held any more. @param now the newest version: nothing up to there has touched it */
  letGo(now: number): void {
    if (this.isOpen) this.close(Math.max(this.from, now));
  }
}
