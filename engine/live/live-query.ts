/**
 * One live query and its result, kept up to date from the documents that commits write.
 *
 * Invariants
 * - `#entries` are the first matching documents in the query's order: all of them while `#isComplete`, else at least as
 *   many as are shown. A removal that leaves fewer makes the query `stale`: it must run again.
 * - At most `#limit + #reserve` are kept; entries beyond that are dropped, and the result is not complete from then on.
 * - `#docs` and `#entryBytes` are those of `#entries`.
 * - `text` is the JSON array of the first `#limit` entries, as last formatted.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {tooLarge} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import type {Side} from '../commit/commit.ts';
import {LIVE_RESERVE_DOCUMENTS} from '../limits.ts';
import {compileFilters, matches, type Predicate} from '../reads/filter.ts';
import {find} from '../reads/find.ts';
import {type Order, orderKey, orderOf} from '../reads/order.ts';
import {NO_KEY, type Position} from '../reads/position.ts';
import type {ReadBudget} from '../reads/read-budget.ts';
import type {LiveBatch, LiveScan} from '../reads/scan-message.ts';
import {type Show, showOf} from '../reads/select.ts';
import {type ParsedDocument, parseDocument} from '../storage/document.ts';
import type {DocumentRow, QueryReader} from '../storage/rows.ts';
import type {FieldRange} from './live-index.ts';
import type {LiveResult} from './live-result.ts';
import {type QueryRange, rangesOf} from './query-ranges.ts';

/** `bytes`: size of the document in the result, with its comma. `created`: its creation time, epoch milliseconds. */
type Entry = Pick<Position, 'key' | 'doc'> & {created: number; text: string; bytes: number};

export class LiveQuery implements LiveResult {
  readonly query: LiveQueryObject;
  readonly #ranges: readonly QueryRange[];
  readonly #matches: Predicate;
  readonly #limit: number;
  readonly #sign: number;
  readonly #order: Order;
  readonly #show: Show;
  #reserve = 0;
  #entries: Entry[] = [];
  #isComplete = true;
  readonly #docs = new Set<number>();
  /** Bytes of all entries, including those beyond the limit. */
  #entryBytes = 0;
  #text = '[]';
  /** Entries differ from `text`. */
  #changed = false;
  #stale = false;

  /** @throws op.invalid_input 400 */
  constructor(query: LiveQueryObject) {
    this.query = query;
    const filters = compileFilters(query.filters);
    this.#matches = matches(filters);
    this.#order = orderOf(query, filters);
    this.#show = showOf(query);
    this.#ranges = rangesOf(query, filters, this.#order);
    this.#limit = query.limit ?? Number.POSITIVE_INFINITY;
    this.#sign = this.#order.reverse ? -1 : 1;
  }

  get isTouched(): boolean {
    return this.#changed || this.#stale;
  }

  get isStale(): boolean {
    return this.#stale;
  }

  get text(): string {
    return this.#text;
  }

  get bytes(): number {
    return this.#text.length + this.#entryBytes;
  }

  get whole(): FieldRange[] {
    return this.#upTo(null);
  }

  /** The range of a result that is cut, up to its last entry. */
  get watched(): FieldRange[] {
    return this.#upTo((this.#isComplete ? undefined : this.#entries.at(-1)) ?? null);
  }

