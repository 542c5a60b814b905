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
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import type {Change, Commit, Stage} from '../commit/commit.ts';
import {LIVE_QUERIES_MAX, LIVE_RESULT_BYTES_MAX} from '../limits.ts';
import {HAND_OVER, InlineBudget, InlinePace} from '../reads/pace.ts';
import type {LiveScans} from '../reads/scan-pool.ts';
import {shapeText} from '../reads/shape.ts';
import type {Reader} from '../storage/reader.ts';
import type {TableInfo} from '../storage/rows.ts';
import {Evaluation} from './evaluation.ts';
import {LiveCount} from './live-count.ts';
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
class Held implements Watcher {
  readonly live: LiveResult;
  /** Bytes of its result, as last added to the total. */
  bytes = 0;
  readonly key: string;
  readonly holders = new Map<LiveHolder, Set<number>>();
  /** Null: its result is that of the newest commit. */
  evaluation: Evaluation | null = null;
  watch: Watch | null = null;
  /** Its table was renamed, or another table got its name: its documents must be found again. */
  isLost = false;
  readonly #touched: Set<Held>;

  /** @param touched it adds itself here when a commit can affect its result */
  constructor(query: LiveQueryObject, key: string, touched: Set<Held>) {
    this.live = query.count === true ? new LiveCount(query) : new LiveQuery(query);
    this.key = key;
    this.#touched = touched;
  }

  wrote({doc, after}: Change): void {
    if (this.evaluation !== null) this.evaluation.wrote(doc);
    else {
      this.live.write(doc, after);
      this.#touched.add(this);
    }
  }
}

export class LiveQueries implements Stage {
  readonly #parts: LiveParts;
  readonly #byKey = new Map<string, Held>();
  readonly dependents: {readonly size: number} = this.#byKey;
  readonly #byHolder = new Map<LiveHolder, Map<number, Held>>();
  /** Queries that the current commit can affect. */
  readonly #touched = new Set<Held>();
  readonly #bytesMax: number;
  #bytes = 0;
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

  /** Sends the current result, now or when it is ready, and every new one from then on; or the reason for a refusal. */
  subscribe(holder: LiveHolder, stream: number, query: LiveQueryObject): void {
    try {
      const held = this.#hold(query);
      emplace(held.holders, holder, () => new Set<number>()).add(stream);
      emplace(this.#byHolder, holder, () => new Map<number, Held>()).set(stream, held);
      if (held.evaluation !== null) return;
      holder.live(stream, held.live.text);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      holder.liveFailed(stream, caught);
    }
    holder.liveEnd(this.#parts.sequence());
  }

  unsubscribe(holder: LiveHolder, stream: number): void {
    const held = this.#byHolder.get(holder)?.get(stream);
    if (held === undefined) return; // it failed while the frame was in transit
    this.#byHolder.get(holder)!.delete(stream);
    const streams = held.holders.get(holder)!;
    streams.delete(stream);
    if (streams.size === 0) held.holders.delete(holder);
    if (held.holders.size === 0) this.#drop(held);
  }

  /** The router has disconnected. */
  release(holder: LiveHolder): void {
    for (const stream of [...(this.#byHolder.get(holder)?.keys() ?? [])]) this.unsubscribe(holder, stream);
    this.#byHolder.delete(holder);
  }

  /** The index has already passed the commit's documents to the queries, in order. */
  committed({hasNewCatalog, events}: Pick<Commit, 'hasNewCatalog' | 'events'>): void {
    if (hasNewCatalog) for (const {event} of events.filter(isRenaming)) this.#renamed(event as TableRenamed);
    if (this.#touched.size === 0) return;
    const touched = [...this.#touched];
    this.#touched.clear();
    this.#publish(touched);
  }

  #renamed({table, to}: TableRenamed): void {
    for (const held of this.#byKey.values()) {
      const of = held.live.query.table;
      if (of !== table && of !== to) continue;
      held.evaluation?.giveUp();
      held.evaluation = null;
      held.isLost = true;
      this.#touched.add(held);
    }
  }

  #publish(touched: readonly Held[]): void {
    const {reader, metrics} = this.#parts;
    const told = new Set<LiveHolder>();
    // One budget for all: a commit that makes many queries run again must not wait for all of them.
    const budget = new InlineBudget();
    reader.inSnapshot();
    for (const held of touched) {
      const {live, isLost} = held;
      try {
        const isMatched = live.isTouched;
        const text = this.#refreshed(held, budget);
        const result = text !== null ? 'changed' : isMatched ? 'equal' : 'unmatched';
        metrics.count('svc_live_evaluations_total', {result});
        // A query that was behind, or has no result yet, is sent in any case.
        if (text !== null || isLost) this.#send(held, told);
      } catch (caught) {
        if (caught === HAND_OVER) this.#fallBehind(held);
        // Anything else is a bug or a broken file, and ends the worker.
        else if (caught instanceof ServiceError) this.#end(held, caught, told);
        else throw caught;
      }
    }
    this.#endBatch(told);
  }

  #refreshed(held: Held, budget?: InlineBudget): string | null {
    const {reader, count} = this.#parts;
    const {live, isLost} = held;
    const isStale = live.isStale || isLost;
    const pace = isStale ? new InlinePace(count, budget) : undefined;
    held.isLost = false;
    if (isLost) live.run(reader, pace);
    const text = live.refresh(reader, pace);
    if (isStale) this.#watch(held, live.watched);
    const hasGrown = live.bytes > held.bytes;
    this.#addUp(held, live.bytes);
    // The query that exceeds the limit is ended; the others stay.
    if (hasGrown && this.#bytes > this.#bytesMax) throw tooMuch();
    return text;
  }

  /** Watches the ranges of its current and future entries. */
  #watch(held: Held, ranges: readonly FieldRange[]): void {
    held.watch?.end();
    held.watch = this.#parts.index.watchValues(held, held.live.query.table, ranges);
  }

  #send(held: Held, told: Set<LiveHolder>): void {
    for (const [holder, streams] of held.holders) {
      for (const stream of streams) holder.live(stream, held.live.text);
      told.add(holder);
    }
  }

  /* ── queries that read much ── */

  /** Runs before the replies of the commit leave: from here on the old result is not sent to new subscribers. */
  #fallBehind(held: Held): void {
    for (const [holder, streams] of held.holders) {
      for (const stream of streams) holder.liveBehind(stream);
    }
    this.#evaluate(held);
  }

  #evaluate(held: Held): void {
    const {reader, scans} = this.#parts;
    this.#watch(held, held.live.whole);
    held.evaluation = new Evaluation(held.live, reader, scans, {
      current: () => this.#current(held),
      failed: error => {
        const told = new Set<LiveHolder>();
        this.#end(held, error, told);
        this.#endBatch(told);
      },
    });
  }

  /**
   * The result is that of the newest commit. It is sent even if it is equal, because it was reported as behind, or is
   * the first.
   */
  #current(held: Held): void {
    held.evaluation = null;
    this.#watch(held, held.live.watched);
    const told = new Set<LiveHolder>();
    try {
      const text = this.#refreshed(held);
      this.#parts.metrics.count('svc_live_evaluations_total', {result: text === null ? 'equal' : 'changed'});
      this.#send(held, told);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#end(held, caught, told);
    }
    this.#endBatch(told);
  }

