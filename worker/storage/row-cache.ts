/**
 * Committed rows by document number, so that an index read need not look up each document it names. Two generations: a row
 * that is used moves to the young one; when that is full the old one is forgotten. So it is bounded, and a scan that uses
 * each row once pushes out at most what was not used lately.
 *
 * The commit pipeline puts in every row it wrote and takes out every row it deleted, after the commit and before the next
 * read: what is here is what the next snapshot holds.
 */
import {assert} from '../../shared/assert.ts';
import {ROW_CACHE_CHARS_MAX, ROW_CACHE_ROW_CHARS_MAX} from '../../shared/limits.ts';
import type {DocumentRow} from './rows.ts';

/** What a row costs beside its body. */
const ROW_OVERHEAD_CHARS = 150;

export class RowCache {
  #young = new Map<number, DocumentRow>();
  #old = new Map<number, DocumentRow>();
  #youngChars = 0;

  get(doc: number): DocumentRow | undefined {
    const young = this.#young.get(doc);
    if (young !== undefined) return young;
    const old = this.#old.get(doc);
    if (old !== undefined) this.add(old);
    return old;
  }

  /** The rows of all these; null when one is not here. */
  all(docs: readonly number[]): DocumentRow[] | null {
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
    if (this.#youngChars > ROW_CACHE_CHARS_MAX / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngChars = 0;
    }
    this.#young.set(row.doc, row);
    this.#youngChars += row.body.length + ROW_OVERHEAD_CHARS;
  }

  /** A commit wrote this document (null: deleted it). Only rows that were in use are kept: a bulk import fills nothing. */
  committed(doc: number, after: DocumentRow | null): void {
    assert(after === null || after.doc === doc, `document ${doc} is the one that was written`);
    const wasYoung = this.#young.delete(doc);
    const wasOld = this.#old.delete(doc);
    if (after !== null && (wasYoung || wasOld)) this.add(after);
  }
}
