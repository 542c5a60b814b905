/**
 * One pass over all data of a tenant that can be verified, in steps of a few rows:
 *
 *   documents ──▶ entries ──▶ journal ──▶ rows ──▶ done
 *
 * - documents: the checksum; the index by id leads back to the document; every enabled index has its entry
 * - entries: each belongs to a document that has this key
 * - journal: each record matches its digest and the record before it
 * - rows: a small table has the expected number of rows, and they match their checksums
 *
 * So a hidden document, a stray entry and a broken record are found, whichever side is damaged. A step reads one
 * snapshot. Writes between two steps are correct by themselves, so the position is the only state.
 */
import {assert} from '../../shared/assert.ts';
import {FIRST_PREVIOUS_DIGEST} from '../../shared/journal-chain.ts';
import {recordDigest} from '../commit/record.ts';
import {ROWS_SUMMED_BY_SCRUB_MAX, ROWS_SUMMED_MAX} from '../limits.ts';
import {type Catalog, type CatalogIndex, type CatalogTable, indexKey} from '../storage/catalog.ts';
import {damagedDocument, isSound, type StoredRow} from '../storage/checksum.ts';
import type {Connection} from '../storage/connection.ts';
import type {Damage} from '../storage/damage.ts';
import {parseFields} from '../storage/document.ts';
import {type FilledKind, hasMissingChecksums, isFilled} from '../storage/missing-checksums.ts';
import {rowDamage} from '../storage/row-checksum.ts';
import {hasFewRows, indexesFinding, sumsFinding, unsoundRows} from '../storage/row-sums.ts';
import {DOCS_PER_TABLE, SUMMED_KINDS} from '../storage/tables.sql.ts';

const ROWS_AT_ONCE = 32;
const NO_KEY = Buffer.alloc(0);

/** The position of a pass, in its stored form. `key`: hex. */
export type ScrubPosition =
  | {phase: 'documents'; doc: number}
  | {phase: 'entries'; index: number; key: string; doc: number}
  | {phase: 'journal'; sequence: number}
  | {phase: 'rows'; kind: number}
  | {phase: 'done'};

export type ScrubFinding =
  /** Reads of it are refused; everything else is correct. */
  | {of: 'row'; damage: Damage}
  /** Queries by this index can return wrong results; it can be rebuilt from the documents. */
  | {of: 'index'; damage: Damage; table: CatalogTable; index: CatalogIndex}
  /** A document is not found by its id, or belongs to no table. */
  | {of: 'structure'; damage: Damage};

export type ScrubStep = {
  next: ScrubPosition;
  checked: number;
  findings: ScrubFinding[];
  /** Documents written before there were checksums. */
  unsummed: number[];
  /** A small table has such rows. */
  unsummedRows: FilledKind | null;
};

type Entry = StoredRow & {key: Buffer; entryDoc: number};
type JournalRow = {sequence: number; record: string; digest: string};

