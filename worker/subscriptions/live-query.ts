/**
 * One live query and its result, kept up to date from the documents that commits write.
 *
 * Invariants
 * - `#entries` are the first `limit` matching documents in the query's order; fewer than `limit` only when no more match.
 *   So a document that joins a full window pushes the last one out, and one that leaves a full window makes room for a
 *   document that is not known here: then the query is run again (`stale`).
 * - `text` is the JSON array of exactly these entries as they were last shown.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {RESULT_BYTES_MAX} from '../../shared/limits.ts';
import type {QueryObject} from '../../shared/protocol/queries.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import type {Value} from '../../shared/values/value.ts';
import {documentText, parseDocument} from '../documents/document.ts';
import type {Position} from '../queries/cursor.ts';
import {compileFilters, type Filter, matches, type Predicate} from '../queries/filter.ts';
import {type FieldPath, valueAt} from '../queries/paths.ts';
import {orderOf} from '../queries/plan.ts';
import type {DocumentRow, QueryReader} from '../queries/reader.ts';
import {find} from '../queries/run.ts';

/** A document with its system fields, parsed. */
export type ParsedDocument = Readonly<Record<string, Value>>;

const NO_KEY = Buffer.alloc(0);

/** `bytes`: what the document takes in the result, with its comma. */
type Entry = Position & {text: string; bytes: number};

export class LiveQuery {
  readonly query: QueryObject;
  readonly filters: readonly Filter[];
  readonly #matches: Predicate;
  readonly #limit: number;
  readonly #sign: number;
  #path: FieldPath | null = null;
  #entries: Entry[] = [];
  readonly #docs = new Set<number>();
  #bytes = 0;
  #text = '[]';
  /** Entries differ from what `text` shows. */
  #changed = false;
  #stale = false;

  /** @throws op.invalid_input 400 */
  constructor(query: QueryObject) {
    this.query = query;
    this.filters = compileFilters(query.filters);
    this.#matches = matches(this.filters);
    this.#limit = query.limit ?? Number.POSITIVE_INFINITY;
    this.#sign = orderOf(query).reverse ? -1 : 1;
  }

  /** The writes since the last refresh concerned the result, or may have. */
  get isTouched(): boolean {
    return this.#changed || this.#stale;
  }

  get text(): string {
    return this.#text;
  }

  /** Runs the query. @throws op.invalid_input 400, op.too_large 413 */
  run(reader: QueryReader): void {
    const {rows, path} = find(reader, this.query, this.#limit, null);
    this.#path = path;
    this.#entries = rows.map(row => this.#entryOf(row, null));
    this.#docs.clear();
    this.#bytes = 0;
    for (const {doc, bytes} of this.#entries) {
      this.#docs.add(doc);
      this.#bytes += bytes;
    }
    this.#changed = true;
    this.#stale = false;
  }

  /** Takes in one written document. `after` null: it was deleted. */
  write(doc: number, after: {row: DocumentRow; parsed: ParsedDocument} | null): void {
    if (this.#stale) return;
    const wasFull = this.#entries.length === this.#limit;
    const wasIn = this.#docs.has(doc);
    if (wasIn) this.#remove(doc);
    if (after === null || !this.#matches(after.parsed)) {
      this.#stale = wasIn && wasFull;
      return;
    }
    const entry = this.#entryOf(after.row, after.parsed);
    const at = this.#placeOf(entry);
    if (wasFull && at === this.#entries.length) {
      // Behind all that is known: outside of a full window, or at the place of a document that may now be another one.
      this.#stale = wasIn;
      return;
    }
    this.#insert(at, entry);
    if (this.#entries.length > this.#limit) this.#remove(this.#entries.at(-1)!.doc);
  }

  /**
   * The new text after the writes of a commit, or null when the result is equal.
   * @throws op.too_large 413 when it has outgrown RESULT_BYTES_MAX
   */
  refresh(reader: QueryReader): string | null {
    if (this.#stale) this.run(reader);
    if (!this.#changed) return null;
    this.#changed = false;
    if (this.#bytes > RESULT_BYTES_MAX) {
      throw new ServiceError(
        'op.too_large',
        `the result of a live query takes more than ${RESULT_BYTES_MAX} bytes; set a limit`,
      );
    }
    const text = `[${this.#entries.map(entry => entry.text).join(',')}]`;
    if (text === this.#text) return null;
    this.#text = text;
    return text;
  }

  /** A row with where it stands in the query's order. */
  #entryOf(row: DocumentRow, parsed: ParsedDocument | null): Entry {
    const path = this.#path;
    const key = path === null ? NO_KEY : encodeKey([valueAt(parsed ?? parseDocument(row), path)]);
    const text = documentText(row);
    return {key, doc: row.doc, text, bytes: Buffer.byteLength(text) + 1};
  }

  #insert(at: number, entry: Entry): void {
    this.#entries.splice(at, 0, entry);
    this.#docs.add(entry.doc);
    this.#bytes += entry.bytes;
    this.#changed = true;
  }

  #remove(doc: number): void {
    const at = this.#entries.findIndex(entry => entry.doc === doc);
    assert(at >= 0, `document ${doc} is among the entries`);
    this.#bytes -= this.#entries[at]!.bytes;
    this.#entries.splice(at, 1);
    this.#docs.delete(doc);
    this.#changed = true;
  }

  /** Where a position belongs among the entries. */
  #placeOf(position: Position): number {
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
