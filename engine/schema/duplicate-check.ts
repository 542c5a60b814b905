/**
 * Finds documents with equal values in new unique indexes, before anything is changed. It checks only the first
 * documents of a table, which is all of most tables, because its memory is bounded. The build finds duplicates further
 * on.
 */
import type {Buffer} from 'node:buffer';
import {hash} from 'node:crypto';
import {ServiceError} from '../../shared/errors.ts';
import {hasValues} from '../commit/document-write.ts';
import {INDEX_BUILD_WAIT_DOCUMENTS} from '../limits.ts';
import {type CatalogIndex, indexKey} from '../storage/catalog.ts';
import {parseFields} from '../storage/document.ts';
import type {Reader} from '../storage/reader.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {Violation} from '../storage/table-check.ts';

/** A document that violates the new schema. */
export type Offender = Violation & {id: string};

/** Longer keys are stored as digests. */
const KEY_BYTES_KEPT = 64;

export class DuplicateCheck {
  readonly #indexes: readonly CatalogIndex[];
  /** Numbers of documents by key, for each index. */
  readonly #seen: readonly Map<string, number>[];
  #left = INDEX_BUILD_WAIT_DOCUMENTS;

  constructor(probes: readonly CatalogIndex[]) {
    this.#indexes = probes.filter(({isUnique}) => isUnique);
    this.#seen = this.#indexes.map(() => new Map());
  }

  /** @param rows the next ones, @param reader the one that read them */
  offenders(rows: readonly DocumentRow[], reader: Reader): Offender[] {
    if (this.#indexes.length === 0) return [];
    const found: Offender[] = [];
    for (const row of rows.slice(0, this.#left)) {
      const fields = parseFields(row);
      for (const [i, index] of this.#indexes.entries()) {
        if (!hasValues(index, fields)) continue;
        const key = indexKey(index, fields);
        const seen = this.#seen[i]!;
        const same = seen.get(short(key));
        seen.set(short(key), row.doc);
        // The document was read some slices ago, and may have changed.
        const [now] = same === undefined ? [] : reader.documents(same, same, false, 1);
        if (now !== undefined && hasKey(now, index, key)) found.push(offender(row, index, now.id));
      }
    }
    this.#left = Math.max(0, this.#left - rows.length);
    if (this.#left === 0) for (const seen of this.#seen) seen.clear();
    return found;
  }
}

function short(key: Buffer): string {
  return key.length <= KEY_BYTES_KEPT ? key.toString('latin1') : hash('sha512', key, 'base64');
}

function hasKey(row: DocumentRow, index: CatalogIndex, key: Buffer): boolean {
  try {
    return indexKey(index, parseFields(row)).equals(key);
  } catch (caught) {
    if (caught instanceof ServiceError) return false; // its values are too long for a key
    throw caught;
  }
}

function offender({id}: DocumentRow, {name, fields}: CatalogIndex, same: string): Offender {
  return {
    id,
    field: fields.join(', '),
    expected: `unique, as index ${name} says`,
    found: `the same as in document ${JSON.stringify(same)}`,
  };
}