  #endBatch(told: ReadonlySet<LiveHolder>): void {
    for (const holder of told) holder.liveEnd(this.#parts.sequence());
  }

  /** Ends a live query that cannot continue, for all its subscribers. */
  #end(held: Held, error: ServiceError, told: Set<LiveHolder>): void {
    for (const [holder, streams] of held.holders) {
      for (const stream of streams) {
        holder.liveFailed(stream, error);
        this.#byHolder.get(holder)!.delete(stream);
      }
      told.add(holder);
    }
    this.#drop(held);
  }

  #hold(query: LiveQueryObject): Held {
    // Long texts of equal length are slow keys, because engines hash them by their length alone.
    const key = hash('sha256', shapeText(query), 'base64');
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size >= LIVE_QUERIES_MAX) {
      throw new ServiceError('session.overloaded', 'this tenant holds as many live queries as it may; try again later');
    }
    // Checked before the run, so that a client that is refused repeatedly does not cause reads.
    if (this.#bytes >= this.#bytesMax) throw tooMuch();
    const held = new Held(query, key, this.#touched);
    const isCurrent = this.#runInline(held.live);
    if (this.#bytes + held.live.bytes > this.#bytesMax) throw tooMuch();
    this.#byKey.set(key, held);
    this.#addUp(held, held.live.bytes);
    if (isCurrent) this.#watch(held, held.live.watched);
    else this.#evaluate(held);
    return held;
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
      live.run(reader, new InlinePace(count, this.#turnBudget));
      live.refresh(reader);
      return true;
    } catch (caught) {
      if (caught !== HAND_OVER) throw caught;
      return false;
    }
  }

  #drop(held: Held): void {
    held.evaluation?.giveUp();
    held.watch?.end();
    this.#byKey.delete(held.key);
    this.#addUp(held, 0);
  }

  #addUp(held: Held, bytes: number): void {
    this.#bytes += bytes - held.bytes;
    held.bytes = bytes;
    assert(this.#bytes >= 0, 'what live results take is counted once');
  }
}

function tooMuch(): ServiceError {
  return new ServiceError(
    'session.overloaded',
    'the results of live queries take as much of this tenant as they may; try again later, or set a limit',
  );
}

function isRenaming({type}: {type: JournalEvent['type']}): boolean {
  return type === 'table.renamed';
}
