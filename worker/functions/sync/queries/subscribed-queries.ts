/**
 * All queries that sockets of this tenant subscribe to, and their answers. Equal queries are one. A commit closes the
 * answers that it touches, in time proportional to what it wrote. Those queries run again, and their subscribers are
 * notified of the new answers.
 *
 *   held ──▶ wanted ──a place is free──▶ running ──▶ answered, open ──a commit touches what it read──▶ closed, wanted
 *              ▲                            │ touched meanwhile, or run by code that was replaced
 *              └────────────────────────────┘
 *
 * Deployments, variables, schemas and indexes are in no read set: when one changes, every query runs again, a limited
 * number at a time. Old answers stay in place meanwhile, and a result that comes out equal is the same object as
 * before.
 */
import {performance} from 'node:perf_hooks';
import {causeOf} from '../../../../engine/commit/code-events.ts';
import type {Commit} from '../../../../engine/commit/commit.ts';
import {SUBSCRIBED_READS_BYTES_MAX} from '../../../../engine/limits.ts';
import type {ListedQueries, ListedQuery} from '../../../../engine/live/listed-query.ts';
import {LiveEvaluations, LiveFigures} from '../../../../engine/live/live-figures.ts';
import type {LiveIndex} from '../../../../engine/live/live-index.ts';
import {coarse, readSetBytes} from '../../../../engine/reads/coarse.ts';
import {assert} from '../../../../shared/assert.ts';
import {overloaded, ServiceError} from '../../../../shared/errors.ts';
import type {WorkerMetrics} from '../../../../shared/metrics/worker-metrics.ts';
import type {Because} from '../../../../shared/protocol/function-socket/server-message.ts';
import {canonicalPath} from '../../../runtime/call.ts';
import {LIVE_REFUSALS_HIDDEN_MAX, SUBSCRIBED_QUERIES_BYTES_MAX, SUBSCRIBED_QUERIES_MAX} from '../../limits.ts';
import {causeFrom, RecentChanges, reasonOf} from '../../results/recent-changes.ts';
import {Answer, errorResult, type Result, sameOr, valueResult} from './answer.ts';
import {Capacity, type Waiter} from './capacity.ts';
import {type CaughtParts, caughtError} from './caught.ts';
import {keyOf, type QueryRequest, type QueryRuns, type Ran, type Run} from './query-runs.ts';
import {Retries} from './retries.ts';
import {type Begun, RunQueue} from './run-queue.ts';
import {type SnapshotBatch, SnapshotBatches, type WantedQuery} from './snapshot-batches.ts';
import {ALL, type Holder, type Slot, SubscribedQuery} from './subscribed-query.ts';

export type SubscribedQueriesParts = CaughtParts & {
  index: LiveIndex;
  metrics: WorkerMetrics;
  runs: Pick<QueryRuns, 'run' | 'runTogether'>;
  /** The error message that clients get. */
  shown: (error: string, requestId: string) => string;
  /** The newest durable sequence. */
  sequence: number;
  /** Maximum of distinct subscribed queries. Default: SUBSCRIBED_QUERIES_MAX. */
  subscribedMax?: number;
};