export class ScrubPass {
  readonly #db: Connection;
  readonly #catalog: Catalog;
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: Connection, catalog: Catalog) {
    this.#db = db;
    this.#catalog = catalog;
    this.#statements = prepare(db);
  }

  /** Whether the count of each table is right; reads all documents. */
  counts(): ScrubFinding[] {
    const findings: ScrubFinding[] = [];
    for (const {name, documents, countedTo, info} of this.#catalog.tables()) {
      const found = this.#statements.count.get(info.lowDoc, Math.min(countedTo, info.highDoc))!;
      if (found === documents) continue;
      const stored = `table ${name} had ${documents} documents, and ${found} are found`;
      findings.push({of: 'structure', damage: {check: 'rows', stored}});
    }
    return findings;
  }

  /** Checks the next few rows from here. All reads must see one snapshot. */
  step(from: ScrubPosition): ScrubStep {
    const step: ScrubStep = {next: from, checked: 0, findings: [], unsummed: [], unsummedRows: null};
    switch (from.phase) {
      case 'documents':
        this.#documents(from.doc, step);
        break;
      case 'entries':
        this.#entries(from, step);
        break;
      case 'journal':
        this.#journal(from.sequence, step);
        break;
      case 'rows':
        this.#rows(from.kind, step);
        break;
      case 'done':
        break;
    }
    return step;
  }

  #rows(number: number, step: ScrubStep): void {
    const kind = SUMMED_KINDS[number];
    if (kind === undefined) {
      step.next = {phase: 'done'};
      return;
    }
    step.next = {phase: 'rows', kind: number + 1};
    if (isFilled(kind) && hasMissingChecksums(this.#db, kind)) {
      step.unsummedRows = kind;
      step.next = {phase: 'rows', kind: number};
      return;
    }
    const finding =
      sumsFinding(this.#db, kind, ROWS_SUMMED_BY_SCRUB_MAX) ?? indexesFinding(this.#db, kind, ROWS_SUMMED_MAX);
    if (finding !== null) step.findings.push({of: 'structure', damage: {check: 'rows', stored: finding}});
    if (!hasFewRows(this.#db, kind, ROWS_SUMMED_MAX)) return;
    for (const row of unsoundRows(this.#db, kind)) step.findings.push({of: 'row', damage: rowDamage(kind, row)});
  }

  #documents(after: number, step: ScrubStep): void {
    const rows = this.#statements.documents.all(after, ROWS_AT_ONCE);
    for (const row of rows) this.#document(row, step);
    const last = rows.at(-1);
    assert(last === undefined || last.doc > after, 'documents are looked at in the order of their numbers');
    step.checked = rows.length;
    step.next =
      last === undefined ? {phase: 'entries', index: 0, key: '', doc: 0} : {phase: 'documents', doc: last.doc};
  }

  #document(row: StoredRow, step: ScrubStep): void {
    const damage = damagedDocument(row, this.#catalog);
    const table = this.#catalog.tableByNumber(Math.floor(row.doc / DOCS_PER_TABLE));
    const fields = isSound(row) ? fieldsOf(row) : null;
    if (fields === null) {
      step.findings.push({of: 'row', damage});
      return;
    }
    if (row.checksum === null) step.unsummed.push(row.doc);
    if (table === undefined || this.#statements.docOfId.get(row.id) !== row.doc) {
      step.findings.push({of: 'structure', damage: {...damage, check: 'id'}});
      return;
    }
    for (const index of table.indexes) {
      if (index.state !== 'enabled') continue;
      if (this.#statements.entry.get(index.number, indexKey(index, fields as never), row.doc) !== undefined) continue;
      step.findings.push({of: 'index', damage: {...damage, check: 'entry', index: index.name}, table, index});
    }
  }

  #entries({index: number, key, doc}: ScrubPosition & {phase: 'entries'}, step: ScrubStep): void {
    const found = this.#indexFrom(number);
    if (found === null) {
      const floor = this.#statements.floor.get() ?? 1;
      step.next = {phase: 'journal', sequence: floor - 1};
      return;
    }
    const {table, index} = found;
    const isSame = index.number === number;
    const after = isSame ? Buffer.from(key, 'hex') : NO_KEY;
    const entries = this.#statements.entries.all(index.number, after, isSame ? doc : -1, ROWS_AT_ONCE);
    for (const entry of entries) this.#entry(entry, table, index, step);
    const last = entries.at(-1);
    step.checked = entries.length;
    step.next =
      last === undefined
        ? {phase: 'entries', index: index.number + 1, key: '', doc: -1}
        : {phase: 'entries', index: index.number, key: last.key.toString('hex'), doc: last.entryDoc};
  }

  #entry(entry: Entry, table: CatalogTable, index: CatalogIndex, step: ScrubStep): void {
    const {entryDoc, key} = entry;
    const isOfTable = entryDoc >= table.info.lowDoc && entryDoc <= table.info.highDoc;
    const damage: Damage = {check: 'entry', table: table.name, index: index.name, document: entryDoc};
    if (!isOfTable || entry.id === null) {
      step.findings.push({of: 'index', damage, table, index});
      return;
    }
    const fields = isSound(entry) ? fieldsOf(entry) : null;
    if (fields === null) return; // reported with its document
    if (!indexKey(index, fields as never).equals(key)) {
      step.findings.push({of: 'index', damage: {...damage, id: entry.id}, table, index});
    }
  }

  /** The first enabled index with this number or a higher one. */
  #indexFrom(number: number): {table: CatalogTable; index: CatalogIndex} | null {
    let first: {table: CatalogTable; index: CatalogIndex} | null = null;
    for (const table of this.#catalog.tables()) {
      for (const index of table.indexes) {
        if (index.state !== 'enabled' || index.number < number) continue;
        if (first === null || index.number < first.index.number) first = {table, index};
      }
    }
    return first;
  }

  #journal(after: number, step: ScrubStep): void {
    const {floor, floorDigest, digest, records} = this.#statements;
    const lowest = floor.get() ?? 1;
    // Retention may have passed the position in the meantime.
    const from = Math.max(after, lowest - 1);
    let previous = from >= lowest ? digest.get(from) : (floorDigest.get() ?? FIRST_PREVIOUS_DIGEST);
    let expected = from + 1;
    const rows = records.all(from, ROWS_AT_ONCE);
    for (const {sequence, record, digest: stored} of rows) {
      const fits = sequence === expected && previous !== undefined && recordDigest(previous, String(record)) === stored;
      if (!fits) step.findings.push({of: 'row', damage: {check: 'chain', sequence: Math.min(sequence, expected)}});
      previous = String(stored);
      expected = sequence + 1;
    }
    step.checked = rows.length;
    step.next = rows.length === 0 ? {phase: 'rows', kind: 0} : {phase: 'journal', sequence: expected - 1};
  }
}

