/**
 * Committed rows by document number and by id, so that repeated gets and index reads need no look-up per document. It
 * has two generations: a row that is used moves to the young one; when that is full the old one is dropped. So it is
 * bounded, and a scan that uses each row once evicts at most the rows that were not used recently.
 *
 * The commit pipeline adds every row it wrote and removes every row it deleted, after the commit and before the next
 * read: the cache matches the next snapshot.
 */
import {assert} from '../../shared/assert.ts';
import {ROW_CACHE_CHARS_MAX, ROW_CACHE_MISSES_MAX, ROW_CACHE_ROW_CHARS_MAX, ROW_CACHE_TRY_EACH} from '../limits.ts';
import type {DocumentRow} from './rows.ts';

/** Memory of a row in addition to its body, in characters. */
const ROW_OVERHEAD_CHARS = 200;

/** A row is in both maps or in neither. */
class Generation {
  readonly byDoc = new Map<number, DocumentRow>();
  readonly byId = new Map<string, DocumentRow>();
  chars = 0;

  add(row: DocumentRow): void {
    this.byDoc.set(row.doc, row);
    this.byId.set(row.id, row);
    this.chars += row.body.length + ROW_OVERHEAD_CHARS;
  }

  /** @returns whether the row was in this generation */
  delete(doc: number): boolean {
    const row = this.byDoc.get(doc);
    if (row === undefined) return false;
    this.byDoc.delete(doc);
    return this.byId.delete(row.id);
  }
}

export class RowCache {
  #young = new Generation();
  #old = new Generation();
  /** Calls of `all` in a row that found a row missing. */
  #misses = 0;
  /** Reads that did not look here. */
  #skipped = 0;

  get(doc: number): DocumentRow | undefined {
    return this.#young.byDoc.get(doc) ?? this.#usedAgain(this.#old.byDoc.get(doc));
  }

  withId(id: string): DocumentRow | undefined {
    return this.#young.byId.get(id) ?? this.#usedAgain(this.#old.byId.get(id));
  }

  /**
   * Whether a read of several rows looks here first, and adds what it has read. To find out that one is missing costs as
   * much as half of the read, so most do not while more rows are read than fit.
   */
  isTried(): boolean {
    return this.#misses < ROW_CACHE_MISSES_MAX || ++this.#skipped % ROW_CACHE_TRY_EACH === 0;
  }

  /** The rows of all these numbers; null when one is not cached. */
  all(docs: readonly number[]): DocumentRow[] | null {
    const rows = this.#all(docs);
    this.#misses = rows === null ? this.#misses + 1 : 0;
    return rows;
  }

  #all(docs: readonly number[]): DocumentRow[] | null {
    const rows: DocumentRow[] = [];
    for (const doc of docs) {
      const row = this.get(doc);
      if (row === undefined) return null;
      assert(row.doc === doc, `document ${doc} is cached by its number`);
      rows.push(row);
    }
    return rows;
  }

  add(row: DocumentRow): void {
    if (row.body.length > ROW_CACHE_ROW_CHARS_MAX) return;
    if (this.#young.chars > ROW_CACHE_CHARS_MAX / 2) {
      this.#old = this.#young;
      this.#young = new Generation();
    }
    this.#young.add(row);
  }

  /**
   * A commit wrote this document (null: deleted it). Only rows already in the cache are updated, so a bulk import does
   * not fill it.
   */
  committed(doc: number, after: DocumentRow | null): void {
    assert(after === null || after.doc === doc, `document ${doc} is the one that was written`);
    const wasYoung = this.#young.delete(doc);
    const wasOld = this.#old.delete(doc);
    if (after !== null && (wasYoung || wasOld)) this.add(after);
  }

  #usedAgain(row: DocumentRow | undefined): DocumentRow | undefined {
    if (row !== undefined) this.add(row);
    return row;
  }
}
