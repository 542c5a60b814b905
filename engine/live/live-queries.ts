/**
 * All live queries of the tenant. Equal queries share one result, however many routers subscribe to them. After each
 * commit, and before its replies leave, the written documents are matched (`live-index.ts`). Each changed result is
 * serialized once and sent to the subscribed routers, followed by an end mark. So a router always shows one committed
 * version, and a client whose write has succeeded finds it in every later result.
 *
 * A query that would read much is evaluated on a scan thread (`evaluation.ts`). Until its result arrives, its
 * subscribers are notified that their result is behind, and nothing else waits.
 *
 *   subscribed ──reads little──▶ current ◀──result applied─── evaluating ──refused──▶ ended
 *        └──reads much──▶ evaluating         └── a write leaves its window too short, and it reads much ──▲
 */
import {hash} from 'node:crypto';
import {performance} from 'node:perf_hooks';
import {assert} from '../../shared/assert.ts';
import {overloaded, ServiceError} from '../../shared/errors.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import type {Change, Commit, Stage} from '../commit/commit.ts';
import {LIVE_QUERIES_MAX, LIVE_RESULT_BYTES_MAX} from '../limits.ts';
import {HAND_OVER, InlineBudget, InlineReadBudget} from '../reads/read-budget.ts';
import type {LiveScans} from '../reads/scan-pool.ts';
import {shapeText} from '../reads/shape.ts';
import type {Reader} from '../storage/reader.ts';
import type {TableInfo} from '../storage/rows.ts';
import {Evaluation} from './evaluation.ts';
import {hitOfValues} from './hit-range.ts';
import type {ListedQueries, ListedQuery} from './listed-query.ts';
import {LiveCount} from './live-count.ts';
import {type LiveCause, LiveEvaluations, LiveFigures, type LiveOutcome} from './live-figures.ts';
import {emplace, type FieldRange, type LiveIndex, type Watch, type Watcher} from './live-index.ts';
import {LiveQuery} from './live-query.ts';
import type {LiveResult} from './live-result.ts';

/** A router that subscribes to live queries under its own stream ids. */
export interface LiveHolder {
  live(stream: number, text: string): void;
  /** The result is behind until the next one comes. */
  liveBehind(stream: number): void;
  liveFailed(stream: number, error: ServiceError): void;
  liveEnd(sequence: number): void;
  /** Subscriptions of clients that share the stream. Absent: one for each stream. */
  subscriptions?(stream: number): Promise<number>;
}

export type LiveParts = {
  index: LiveIndex;
  reader: Reader;
  scans: LiveScans;
  metrics: WorkerMetrics;
  /** The newest durable sequence, whose state the reader reads. */
  sequence: () => number;
  /** The number of documents of a table that are counted so far. */
  count: (table: TableInfo) => number;
  /** Limit for the bytes of all results; LIVE_RESULT_BYTES_MAX by default. */
  bytesMax?: number;
};

type TableRenamed = Extract<JournalEvent, {type: 'table.renamed'}>;

/** A live query with subscribers. */
class Subscribed implements Watcher, ListedQuery {
  readonly id: string;
  readonly live: LiveResult;
  readonly figures: LiveFigures;
  /** The write that the next evaluation takes as its cause. */
  cause: Change | null = null;
  /** The key ranges that it watches. */
  ranges: readonly FieldRange[] = [];
  /** Bytes of its result, as last added to the total. */
  bytes = 0;
  readonly key: string;
  /** The streams of its holders. */
  readonly streams = new Map<LiveHolder, Set<number>>();
  /** Null: its result is that of the newest commit. */
  evaluation: Evaluation | null = null;
  watch: Watch | null = null;
  /** Its table was renamed, or another table got its name: its documents must be found again. */
  isLost = false;
  readonly #touched: Set<Subscribed>;

  /** @param touched it adds itself here when a commit can affect its result */
  constructor(id: string, query: LiveQueryObject, key: string, figures: LiveFigures, touched: Set<Subscribed>) {
    this.id = id;
    this.live = query.count === true ? new LiveCount(query) : new LiveQuery(query);
    this.key = key;
    this.figures = figures;
    this.#touched = touched;
  }

