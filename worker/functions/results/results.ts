/**
 * Results of query functions, each kept until a commit touches what it read. Whoever calls the same function with the same arguments, and the
 * same identity if it was looked at, is given it without a run.
 *
 *   call ──kept──▶ given
 *     └──not──▶ run ──▶ kept, if it is right for the newest commit and would be right for the next caller
 *                └ equal calls of the same moment wait for it
 *
 * Invariants
 * - What is kept is what a run at the newest commit would answer: a stage of each commit drops what it touches, before the
 *   replies of that commit leave, so nobody who was told of a write is given a result from before it.
 * - A result is kept only if it can be repeated: it succeeded, wrote no line, and looked neither at the time nor at random numbers.
 * - A result that did not look at the identity is right for everybody: with the same data, arguments and environment the function does
 *   the same up to where it would look. One that did is right for that identity.
 * - Deployments, the environment, indexes and schemas are not in read sets: when they change, nothing is kept.
 */
import {hash} from 'node:crypto';
import type {Commit, Stage} from '../../../engine/commit/commit.ts';
import type {LiveIndex, Watch, Watcher} from '../../../engine/live/live-index.ts';
import type {WorkerMetrics} from '../../../engine/metrics.ts';
import type {PackedReadSet} from '../../../engine/reads/read-set.ts';
import {assert} from '../../../shared/assert.ts';
import type {Execution} from '../../runtime/execution.ts';
import type {QueryRun} from '../../runtime/queries/query-batch.ts';
import {RESULT_INTERVALS_MAX, RESULT_KEPT_BYTES_MAX, RESULTS_BYTES_MAX} from '../limits.ts';
import {RecentChanges} from './recent-changes.ts';

export type ResultParts = {
  index: LiveIndex;
  metrics: WorkerMetrics;
  /** Of the newest commit. */
  sequence: number;
  /** Whether this is the environment now. */
  isCurrent: (env: Execution['env']) => boolean;
  run: (execution: Execution) => Promise<QueryRun>;
};

/** What callers are told of a run; `ok` is false when the function failed. */
type Answer = {ok: true; value: string; lines: readonly string[]} | {ok: false; lines: readonly string[]};

/** Longer keys are hashed. */
const KEY_CHARS_PLAIN = 1024;
/** What a kept result and an interval of its read set cost beside their texts. */
const RESULT_OVERHEAD_BYTES = 600;
const INTERVAL_OVERHEAD_BYTES = 300;

type Flight<T> = {promise: Promise<Shared<T>>; sequence: number; commits: number; execution: Execution};
/** `isShared`: the result is right for equal calls of the same moment, too. */
type Shared<T> = {answer: T; isShared: boolean};

export class Results<T extends Answer> implements Stage {
  readonly #parts: ResultParts;
  /** Those used last are the last. */
  readonly #kept = new Map<string, Kept<T>>();
  readonly #flights = new Map<string, Flight<T>>();
  /** All runs under way, oldest first. */
  readonly #underWay = new Set<Flight<T>>();
  readonly #recent: RecentChanges;
  /** Functions whose results nobody else can have, as they were met. */
  readonly #alone = new Set<string>();
  #sequence: number;
  #commits = 0;
  /** Counts what makes all results worthless, those under way too. */
  #generation = 0;
  #bytes = 0;

  constructor(parts: ResultParts) {
    this.#parts = parts;
    this.#sequence = parts.sequence;
    this.#recent = new RecentChanges(parts.sequence);
  }

  /** Of the newest commit that is durable. */
  get sequence(): number {
    return this.#sequence;
  }

  /** What is kept for this call; null: it has to be run. */
  find(execution: Execution): T | null {
    return this.#find(execution)?.answer ?? null;
  }

  /** The same for somebody who goes on to watch what it read; null: it has to be run. */
  findRun(execution: Execution): KeptRun<T> | null {
    // Kept are the results of those who do not say where their page ends.
    const kept = execution.endCursor === null ? this.#find(execution) : null;
    if (kept === null) return null;
    const {answer, readSet, identityUsed, endCursor} = kept;
    return {answer, readSet, identityUsed, endCursor, sequence: this.#sequence};
  }

  #find(execution: Execution): Kept<T> | null {
    const base = baseKey(execution);
    const kept = this.#kept.get(base) ?? this.#kept.get(identityKey(base, execution));
    if (kept === undefined) return null;
    // It was used last.
    this.#kept.delete(kept.key);
    this.#kept.set(kept.key, kept);
    this.#parts.metrics.result('hit');
    return kept;
  }

  /** Runs the function, or waits for an equal call of the same moment. @param answerOf what callers are told; may throw */
  async run(execution: Execution, answerOf: (run: QueryRun) => T): Promise<T> {
    const {metrics} = this.#parts;
    const key = identityKey(baseKey(execution), execution);
    const flight = this.#flights.get(key);
    if (flight !== undefined && flight.commits === this.#commits && flight.execution.env === execution.env) {
      const shared = await flight.promise.catch(() => null);
      if (shared?.isShared === true) {
        metrics.result('shared');
        return shared.answer;
      }
    }
    metrics.result('run');
    return (await this.#begin(key, execution, answerOf)).answer;
  }

  #begin(key: string, execution: Execution, answerOf: (run: QueryRun) => T): Promise<Shared<T>> {
    const generation = this.#generation;
    const flight: Flight<T> = {
      execution,
      sequence: this.#sequence,
      commits: this.#commits,
      promise: this.#parts.run(execution).then(run => {
        const answer = answerOf(run);
        const isRepeatable = answer.ok && answer.lines.length === 0 && !run.isMomentary;
        if (!isRepeatable) this.#alone.add(execution.path);
        else if (answer.ok && generation === this.#generation) this.#keep(execution, run, answer, answer.value);
        return {answer, isShared: isRepeatable};
      }),
    };
    this.#underWay.add(flight);
    if (!this.#alone.has(execution.path)) this.#flights.set(key, flight);
    const end = () => {
      this.#underWay.delete(flight);
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
      const [oldest] = this.#underWay;
      this.#recent.forget(oldest?.sequence ?? this.#sequence);
    };
    flight.promise.then(end, end);
    return flight.promise;
  }