export class SubscribedQueries implements ListedQueries {
  readonly #parts: SubscribedQueriesParts;
  readonly #subscribed = new Set<SubscribedQuery>();
  /** Queries that new subscribers can share. */
  readonly #byKey = new Map<string, SubscribedQuery>();
  readonly #recent: RecentChanges;
  #sequence: number;
  /** Answers that the current commit touched. */
  readonly #touched: {answer: Answer; query: SubscribedQuery}[] = [];
  readonly #queue = new RunQueue((query, slot) => void this.#run(query, slot));
  /** Generation counter; runs of an older generation are discarded. */
  #generation = 0;
  #bytes = 0;
  readonly #retries = new Retries((query, slotKey) => this.#tryAgain(query, slotKey));
  /** Placeholder answers for runs that the service refused. */
  readonly #unsure = new WeakSet<Answer>();
  readonly #capacity = new Capacity(() => this.#hasRoom);
  readonly #snapshotBatches = new SnapshotBatches({
    sequence: () => this.#sequence,
    run: wanted => this.#runBatch(wanted),
  });
  readonly #evaluations = new LiveEvaluations();
  #commits = 0;
  #isClosed = false;

  constructor(parts: SubscribedQueriesParts) {
    this.#parts = parts;
    this.#sequence = parts.sequence;
    this.#recent = new RecentChanges(parts.sequence);
  }

  get size(): number {
    return this.#subscribed.size;
  }

  /** Commits since this began. */
  get commits(): number {
    return this.#commits;
  }

  listed(): Iterable<ListedQuery> {
    return this.#subscribed;
  }

  /** Memory of the queries with their results and read sets. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The newest version. */
  get sequence(): number {
    return this.#sequence;
  }

  /** @throws session.overloaded at the maximum number of queries or bytes */
  hold(holder: Holder, requested: QueryRequest): SubscribedQuery {
    return this.#hold(holder, requested, keyOf(requested), {cause: 'added'});
  }

  /** Registers for a notification when a query can be held again. */
  awaitRoom(waiter: Waiter): void {
    this.#capacity.wait(waiter);
  }

  forgetWaiter(waiter: Waiter): void {
    this.#capacity.leave(waiter);
  }

  /** One more query fits, whatever the size of its read set. */
  get #hasRoom(): boolean {
    const {subscribedMax = SUBSCRIBED_QUERIES_MAX} = this.#parts;
    return (
      this.#subscribed.size < subscribedMax && this.#bytes + SUBSCRIBED_READS_BYTES_MAX <= SUBSCRIBED_QUERIES_BYTES_MAX
    );
  }

  /** @throws session.overloaded */
  #hold(holder: Holder, requested: QueryRequest, key: string, because: Because): SubscribedQuery {
    let query = this.#byKey.get(key);
    if (query === undefined) {
      if (!this.#hasRoom) throw overloaded('this tenant holds as many live queries as it may');
      const figures = new LiveFigures(Date.now(), this.#commits);
      query = new SubscribedQuery(key, {...requested, path: canonicalPath(requested.path)}, figures);
      this.#byKey.set(key, query);
      this.#subscribed.add(query);
      this.#count(query.bytes);
    }
    query.join(holder);
    this.#wantFor(query, holder, because);
    return query;
  }

  release(holder: Holder, query: SubscribedQuery): void {
    query.leave(holder);
    if (!query.isSubscribed) this.#drop(query);
    else if (query.hasStrangers) this.#counting(query, () => query.forgetStrangers(this.#sequence));
  }

  /**
   * The holder's identity has changed.
   * @returns what it holds from now on: a query with the same page end; or, if there is no capacity for that, the query
   *   that it no longer holds and can request again
   */
  identityChanged(
    holder: Holder,
    query: SubscribedQuery,
  ): SubscribedQuery | {refused: ServiceError; requested: QueryRequest} {
    const end = query.journalFor(holder);
    query.leave(holder);
    query.join(holder);
    const {kind, path, args, isInternal} = query;
    const requested = {kind, path, args, isInternal, journal: end};
    const key = end === null || query.journalFor(holder) === end ? query.key : keyOf(requested);
    if (key !== query.key) {
      // Releasing a query without other subscribers frees capacity.
      this.release(holder, query);
      try {
        return this.#hold(holder, requested, key, {cause: 'identity'});
      } catch (caught) {
        if (!(caught instanceof ServiceError)) throw caught;
        return {refused: caught, requested};
      }
    }
    if (query.hasStrangers) this.#counting(query, () => query.forgetStrangers(this.#sequence));
    this.#wantFor(query, holder, {cause: 'identity'});
    return query;
  }

  /**
   * Requests a run for all holders without a valid answer. If a run is already under way, its end checks what is still
   * missing.
   */
  want(query: SubscribedQuery, because: Because): void {
    for (const slot of query.missing()) this.#wantSlot(query, slot, because);
  }

  #wantFor(query: SubscribedQuery, {identity}: Pick<Slot, 'identity'>, because: Because): void {
    const slot = query.missingFor(identity);
    if (slot !== null) this.#wantSlot(query, slot, because);
  }

  #wantSlot(query: SubscribedQuery, slot: Slot, because: Because): void {
    if (query.wanted.has(slot.key)) return;
    query.wanted.set(slot.key, because);
    this.#queue.add(query, slot);
  }

  /**
   * Runs these in one snapshot, for sessions whose queries otherwise have no common version. Concurrent equal requests
   * share the run.
   * @param notBefore older versions are of no use
   * @returns an answer to each, valid at one version; null: the batch failed
   */
  together(
    subscribed: readonly {query: SubscribedQuery; holder: Holder}[],
    notBefore: number,
  ): Promise<ReadonlyMap<SubscribedQuery, Answer> | null> {
    return this.#snapshotBatches.together(
      subscribed.map(({query, holder}) => ({query, slot: query.slotFor(holder.identity)})),
      notBefore,
    );
  }

  /** Its answers are installed for all subscribers. */
  async #runBatch(wanted: readonly WantedQuery[]): Promise<SnapshotBatch | null> {
    const journals = wanted.map(({query, slot}) => query.journalOf(slot));
    const runs = wanted.map(({query: {kind, path, args, isInternal}, slot: {identity}}, i): Run => {
      return {kind, path, args, isInternal, journal: journals[i]!, identity};
    });
    const generation = this.#generation;
    const begun = this.#queue.begin(null, this.#sequence);
    let batch: SnapshotBatch | null = null;
    try {
      const {rans, sequence} = await this.#parts.runs.runTogether(runs);
      if (generation === this.#generation && !this.#isClosed) {
        const msOfEach = (performance.now() - begun.startedMs) / rans.length;
        batch = this.#takeAll(wanted, journals, rans, sequence, msOfEach);
      }
    } catch (caught) {
      caughtError(this.#parts, 'query', caught, {paths: wanted.map(({query}) => query.path)});
    }
    this.#finished(begun);
    return batch;
  }

  #takeAll(
    wanted: readonly WantedQuery[],
    journals: readonly (string | null)[],
    rans: readonly Ran[],
    version: number,
    msOfEach: number,
  ): SnapshotBatch | null {
    const answers = new Map<SubscribedQuery, Answer>();
    let isWhole = true;
    for (const [i, ran] of rans.entries()) {
      const {query, slot} = wanted[i]!;
      if (journals[i] !== null && isOfAnotherQuery(ran)) {
        query.unpin(slot);
        isWhole = false;
      } else answers.set(query, this.#take(query, slot, ran, version, this.#reasonNow(query, slot), msOfEach));
    }
    return isWhole ? answers : null;
  }

  /** Why the current answer is not valid. */
  #reasonNow(query: SubscribedQuery, slot: Slot): Because {
    const before = query.answerFor(slot.identity);
    if (before === null) return {cause: 'added'};
    return reasonOf(before.touchedBy);
  }

  /** Runs after the index has reported changed documents, and after the commit's other changes are in effect. */
  committed(commit: Commit): void {
    const {firstSequence, lastSequence, hasNewCatalog, events} = commit;
    this.#sequence = lastSequence;
    this.#commits++;
    if (this.#queue.running > 0) this.#recent.add(commit);
    else this.#recent.forget(lastSequence);
    for (const {answer, query} of this.#touched.splice(0)) {
      this.#close(query, answer, firstSequence - 1);
      query.figures.touched(this.#commits);
      const slot = query.slotOf(answer);
      if (slot === null) continue; // answer was replaced
      this.#wantSlot(query, slot, reasonOf(answer.touchedBy));
    }
    const cause = causeOf(events) ?? (hasNewCatalog ? 'schema' : null);
    if (cause !== null) this.#runAll(firstSequence - 1, {cause});
  }

  close(): void {
    this.#isClosed = true;
    this.#queue.close();
    this.#retries.close();
    this.#capacity.close();
  }

  #runAll(to: number, because: Because): void {
    this.#generation++;
    for (const query of this.#subscribed) {
      for (const answer of query.answers()) if (answer.isOpen) this.#close(query, answer, Math.max(to, answer.from));
      this.want(query, because);
    }
  }

  #close(query: SubscribedQuery, answer: Answer, to: number): void {
    answer.close(to);
    // New subscribers get a page of the length that they request, which can end elsewhere.
    if (query.isPinned) this.#forget(query);
  }

  #forget(query: SubscribedQuery): void {
    if (this.#byKey.get(query.key) === query) this.#byKey.delete(query.key);
  }

  async #run(query: SubscribedQuery, slot: Slot): Promise<void> {
    const {kind, path, args, isInternal} = query;
    const because = query.wanted.get(slot.key)!;
    assert(because !== undefined, 'what waits to be run is wanted');
    const generation = this.#generation;
    const begun = this.#queue.begin(path, this.#sequence);
    const journal = query.journalOf(slot);
    const run: Run = {kind, path, args, isInternal, journal, identity: slot.identity};
    let ran: Ran | ServiceError;
    try {
      ran = await this.#parts.runs.run(run);
    } catch (caught) {
      ran = caughtError(this.#parts, 'query', caught, {path});
    }
    query.wanted.delete(slot.key);
    if (query.isSubscribed && !this.#isClosed) {
      const isCut = journal !== null && isOfAnotherQuery(ran);
      if (isCut) query.unpin(slot);
      if (isCut || generation !== this.#generation) this.want(query, because);
      else this.#took(query, slot, ran, because, performance.now() - begun.startedMs);
    }
    this.#finished(begun);
  }

  #finished(begun: Begun): void {
    this.#queue.end(begun);
    this.#recent.forget(this.#queue.oldestSequence ?? this.#sequence);
  }

  #took(query: SubscribedQuery, slot: Slot, ran: Ran | ServiceError, because: Because, ms: number): void {
    if (ran instanceof ServiceError) {
      this.#refused(query, slot, ran, because);
      return;
    }
    try {
      this.#take(query, slot, ran, ran.sequence ?? this.#sequence, because, ms);
    } catch (caught) {
      this.#refused(query, slot, caughtError(this.#parts, 'query', caught, {path: query.path}), because);
    }
  }

  /** @param from the version that it read. @returns its answer, which may be valid at that version only */
  #take(query: SubscribedQuery, slot: Slot, ran: Ran, from: number, because: Because, ms: number): Answer {
    const before = query.answerFor(slot.identity);
    const result = this.#resultOf(ran, before?.result ?? null);
    const {identityUsed, endCursor: journal} = ran;
    const {lines} = ran.result;
    const readSet = coarse(ran.readSet);
    const answer = new Answer({result, from, journal, lines, because, identityUsed}, one =>
      this.#touched.push({answer: one, query}),
    );
    const outcome = result === before?.result ? 'equal' : 'changed';
    if (!ran.wasCached) this.#parts.metrics.count('svc_function_live_runs_total', {result: outcome});
    const evaluated = {
      atMs: Date.now(),
      ms,
      outcome,
      cause: causeFrom(because),
      range: before?.hitRange ?? null,
    } as const;
    this.#evaluations.add(query.figures, evaluated);
    // A run that read a later version was faster, or the query has no subscribers any more.
    if (!query.isSubscribed || (before !== null && before.from > from)) {
      answer.close(from);
      if (query.isSubscribed) this.#wantFor(query, slot, because);
      return answer;
    }
    const bytes = readSetBytes(readSet);
    if (!this.#fits(answer.bytes + bytes, before)) {
      const error = overloaded('live queries of this tenant take as much as they may');
      this.#refused(query, query.slotFor(slot.identity), error, because, 0);
      return query.answerFor(slot.identity)!;
    }
    const touch = this.#recent.firstTouch(readSet, from);
    const wasByIdentity = query.isByIdentity;
    if (touch === null) answer.watches(this.#parts.index.watchReads(answer, readSet), readSet, bytes);
    this.#install(query, answer, slot);
    if (query.isByIdentity === wasByIdentity) this.#retries.ran(query, slot.key);
    else this.#retries.forget(query);
    if (touch !== null) this.#close(query, answer, Math.max(from, touch.until));
    if (query.isByIdentity !== wasByIdentity)
      this.want(query, because); // for holders that the answer does not apply to
    else if (touch !== null) this.#wantFor(query, slot, reasonOf(touch.change));
    return answer;
  }

  /** Whether an answer of this size can replace the previous one. */
  #fits(bytes: number, before: Answer | null): boolean {
    const more = bytes - (before?.bytes ?? 0);
    return more <= 0 || this.#bytes + more <= SUBSCRIBED_QUERIES_BYTES_MAX;
  }

  #install(query: SubscribedQuery, answer: Answer, slot: Slot): void {
    const wasByIdentity = query.isByIdentity;
    this.#counting(query, () => query.take(answer, slot.identity, this.#sequence));
    const takers = query.isByIdentity === wasByIdentity ? query.holdersOf(slot) : query.holdersOf(ALL);
    for (const holder of takers) holder.concern();
  }

  /**
   * Handles a run that the service refused. The run is retried; a refusal that lasts is sent as an error meanwhile.
   * @param hiddenMax overload refusals in a row that are not sent to clients
   */
  #refused(
    query: SubscribedQuery,
    slot: Slot,
    error: ServiceError,
    because: Because,
    hiddenMax = LIVE_REFUSALS_HIDDEN_MAX,
  ): void {
    // The run began before it was known whether the function uses the identity, so another run is missing now.
    if (query.slotFor(slot.identity).key !== slot.key) {
      this.want(query, because);
      return;
    }
    // A snapshot batch has installed a valid answer meanwhile, so nothing is missing.
    const current = query.answerFor(slot.identity);
    if (current?.isOpen === true && !this.#unsure.has(current)) {
      this.#retries.ran(query, slot.key);
      return;
    }
    const times = this.#retries.refused(query, slot.key);
    const isOverload = error.code === 'session.overloaded' || error.code === 'session.worker_unavailable';
    if (isOverload && times <= hiddenMax) return;
    const made = errorResult(error.message, "Your request couldn't be completed. Try again later.");
    const result = sameOr(made, current?.result ?? null);
    const facts = {result, from: this.#sequence, journal: null, lines: [], because, identityUsed: query.isByIdentity};
    const answer = new Answer(facts, () => undefined);
    this.#unsure.add(answer);
    this.#install(query, answer, slot);
  }

  /** Runs a refused query again: nothing reports that damage was repaired. */
  #tryAgain(query: SubscribedQuery, slotKey: string): void {
    for (const answer of query.answers()) {
      if (this.#unsure.has(answer) && answer.isOpen && query.slotOf(answer)?.key === slotKey)
        this.#close(query, answer, this.#sequence);
    }
    // Other slots have their own retry times.
    const slot = query.missingAt(slotKey);
    if (slot === null) this.#retries.ran(query, slotKey);
    else this.#wantSlot(query, slot, {cause: 'unknown'});
  }

  #resultOf({result, requestId}: Ran, before: Result | null): Result {
    const made = result.ok
      ? valueResult(result.value)
      : errorResult(result.error, this.#parts.shown(result.error, requestId));
    return sameOr(made, before);
  }

  #drop(query: SubscribedQuery): void {
    this.#counting(query, () => query.letGo(this.#sequence));
    this.#subscribed.delete(query);
    this.#retries.forget(query);
    this.#forget(query);
    this.#count(-query.bytes);
  }

  #counting(query: SubscribedQuery, change: () => void): void {
    const before = query.bytes;
    change();
    this.#count(query.bytes - before);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0, 'what live queries take is counted once');
  }
}

/** The page's end refers to another query, because the code was replaced. */
function isOfAnotherQuery(ran: Ran | ServiceError): boolean {
  return !(ran instanceof ServiceError) && !ran.result.ok && ran.result.error.includes('InvalidCursor');
}