  async holders(): Promise<number> {
    const counts: (number | Promise<number>)[] = [];
    for (const [holder, streams] of this.streams)
      for (const stream of streams) counts.push(holder.subscriptions?.(stream) ?? 1);
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  get identities(): null {
    return null;
  }

  get resultBytes(): number {
    return this.live.text.length;
  }

  get isCurrent(): boolean {
    return this.evaluation === null;
  }

  get subject(): ListedQuery['subject'] {
    return {type: 'query', query: this.live.query};
  }

  wrote(change: Change): void {
    const {doc, after} = change;
    this.cause ??= change;
    if (this.evaluation !== null) this.evaluation.wrote(doc);
    else {
      this.live.write(doc, after);
      this.#touched.add(this);
    }
  }
}

export class LiveQueries implements Stage, ListedQueries {
  readonly #parts: LiveParts;
  readonly #byKey = new Map<string, Subscribed>();
  readonly dependents: {readonly size: number} = this.#byKey;
  readonly #byHolder = new Map<LiveHolder, Map<number, Subscribed>>();
  /** Queries that the current commit can affect. */
  readonly #touched = new Set<Subscribed>();
  readonly #bytesMax: number;
  #bytes = 0;
  readonly #evaluations = new LiveEvaluations();
  #commits = 0;
  #lastId = 0;
  /** Shared by the queries that begin in this turn; null: none has begun. */
  #turnBudget: InlineBudget | null = null;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    parts.metrics.measure('svc_live_queries', () => this.size);
    this.#bytesMax = parts.bytesMax ?? LIVE_RESULT_BYTES_MAX;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Commits while there were live queries. */
  get commits(): number {
    return this.#commits;
  }

  listed(): Iterable<ListedQuery> {
    return this.#byKey.values();
  }