/** Null: they cannot be read. */
function fieldsOf(row: StoredRow): ReturnType<typeof parseFields> | null {
  try {
    return parseFields(row);
  } catch (caught) {
    if (caught instanceof SyntaxError) return null; // a row without a checksum, damaged
    throw caught;
  }
}

function prepare(db: Connection) {
  return {
    count: db.prepare<[number, number], number>('SELECT count(*) FROM documents WHERE doc BETWEEN ? AND ?').pluck(),
    documents: db.prepare<[number, number], StoredRow>(
      'SELECT * FROM documents WHERE doc > ? ORDER BY doc LIMIT ? + 0',
    ),
    docOfId: db.prepare<[string], number>('SELECT doc FROM documents INDEXED BY documents_by_id WHERE id = ?').pluck(),
    entry: db
      .prepare<[number, Buffer, number], 1>(
        'SELECT 1 FROM index_entries WHERE index_number = ? AND key = ? AND doc = ?',
      )
      .pluck(),
    entries: db.prepare<[number, Buffer, number, number], Entry>(
      `SELECT e.key AS key, e.doc AS entryDoc, d.* FROM index_entries e LEFT JOIN documents d ON d.doc = e.doc
         WHERE e.index_number = (? + 0) AND (e.key, e.doc) > (?, ?) ORDER BY e.key, e.doc LIMIT ? + 0`,
    ),
    floor: db.prepare<[], number>("SELECT value FROM meta WHERE key = 'journal_floor'").pluck(),
    floorDigest: db.prepare<[], string>("SELECT value FROM meta WHERE key = 'floor_previous_digest'").pluck(),
    digest: db.prepare<[number], string>('SELECT digest FROM journal WHERE sequence = ?').pluck(),
    records: db.prepare<[number, number], JournalRow>(
      'SELECT sequence, record, digest FROM journal WHERE sequence > ? ORDER BY sequence LIMIT ? + 0',
    ),
  };
}
