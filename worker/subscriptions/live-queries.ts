/**
 * All live queries of the tenant. Equal queries are one, however many routers hold them. After each commit, and before its
 * replies leave, the written documents are matched, the results they change are serialized once, and handed to the routers
 * that hold them, closed by an end mark: so what a router shows is always one committed moment, and whoever was told that
 * a write succeeded finds it in every result from then on.
 */
import {hash} from 'node:crypto';
import {ServiceError} from '../../shared/errors.ts';
import {LIVE_QUERIES_MAX, LIVE_RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import type {Change} from '../commit/writer.ts';
import {parseDocument} from '../documents/document.ts';
import type {WorkerMetrics} from '../metrics.ts';
import {shapeText} from '../queries/shape.ts';
import type {Reader} from '../storage/reader.ts';
import {LiveQuery} from './live-query.ts';
import {emplace, MatchIndex} from './match.ts';

/** A router that holds live queries under stream ids of its own. */
export interface LiveHolder {
  live(stream: number, text: string): void;
  liveFailed(stream: number, error: ServiceError): void;
  liveEnd(sequence: number): void;
}

type Held = {live: LiveQuery; key: string; holders: Map<LiveHolder, Set<number>>};

export class LiveQueries {
  readonly #reader: Reader;
  readonly #metrics: WorkerMetrics;
  readonly #sequence: () => number;
  readonly #byKey = new Map<string, Held>();
  readonly #byLive = new Map<LiveQuery, Held>();
  readonly #byHolder = new Map<LiveHolder, Map<number, Held>>();
  readonly #index = new MatchIndex();
  #chars = 0;

  /** @param sequence the newest committed one */
  constructor(reader: Reader, metrics: WorkerMetrics, sequence: () => number) {
    this.#reader = reader;
    this.#metrics = metrics;
    this.#sequence = sequence;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Sends the current result, and from now on every new one. A query that cannot be is answered with its error. */
  subscribe(holder: LiveHolder, stream: number, query: QueryObject): void {
    try {
      const held = this.#hold(query);
      emplace(held.holders, holder, () => new Set<number>()).add(stream);
      emplace(this.#byHolder, holder, () => new Map<number, Held>()).set(stream, held);
      holder.live(stream, held.live.text);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      holder.liveFailed(stream, caught);
    }
    holder.liveEnd(this.#sequence());
  }

  unsubscribe(holder: LiveHolder, stream: number): void {
    const held = this.#byHolder.get(holder)?.get(stream);
    if (held === undefined) return; // it failed while the frame was under way
    this.#byHolder.get(holder)!.delete(stream);
    const streams = held.holders.get(holder)!;
    streams.delete(stream);
    if (streams.size === 0) held.holders.delete(holder);
    if (held.holders.size === 0) this.#drop(held);
  }

  /** The router is gone. */
  release(holder: LiveHolder): void {
    for (const stream of [...(this.#byHolder.get(holder)?.keys() ?? [])]) this.unsubscribe(holder, stream);
    this.#byHolder.delete(holder);
  }

  /** The changes of one commit, in order. */
  committed(changes: readonly Change[]): void {
    const touched = new Set<LiveQuery>();
    for (const change of changes) {
      if (this.#index.isUnwatched(change.table)) continue;
      if (change.isDamaged) {
        // Nobody knows what it was: whoever shows it, under whatever value, shows it no longer.
        for (const live of this.#index.allOf(change.table)) {
          live.write(change.doc, null);
          touched.add(live);
        }
        continue;
      }
      const before = change.before === null ? null : parseDocument(change.before);
      const after = change.after === null ? null : {row: change.after, parsed: parseDocument(change.after)};
      for (const live of this.#index.candidates(change.table, before, after?.parsed ?? null)) {
        live.write(change.doc, after);
        touched.add(live);
      }
    }
    if (touched.size > 0) this.#publish(touched);
  }

  #publish(touched: ReadonlySet<LiveQuery>): void {
    const told = new Set<LiveHolder>();
    this.#reader.inSnapshot();
    for (const live of touched) {
      const held = this.#byLive.get(live)!;
      const before = live.text.length;
      try {
        const isMatched = live.isTouched;
        const text = live.refresh(this.#reader);
        this.#metrics.evaluated(text !== null ? 'changed' : isMatched ? 'equal' : 'unmatched');
        if (text === null) continue;
        this.#chars += text.length - before;
        for (const [holder, streams] of held.holders) {
          for (const stream of streams) holder.live(stream, text);
          told.add(holder);
        }
      } catch (caught) {
        // Anything else is a bug or a broken file, and ends the worker.
        if (!(caught instanceof ServiceError)) throw caught;
        this.#end(held, caught, told);
      }
    }
    this.#reader.endTurn();
    for (const holder of told) holder.liveEnd(this.#sequence());
  }

  /** A live query that cannot go on is ended for everyone who holds it. */
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

  #hold(query: QueryObject): Held {
    // Long texts of one length are slow keys: engines hash them by their length alone.
    const key = hash('sha256', shapeText(query), 'base64');
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size >= LIVE_QUERIES_MAX || this.#chars >= LIVE_RESULT_BYTES_MAX) {
      throw new ServiceError('session.overloaded', 'this tenant holds as many live queries as it may');
    }
    const live = new LiveQuery(query);
    this.#reader.inSnapshot();
    live.run(this.#reader);
    live.refresh(this.#reader);
    const held: Held = {live, key, holders: new Map()};
    this.#byKey.set(key, held);
    this.#byLive.set(live, held);
    this.#index.add(live);
    this.#chars += live.text.length;
    return held;
  }

  #drop(held: Held): void {
    this.#byKey.delete(held.key);
    this.#byLive.delete(held.live);
    this.#index.remove(held.live);
    this.#chars -= held.live.text.length;
  }
}
