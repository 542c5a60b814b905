/**
 * The number of documents that match a live query, kept up to date from commits. The numbers of matching documents are
 * stored as bits, so a document added twice counts once, and removing one that did not match changes nothing.
 */
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import type {Side} from '../commit/commit.ts';
import {eachMatch} from '../reads/count.ts';
import {compileFilters, matches, type Predicate} from '../reads/filter.ts';
import {orderOf} from '../reads/order.ts';
import {type ReadBudget, UNHURRIED} from '../reads/read-budget.ts';
import type {LiveBatch, LiveScan} from '../reads/scan-message.ts';
import {showOf} from '../reads/select.ts';
import type {QueryReader} from '../storage/rows.ts';
import {DocumentSet} from './document-set.ts';
import type {FieldRange} from './live-index.ts';
import type {LiveResult} from './live-result.ts';
import {rangesOf} from './query-ranges.ts';

export class LiveCount implements LiveResult {
  readonly query: LiveQueryObject;
  /** A count has no entries that could run out, so no position is behind its end. */
  readonly isStale = false;
  readonly #matches: Predicate;
  readonly #ranges: readonly FieldRange[];
  readonly #docs = new DocumentSet();
  #isTouched = false;
  #text = '{"count":0}';

  /** @throws op.invalid_input 400 */
  constructor(query: LiveQueryObject) {
    this.query = query;
    const filters = compileFilters(query.filters);
    this.#matches = matches(filters);
    orderOf(query, filters); // an invalid order or selection is refused here as well
    showOf(query);
    // All matching documents: a limit bounds the count, not the documents that are tracked.
    const {limit: _, order: __, ...all} = query;
    this.#ranges = rangesOf(all, filters, {fields: [], reverse: false}).flatMap(one => one.upTo(null) ?? []);
  }

  get isTouched(): boolean {
    return this.#isTouched;
  }

  get text(): string {
    return this.#text;
  }

  get bytes(): number {
    return this.#text.length + this.#docs.bytes;
  }

  get whole(): readonly FieldRange[] {
    return this.#ranges;
  }

  get watched(): readonly FieldRange[] {
    return this.#ranges;
  }

  run(reader: QueryReader, readBudget: ReadBudget = UNHURRIED): void {
    this.#docs.clear();
    this.#isTouched = true;
    eachMatch(reader, this.query, readBudget, doc => this.#docs.add(doc));
  }

  scan(): LiveScan {
    this.#docs.clear();
    this.#isTouched = true;
    return {kind: 'live', query: this.query, most: null, reserve: 0};
  }

  take({docs}: LiveBatch): void {
    for (const doc of docs) this.#docs.add(doc);
  }

  taken(): void {
    this.#isTouched = true;
  }

  write(doc: number, after: Side | null): void {
    const before = this.#docs.size;
    if (after !== null && this.#matches(after.document)) this.#docs.add(doc);
    else this.#docs.delete(doc);
    this.#isTouched ||= this.#docs.size !== before;
  }

  refresh(): string | null {
    if (!this.#isTouched) return null;
    this.#isTouched = false;
    const text = `{"count":${Math.min(this.#docs.size, this.query.limit ?? Number.POSITIVE_INFINITY)}}`;
    if (text === this.#text) return null;
    this.#text = text;
    return text;
  }
}
