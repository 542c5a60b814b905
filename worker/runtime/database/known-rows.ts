/**
 * Documents that the running mutation has read or written, as they are now. A document that it gets and then patches is
 * read from the file once: a read costs as much as the rest of a call of the host. Nothing else writes while a mutation
 * runs, so a row stays right until the mutation itself changes it.
 */
import type {DocumentRow} from '../../../engine/storage/rows.ts';
import {KNOWN_ROW_CHARS_MAX, KNOWN_ROWS_MAX} from '../limits.ts';

export class KnownRows {
  readonly #rows = new Map<string, DocumentRow>();

  get(id: string): DocumentRow | undefined {
    return this.#rows.get(id);
  }

  /** It was read or written just now. */
  set(row: DocumentRow): void {
    if (row.body.length > KNOWN_ROW_CHARS_MAX) {
      this.#rows.delete(row.id);
      return;
    }
    // A loop uses each row soon after it has read it, so it loses little.
    if (this.#rows.size >= KNOWN_ROWS_MAX && !this.#rows.has(row.id)) this.#rows.clear();
    this.#rows.set(row.id, row);
  }

  delete(id: string): void {
    this.#rows.delete(id);
  }

  clear(): void {
    this.#rows.clear();
  }
}