  #keep(execution: Execution, run: QueryRun, answer: T, value: string): void {
    const {readSet, sequence, identityUsed, endCursor} = run;
    if (readSet === null || readSet.intervals.length + readSet.absentTables.length > RESULT_INTERVALS_MAX) return;
    if (!this.#parts.isCurrent(execution.env)) return;
    // What it saw is not committed for everybody yet; or it is not the newest any more.
    if (sequence > this.#sequence || this.#recent.mayTouch(readSet, sequence)) return;
    const base = baseKey(execution);
    const key = identityUsed ? identityKey(base, execution) : base;
    const bytes = bytesOf(key, readSet, value);
    if (bytes > RESULT_KEPT_BYTES_MAX) return;
    const known = this.#kept.get(key);
    if (known !== undefined) this.#drop(known);
    const facts = {answer, readSet, identityUsed, endCursor};
    const kept = new Kept(key, facts, bytes, one => this.#drop(one, 'written'));
    kept.watch = this.#parts.index.watchReads(kept, readSet);
    this.#kept.set(key, kept);
    this.#count(bytes);
    for (const oldest of this.#kept.values()) {
      if (this.#bytes <= RESULTS_BYTES_MAX) break;
      this.#drop(oldest, 'full');
    }
  }

  /** The index has told those that it touches. */
  committed(commit: Commit): void {
    const {lastSequence, hasNewCatalog, events} = commit;
    this.#sequence = lastSequence;
    this.#commits++;
    if (this.#underWay.size > 0) this.#recent.add(commit);
    else this.#recent.forget(lastSequence);
    if (hasNewCatalog || events.some(({type}) => CLEARING.has(type))) this.#clear();
  }

  #clear(): void {
    this.#generation++;
    this.#flights.clear();
    this.#alone.clear();
    for (const kept of [...this.#kept.values()]) this.#drop(kept, 'cleared');
  }

  #drop(kept: Kept<T>, cause: 'written' | 'full' | 'cleared' | null = null): void {
    kept.watch?.end();
    this.#kept.delete(kept.key);
    this.#count(-kept.bytes);
    if (cause !== null) this.#parts.metrics.resultDropped(cause);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0, 'what kept results take is counted once');
    this.#parts.metrics.resultBytes = this.#bytes;
  }
}

/** Events after which functions run differently although no document has changed. */
const CLEARING: ReadonlySet<string> = new Set([
  'deployment.activated',
  'environment.set',
  'environment.deleted',
  'schema.set',
  'schema.deleted',
]);

/** A kept result as a run at the newest commit would have given it. */
export type KeptRun<T> = {
  readonly answer: T;
  readonly readSet: PackedReadSet;
  readonly identityUsed: boolean;
  /** Where its page ends; null: it has none. */
  readonly endCursor: string | null;
  /** The newest commit. */
  readonly sequence: number;
};

class Kept<T> implements Watcher {
  readonly key: string;
  readonly answer: T;
  readonly readSet: PackedReadSet;
  readonly identityUsed: boolean;
  readonly endCursor: string | null;
  readonly bytes: number;
  watch: Watch | null = null;
  readonly #onWritten: (kept: Kept<T>) => void;

  constructor(
    key: string,
    {answer, readSet, identityUsed, endCursor}: Omit<KeptRun<T>, 'sequence'>,
    bytes: number,
    onWritten: (kept: Kept<T>) => void,
  ) {
    this.key = key;
    this.answer = answer;
    this.readSet = readSet;
    this.identityUsed = identityUsed;
    this.endCursor = endCursor;
    this.bytes = bytes;
    this.#onWritten = onWritten;
  }

  wrote(): void {
    this.#onWritten(this);
  }
}

/** Neither a path nor JSON has a zero character in it. */
function baseKey({path, args}: Execution): string {
  return plain(`${path}\0${args}`);
}

/** The base key is as long as a plain one may be, so that the whole is hashed by itself. */
function identityKey(base: string, {caller}: Execution): string {
  return plain('invalid' in caller ? `${base}\0!${caller.invalid}` : `${base}\0${caller.identity ?? ''}`);
}

function plain(key: string): string {
  return key.length <= KEY_CHARS_PLAIN ? key : hash('sha256', key, 'base64');
}

function bytesOf(key: string, {intervals, absentTables}: PackedReadSet, value: string): number {
  let bytes = RESULT_OVERHEAD_BYTES + key.length + Buffer.byteLength(value);
  for (const {lower, upper} of intervals) bytes += INTERVAL_OVERHEAD_BYTES + lower.length + upper.length;
  return bytes + absentTables.length * INTERVAL_OVERHEAD_BYTES;
}
