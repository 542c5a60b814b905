/**
 * Checks the documents of one table against a new schema, in slices between which the tenant serves requests. Documents
 * written in the meantime are noted and checked last, inside the group that installs the schema. So no write is
 * blocked, and no document that violates the schema can slip in.
 */
import {performance} from 'node:perf_hooks';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {ServiceError} from '../../shared/errors.ts';
import type {CommitGroups} from '../commit/group.ts';
import type {Writer} from '../commit/writer.ts';
import {CHECK_LATE_DOCUMENTS_MAX, CHECK_ROWS_AT_ONCE, SCHEMA_OFFENDERS_SHOWN, SLICE_MS} from '../limits.ts';
import {type CatalogIndex, type CatalogTable, indexKey} from '../storage/catalog.ts';
import {parseFields} from '../storage/document.ts';
import type {Reader} from '../storage/reader.ts';
import type {DocumentRow} from '../storage/rows.ts';
import type {CompiledSchema, Violation} from '../storage/table-check.ts';
import {DuplicateCheck, type Offender} from './duplicate-check.ts';

export class DocumentCheck {
  readonly table: CatalogTable;
  readonly #reader: Reader;
  readonly #groups: CommitGroups;
  readonly #compiled: CompiledSchema;
  readonly #probes: readonly CatalogIndex[];
  /** Documents written since the check began. */
  readonly #written = new Set<number>();
  /** For new unique indexes. */
  readonly #duplicates: DuplicateCheck;
  /** Number of documents at the start. */
  documents = 0;

  /** @param probes new indexes: a value too long for one would make its back-fill fail later */
  constructor(
    table: CatalogTable,
    reader: Reader,
    groups: CommitGroups,
    compiled: CompiledSchema,
    probes: readonly CatalogIndex[],
  ) {
    this.table = table;
    this.#groups = groups;
    this.#reader = reader;
    this.#compiled = compiled;
    this.#probes = probes;
    this.#duplicates = new DuplicateCheck(probes);
    table.watchers.add(this.#written);
  }

  /** Call it at the end in any case. */
  stop(): void {
    this.table.watchers.delete(this.#written);
  }

  /**
   * Checks the existing documents and most of those written in the meantime. @returns the first offenders; empty: none
   * so far
   */
  async run(): Promise<Offender[]> {
    await this.#groups.settled(); // then reads see every earlier write
    const found = await this.#checkAll();
    return found.length > 0 ? found : await this.catchUp();
  }

  /** Checks documents written in the meantime until so few are left that the installing group can check them. */
  async catchUp(): Promise<Offender[]> {
    while (this.#written.size > CHECK_LATE_DOCUMENTS_MAX) {
      const some = [...this.#written].slice(0, CHECK_ROWS_AT_ONCE);
      for (const doc of some) this.#written.delete(doc);
      await this.#groups.settled();
      this.#reader.inSnapshot();
      for (const doc of some) {
        const found = this.#offenders(this.#reader.documents(doc, doc, false, 1));
        if (found.length > 0) return found;
      }
      await nextTurn();
    }
    return [];
  }

  /** Checks the remaining ones, inside the group that installs the schema. */
  late(writer: Writer): Offender[] {
    const found: Offender[] = [];
    for (const doc of this.#written) {
      const row = writer.documentByDoc(doc);
      if (row !== undefined) found.push(...this.#offenders([row]));
    }
    return found;
  }

  async #checkAll(): Promise<Offender[]> {
    let from = this.table.info.lowDoc;
    const found: Offender[] = [];
    for (;;) {
      const sliceEnds = performance.now() + SLICE_MS;
      do {
        this.#reader.inSnapshot();
        const rows = this.#reader.documents(from, this.table.info.highDoc, false, CHECK_ROWS_AT_ONCE);
        const violating = this.#offenders(rows);
        // Values that are too long have no key.
        found.push(...violating, ...(violating.length > 0 ? [] : this.#duplicates.offenders(rows, this.#reader)));
        this.documents += rows.length;
        if (rows.length < CHECK_ROWS_AT_ONCE || found.length >= SCHEMA_OFFENDERS_SHOWN) return found;
        from = rows.at(-1)!.doc + 1;
      } while (performance.now() < sliceEnds);
      await nextTurn();
    }
  }

  #offenders(rows: readonly DocumentRow[]): Offender[] {
    const found: Offender[] = [];
    for (const row of rows) {
      const fields = parseFields(row);
      const violation = this.#compiled(fields) ?? longKey(fields, this.#probes);
      if (violation !== null) found.push({id: row.id, ...violation});
    }
    return found;
  }
}

function longKey(fields: ReturnType<typeof parseFields>, probes: readonly CatalogIndex[]): Violation | null {
  for (const index of probes) {
    try {
      indexKey(index, fields);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      return {field: index.fields.join(', '), expected: `short enough for index ${index.name}`, found: caught.message};
    }
  }
  return null;
}

export function shownViolation(violation: Violation): string {
  if ('message' in violation) return violation.message;
  const {field, expected, found} = violation;
  return `field ${JSON.stringify(field)} must be ${expected}, found ${found}`;
}
