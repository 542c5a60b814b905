/**
 * Cache of query results, each valid until a commit touches what it read. A call of the same function with the same
 * arguments, and the same identity if the function used it, gets the cached result without a run.
 *
 *   call ──kept──▶ given
 *     └──not──▶ run ──▶ kept, if it is right for the newest commit and would be right for the next caller
 *                └ equal calls of the same moment wait for it
 *
 * Invariants
 * - A cached result equals the result of a run at the newest commit: a stage of each commit drops the results that it
 *   touches before the replies of that commit are sent. So a client with the reply to a write never gets a result from
 *   before it.
 * - A result is cached only if it is repeatable: the run succeeded, logged no line, and used neither the time nor
 *   random numbers.
 * - A result that did not use the identity holds for every caller: with the same data, arguments and environment the
 *   function does the same up to the point where it would use it. A result that did use it holds for that identity.
 * - Deployments, the environment, indexes and schemas are not in read sets: a change of them clears the cache.
 */
import {hash} from 'node:crypto';
import {causeOf} from '../../../engine/commit/code-events.ts';
import type {Commit, Stage} from '../../../engine/commit/commit.ts';
import type {LiveIndex, Watch, Watcher} from '../../../engine/live/live-index.ts';
import type {PackedReadSet} from '../../../engine/reads/read-set.ts';
import {assert} from '../../../shared/assert.ts';
import type {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {callName, type KeptResult} from '../../ipc/shared-results.ts';
import {shownPath} from '../../runtime/call.ts';
import type {Execution} from '../../runtime/execution.ts';
import type {QueryRun} from '../../runtime/queries/packed-run.ts';
import {RESULT_CACHED_BYTES_MAX, RESULT_INTERVALS_MAX, RESULTS_BYTES_MAX} from '../limits.ts';
import {RecentChanges} from './recent-changes.ts';

export type ResultParts = {
  index: LiveIndex;
  metrics: WorkerMetrics;
  /** Sequence of the newest commit. */
  sequence: number;
  /** Whether this is the current environment. */
  isCurrent: (env: Execution['env']) => boolean;
  run: (execution: Execution) => Promise<QueryRun>;
};

/** A run's outcome for its callers; `ok` is false when the function failed. */
type Answer =
  | {ok: true; value: string; lines: readonly string[]; kept?: KeptResult}
  | {ok: false; lines: readonly string[]};

/** Longer keys are hashed. */
const KEY_CHARS_PLAIN = 1024;
/** Approximate cost of a cached result, and of an interval of its read set, in addition to their texts. */
const RESULT_OVERHEAD_BYTES = 600;
const INTERVAL_OVERHEAD_BYTES = 300;

type Flight<T> = {promise: Promise<Shared<T>>; sequence: number; commits: number; execution: Execution};
/** `isShared`: the result also holds for concurrent equal calls. */
type Shared<T> = {answer: T; isShared: boolean};

export class Results<T extends Answer> implements Stage {
  readonly #parts: ResultParts;
  /** Least recently used first. */
  readonly #cached = new Map<string, CachedResult<T>>();
  readonly #flights = new Map<string, Flight<T>>();
  /** All runs under way, oldest first. */
  readonly #underWay = new Set<Flight<T>>();
  readonly #recent: RecentChanges;
  /** Functions whose last runs were not repeatable: equal calls of them do not wait for each other. */
  readonly #alone = new Set<string>();
  #sequence: number;
  #commits = 0;
  /** Generation counter: results and runs of an older generation are discarded. */
  #generation = 0;
  #bytes = 0;

  constructor(parts: ResultParts) {
    this.#parts = parts;
    parts.metrics.measure('svc_function_results_bytes', () => this.#bytes);
    this.#sequence = parts.sequence;
    this.#recent = new RecentChanges(parts.sequence);
  }

  /** Sequence of the newest durable commit. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The cached result for this call; null: it has to be run. */
  find(execution: Execution): T | null {
    return this.#find(execution)?.answer ?? null;
  }

  /** The same for a caller that goes on to watch the read set; null: it has to be run. */
  findRun(execution: Execution): CachedRun<T> | null {
    // Only results of calls without an end of their page are cached.
    const cached = execution.endCursor === null ? this.#find(execution) : null;
    if (cached === null) return null;
    const {answer, readSet, identityUsed, endCursor} = cached;
    return {answer, readSet, identityUsed, endCursor, sequence: this.#sequence};
  }

  #find(execution: Execution): CachedResult<T> | null {
    const base = baseKey(execution);
    const cached = this.#cached.get(base) ?? this.#cached.get(identityKey(base, execution));
    if (cached === undefined) return null;
    // Moves it to the most recently used end.
    this.#cached.delete(cached.key);
    this.#cached.set(cached.key, cached);
    this.#parts.metrics.count('svc_function_results_total', {how: 'hit'});
    return cached;
  }

  /**
   * Runs the function, or waits for a concurrent equal call.
   * @param answerOf makes the result for callers; may throw
   */
  async run(execution: Execution, answerOf: (run: QueryRun) => T): Promise<T> {
    const {metrics} = this.#parts;
    const key = identityKey(baseKey(execution), execution);
    const flight = this.#flights.get(key);
    if (flight !== undefined && flight.commits === this.#commits && flight.execution.env === execution.env) {
      const shared = await flight.promise.catch(() => null);
      if (shared?.isShared === true) {
        metrics.count('svc_function_results_total', {how: 'shared'});
        return shared.answer;
      }
    }
    metrics.count('svc_function_results_total', {how: 'run'});
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
    // It read a commit that is not yet durable, or it is no longer the newest state.
    if (sequence > this.#sequence || this.#recent.mayTouch(readSet, sequence)) return;
    const base = baseKey(execution);
    const key = identityUsed ? identityKey(base, execution) : base;
    const bytes = bytesOf(key, readSet, value);
    if (bytes > RESULT_CACHED_BYTES_MAX) return;
    const known = this.#cached.get(key);
    if (known !== undefined) this.#drop(known);
    const facts = {answer, readSet, identityUsed, endCursor};
    const cached = new CachedResult(key, nameOf(execution), facts, bytes, one => this.#drop(one, 'written'));
    if (answer.ok) answer.kept = cached;
    cached.watch = this.#parts.index.watchReads(cached, readSet);
    this.#cached.set(key, cached);
    this.#count(bytes);
    for (const oldest of this.#cached.values()) {
      if (this.#bytes <= RESULTS_BYTES_MAX) break;
      this.#drop(oldest, 'full');
    }
  }

  /** Runs after the index has dropped the results that the commit touches. */
  committed(commit: Commit): void {
    const {lastSequence, hasNewCatalog, events} = commit;
    this.#sequence = lastSequence;
    this.#commits++;
    if (this.#underWay.size > 0) this.#recent.add(commit);
    else this.#recent.forget(lastSequence);
    if (hasNewCatalog || causeOf(events) !== null) this.#clear();
  }

  #clear(): void {
    this.#generation++;
    this.#flights.clear();
    this.#alone.clear();
    for (const cached of [...this.#cached.values()]) this.#drop(cached, 'cleared');
  }

  #drop(cached: CachedResult<T>, cause: 'written' | 'full' | 'cleared' | null = null): void {
    cached.end();
    this.#cached.delete(cached.key);
    this.#count(-cached.bytes);
    if (cause !== null) this.#parts.metrics.count('svc_function_results_dropped_total', {cause});
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0, 'bytes of cached results are counted once');
  }
}

/** A cached result, as a run at the newest commit would have returned it. */
export type CachedRun<T> = {
  readonly answer: T;
  readonly readSet: PackedReadSet;
  readonly identityUsed: boolean;
  /** Where its page ends; null: nowhere. */
  readonly endCursor: string | null;
  /** Sequence of the newest commit. */
  readonly sequence: number;
};

class CachedResult<T> implements Watcher, KeptResult {
  readonly key: string;
  readonly name: string;
  readonly answer: T;
  readonly readSet: PackedReadSet;
  readonly identityUsed: boolean;
  readonly endCursor: string | null;
  readonly bytes: number;
  watch: Watch | null = null;
  isKept = true;
  onEnd: (() => void) | null = null;
  readonly #onWritten: (cached: CachedResult<T>) => void;

  constructor(
    key: string,
    name: string,
    {answer, readSet, identityUsed, endCursor}: Omit<CachedRun<T>, 'sequence'>,
    bytes: number,
    onWritten: (cached: CachedResult<T>) => void,
  ) {
    this.key = key;
    this.name = name;
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

  end(): void {
    this.watch?.end();
    this.isKept = false;
    this.onEnd?.();
    this.onEnd = null;
  }
}

/** For reports of calls that routers answer with the result. */
function nameOf({path, paginated}: Execution): string {
  return callName(paginated ? 'paginatedQuery' : 'query', shownPath(path));
}

/** Neither a path nor JSON contains a NUL character. */
function baseKey({path, args}: Execution): string {
  return plain(`${path}\0${args}`);
}

/** Hashed again if it is too long: the base key alone can have KEY_CHARS_PLAIN characters. */
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