  #upTo(last: Entry | null): FieldRange[] {
    return this.#ranges.flatMap(range => {
      const end =
        last === null || range.endsBy === null
          ? null
          : range.endsBy === 'creation'
            ? encodeKey([last.created])
            : last.key;
      return range.upTo(end) ?? [];
    });
  }

  run(reader: QueryReader, readBudget?: ReadBudget): void {
    const {rows} = find(reader, this.query, this.#limit, null, readBudget);
    this.#begin(0);
    for (const row of rows) this.#append(this.#entryOf(row, null));
    this.#isComplete = rows.length < this.#limit;
  }

  scan(): LiveScan {
    const most = Number.isFinite(this.#limit) ? this.#limit : null;
    this.#begin(most === null ? 0 : LIVE_RESERVE_DOCUMENTS);
    return {kind: 'live', query: this.query, most, reserve: this.#reserve};
  }

  take({docs, created, texts, bytes, keys, keyEnds}: LiveBatch): void {
    const all = Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
    for (const [i, doc] of docs.entries()) {
      const key = this.#order.fields.length === 0 ? NO_KEY : all.subarray(i === 0 ? 0 : keyEnds[i - 1]!, keyEnds[i]!);
      this.#append({key, doc, created: created[i]!, text: texts[i]!, bytes: bytes[i]! + 1});
    }
  }

  taken(isComplete: boolean): void {
    this.#isComplete = isComplete;
    assert(isComplete || this.#entries.length >= this.#limit, 'a result that is not complete is long enough');
  }

  write(doc: number, after: Side | null): void {
    if (this.#stale) return;
    if (this.#docs.has(doc)) this.#remove(doc);
    if (after !== null && this.#matches(after.document)) this.#add(this.#entryOf(after.row, after.document));
    this.#stale = !this.#isComplete && this.#entries.length < this.#limit;
  }

  refresh(reader: QueryReader, readBudget?: ReadBudget): string | null {
    if (this.#stale) this.run(reader, readBudget);
    if (!this.#changed) return null;
    this.#changed = false;
    const shown = this.#entries.length > this.#limit ? this.#entries.slice(0, this.#limit) : this.#entries;
    if (shown.reduce((sum, {bytes}) => sum + bytes, 0) > RESULT_BYTES_MAX) {
      throw tooLarge(`the result of a live query takes more than ${RESULT_BYTES_MAX} bytes; set a limit`);
    }
    assert(shown.length <= this.#limit, 'no more is shown than was asked for');
    const text = `[${shown.map(entry => entry.text).join(',')}]`;
    if (text === this.#text) return null;
    this.#text = text;
    return text;
  }

  #begin(reserve: number): void {
    this.#reserve = reserve;
    this.#entries = [];
    this.#docs.clear();
    this.#entryBytes = 0;
    this.#changed = true;
    this.#stale = false;
  }

  #append(entry: Entry): void {
    this.#entries.push(entry);
    this.#keep(entry);
  }

  /** A row with its position in the query's order. */
  #entryOf(row: DocumentRow, parsed: ParsedDocument | null): Entry {
    const isOrdered = this.#order.fields.length > 0;
    const key = isOrdered ? orderKey(this.#order, parsed ?? parseDocument(row)) : NO_KEY;
    const text = this.#show(row, parsed);
    return {key, doc: row.doc, created: row.created, text, bytes: Buffer.byteLength(text) + 1};
  }

  #add(entry: Entry): void {
    assert(!this.#docs.has(entry.doc), `document ${entry.doc} is not among the entries`);
    const at = this.#placeOf(entry);
    // Behind all known entries: unknown documents may come before it.
    if (at === this.#entries.length && !this.#isComplete) return;
    this.#entries.splice(at, 0, entry);
    this.#keep(entry);
    if (at < this.#limit) this.#changed = true;
    if (this.#entries.length <= this.#limit + this.#reserve) return;
    this.#forget(this.#entries.pop()!);
    this.#isComplete = false;
  }

  #remove(doc: number): void {
    const at = this.#entries.findIndex(entry => entry.doc === doc);
    assert(at >= 0, `document ${doc} is among the entries`);
    this.#forget(this.#entries.splice(at, 1)[0]!);
    if (at < this.#limit) this.#changed = true;
  }

  #keep({doc, bytes}: Entry): void {
    this.#docs.add(doc);
    this.#entryBytes += bytes;
  }

  #forget({doc, bytes}: Entry): void {
    this.#docs.delete(doc);
    this.#entryBytes -= bytes;
  }

  /** The index among the entries at which a position belongs. */
  #placeOf(position: Pick<Position, 'key' | 'doc'>): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle]!;
      const order = this.#sign * (Buffer.compare(entry.key, position.key) || entry.doc - position.doc);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