  /** Sends the current result, now or when it is ready, and every new one from then on; or the reason for a refusal. */
  subscribe(holder: LiveHolder, stream: number, query: LiveQueryObject): void {
    try {
      const subscribed = this.#hold(query);
      emplace(subscribed.streams, holder, () => new Set<number>()).add(stream);
      emplace(this.#byHolder, holder, () => new Map<number, Subscribed>()).set(stream, subscribed);
      if (subscribed.evaluation !== null) return;
      holder.live(stream, subscribed.live.text);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      holder.liveFailed(stream, caught);
    }
    holder.liveEnd(this.#parts.sequence());
  }

  unsubscribe(holder: LiveHolder, stream: number): void {
    const subscribed = this.#byHolder.get(holder)?.get(stream);
    if (subscribed === undefined) return; // it failed while the frame was in transit
    this.#byHolder.get(holder)!.delete(stream);
    const streams = subscribed.streams.get(holder)!;
    streams.delete(stream);
    if (streams.size === 0) subscribed.streams.delete(holder);
    if (subscribed.streams.size === 0) this.#drop(subscribed);
  }

  /** The router has disconnected. */
  release(holder: LiveHolder): void {
    for (const stream of [...(this.#byHolder.get(holder)?.keys() ?? [])]) this.unsubscribe(holder, stream);
    this.#byHolder.delete(holder);
  }

  /** The index has already passed the commit's documents to the queries, in order. */
  committed({hasNewCatalog, events}: Pick<Commit, 'hasNewCatalog' | 'events'>): void {
    this.#commits++;
    if (hasNewCatalog)
      for (const {type, event} of events) if (type === 'table.renamed') this.#renamed(event as TableRenamed);
    if (this.#touched.size === 0) return;
    const touched = [...this.#touched];
    this.#touched.clear();
    this.#publish(touched);
  }

  #renamed({table, to}: TableRenamed): void {
    for (const subscribed of this.#byKey.values()) {
      const of = subscribed.live.query.table;
      if (of !== table && of !== to) continue;
      subscribed.evaluation?.giveUp();
      subscribed.evaluation = null;
      subscribed.isLost = true;
      this.#touched.add(subscribed);
    }
  }

  #publish(touched: readonly Subscribed[]): void {
    const {reader, metrics} = this.#parts;
    const notified = new Set<LiveHolder>();
    // One budget for all: a commit that makes many queries run again must not wait for all of them.
    const budget = new InlineBudget();
    let startedMs = performance.now();
    reader.inSnapshot();
    for (const subscribed of touched) {
      const {live, isLost, ranges} = subscribed;
      subscribed.figures.touched(this.#commits);
      try {
        const isMatched = live.isTouched;
        const text = this.#refreshed(subscribed, budget);
        const result = text !== null ? 'changed' : isMatched ? 'equal' : 'unmatched';
        metrics.count('svc_live_evaluations_total', {result});
        startedMs = this.#evaluated(subscribed, result, startedMs, ranges);
        // A query that was behind, or has no result yet, is sent in any case.
        if (text !== null || isLost) this.#send(subscribed, notified);
      } catch (caught) {
        startedMs = performance.now();
        if (caught === HAND_OVER) this.#fallBehind(subscribed);
        // Anything else is a bug or a broken file, and ends the worker.
        else if (caught instanceof ServiceError) this.#end(subscribed, caught, notified);
        else throw caught;
      }
    }
    this.#endBatch(notified);
  }

  /** Notes an evaluation. @param ranges watched until then; null: it is the first evaluation. @returns the time */
  #evaluated(
    subscribed: Subscribed,
    outcome: LiveOutcome,
    startedMs: number,
    ranges: readonly FieldRange[] | null,
  ): number {
    const nowMs = performance.now();
    const {cause: change, figures} = subscribed;
    subscribed.cause = null;
    this.#evaluations.add(figures, {
      atMs: Date.now(),
      ms: nowMs - startedMs,
      outcome,
      cause: causeOf(change, ranges === null),
      range: change === null || ranges === null ? null : hitOfValues(change, ranges),
    });
    return nowMs;
  }

  #refreshed(subscribed: Subscribed, budget?: InlineBudget): string | null {
    const {reader, count} = this.#parts;
    const {live, isLost} = subscribed;
    const isStale = live.isStale || isLost;
    const readBudget = isStale ? new InlineReadBudget(count, budget) : undefined;
    subscribed.isLost = false;
    if (isLost) live.run(reader, readBudget);
    const text = live.refresh(reader, readBudget);
    if (isStale) this.#watch(subscribed, live.watched);
    const hasGrown = live.bytes > subscribed.bytes;
    this.#addUp(subscribed, live.bytes);
    // The query that exceeds the limit is ended; the others stay.
    if (hasGrown && this.#bytes > this.#bytesMax) throw tooMuch();
    return text;
  }

  /** Watches the ranges of its current and future entries. */
  #watch(subscribed: Subscribed, ranges: readonly FieldRange[]): void {
    subscribed.watch?.end();
    subscribed.ranges = ranges;
    subscribed.watch = this.#parts.index.watchValues(subscribed, subscribed.live.query.table, ranges);
  }

  #send(subscribed: Subscribed, notified: Set<LiveHolder>): void {
    for (const [holder, streams] of subscribed.streams) {
      for (const stream of streams) holder.live(stream, subscribed.live.text);
      notified.add(holder);
    }
  }

  /* ── queries that read much ── */

  /** Runs before the replies of the commit leave: from here on the old result is not sent to new subscribers. */
  #fallBehind(subscribed: Subscribed): void {
    for (const [holder, streams] of subscribed.streams) {
      for (const stream of streams) holder.liveBehind(stream);
    }
    this.#evaluate(subscribed);
  }

  #evaluate(subscribed: Subscribed): void {
    const {reader, scans} = this.#parts;
    const startedMs = performance.now();
    this.#watch(subscribed, subscribed.live.whole);
    subscribed.evaluation = new Evaluation(subscribed.live, reader, scans, {
      current: () => this.#current(subscribed, startedMs),
      failed: error => {
        const notified = new Set<LiveHolder>();
        this.#end(subscribed, error, notified);
        this.#endBatch(notified);
      },
    });
  }

  /**
   * The result is that of the newest commit. It is sent even if it is equal, because it was reported as behind, or is
   * the first.
   */
  #current(subscribed: Subscribed, startedMs: number): void {
    const {ranges, figures} = subscribed;
    subscribed.evaluation = null;
    this.#watch(subscribed, subscribed.live.watched);
    const notified = new Set<LiveHolder>();
    try {
      const result = this.#refreshed(subscribed) === null ? 'equal' : 'changed';
      this.#parts.metrics.count('svc_live_evaluations_total', {result});
      this.#evaluated(subscribed, result, startedMs, figures.lastMs === null ? null : ranges);
      this.#send(subscribed, notified);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#end(subscribed, caught, notified);
    }
    this.#endBatch(notified);
  }

  #endBatch(notified: ReadonlySet<LiveHolder>): void {
    for (const holder of notified) holder.liveEnd(this.#parts.sequence());
  }

  /** Ends a live query that cannot continue, for all its subscribers. */
  #end(subscribed: Subscribed, error: ServiceError, notified: Set<LiveHolder>): void {
    for (const [holder, streams] of subscribed.streams) {
      for (const stream of streams) {
        holder.liveFailed(stream, error);
        this.#byHolder.get(holder)!.delete(stream);
      }
      notified.add(holder);
    }
    this.#drop(subscribed);
  }

  #hold(query: LiveQueryObject): Subscribed {
    // Long texts of equal length are slow keys, because engines hash them by their length alone.
    const key = hash('sha256', shapeText(query), 'base64');
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size >= LIVE_QUERIES_MAX) {
      throw overloaded('this tenant holds as many live queries as it may; try again later');
    }
    // Checked before the run, so that a client that is refused repeatedly does not cause reads.
    if (this.#bytes >= this.#bytesMax) throw tooMuch();
    const startedMs = performance.now();
    const figures = new LiveFigures(Date.now(), this.#commits);
    const subscribed = new Subscribed(`q${++this.#lastId}`, query, key, figures, this.#touched);
    const isCurrent = this.#runInline(subscribed.live);
    if (this.#bytes + subscribed.live.bytes > this.#bytesMax) throw tooMuch();
    this.#byKey.set(key, subscribed);
    this.#addUp(subscribed, subscribed.live.bytes);
    if (isCurrent) {
      this.#watch(subscribed, subscribed.live.watched);
      this.#evaluated(subscribed, 'changed', startedMs, null);
    } else this.#evaluate(subscribed);
    return subscribed;
  }

  /**
   * Runs the query as far as this turn's budget allows, because many can begin at once. @returns false: it reads more
   */
  #runInline(live: LiveResult): boolean {
    const {reader, count} = this.#parts;
    if (this.#turnBudget === null) {
      this.#turnBudget = new InlineBudget();
      setImmediate(() => {
        this.#turnBudget = null;
      });
    }
    reader.inSnapshot();
    try {
      live.run(reader, new InlineReadBudget(count, this.#turnBudget));
      live.refresh(reader);
      return true;
    } catch (caught) {
      if (caught !== HAND_OVER) throw caught;
      return false;
    }
  }

  #drop(subscribed: Subscribed): void {
    subscribed.evaluation?.giveUp();
    subscribed.watch?.end();
    this.#byKey.delete(subscribed.key);
    this.#addUp(subscribed, 0);
  }

  #addUp(subscribed: Subscribed, bytes: number): void {
    this.#bytes += bytes - subscribed.bytes;
    subscribed.bytes = bytes;
    assert(this.#bytes >= 0, 'what live results take is counted once');
  }
}

function tooMuch(): ServiceError {
  return overloaded(
    'the results of live queries take as much of this tenant as they may; try again later, or set a limit',
  );
}

function causeOf(change: Change | null, isFirst: boolean): LiveCause {
  if (isFirst) return {cause: 'added'};
  if (change === null) return {cause: 'schema'};
  return {cause: 'written', sequence: change.sequence, table: change.table.name, id: change.id};
}
