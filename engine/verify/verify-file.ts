/**
 * Checks the consistency of one tenant's file: SQLite's integrity, the journal's chain, the state against the journal,
 * and every index against the documents. Everything runs in one read transaction, so a tenant that is being written can
 * be checked too.
 *
 * Memory stays constant: the journal's state of each document is collected in a temporary database.
 */

import {hash} from 'node:crypto';
import {dirname} from 'node:path';
import Database from 'better-sqlite3';
import {ServiceError} from '../../shared/errors.ts';
import {FIRST_PREVIOUS_DIGEST} from '../../shared/journal-chain.ts';
import type {JournalRecord} from '../../shared/protocol/journal.ts';
import {hasValues} from '../commit/document-write.ts';
import {recordDigest} from '../commit/record.ts';
import {VERIFY_FINDINGS_MAX} from '../limits.ts';
import {Catalog, type CatalogIndex, type CatalogTable, indexKey} from '../storage/catalog.ts';
import {isSound, type StoredRow} from '../storage/checksum.ts';
import type {Connection} from '../storage/connection.ts';
import {placeOf} from '../storage/damage.ts';
import {openReader} from '../storage/database.ts';
import {parseFields, storedDocumentText} from '../storage/document.ts';
import {digestOf as fileDigest} from '../storage/file-digest.ts';
import {findLostLog} from '../storage/file-guard.ts';
import {readIdentity} from '../storage/identity.ts';
import {FUNCTIONS_VERSION, STORAGE_VERSION} from '../storage/migrations.ts';
import {Reader} from '../storage/reader.ts';
import {manifestCrc, ROW_KINDS, rowDamage} from '../storage/row-checksum.ts';
import {layoutFinding, sumsFinding, unsoundRows} from '../storage/row-sums.ts';
import {prepareStatements, type Statements} from '../storage/statements.ts';
import {DOCS_PER_TABLE, SUMMED_KINDS} from '../storage/tables.sql.ts';
import {findLogDamage} from '../storage/wal-log.ts';
import {laterFinding} from '../storage/written-by.ts';
import {foreignOwner} from './foreign-owner.ts';

export type VerifyReport = {
  documents: number;
  records: number;
  /**
   * The oldest retained record; documents not written since then are not in the journal, and only the other checks
   * cover them.
   */
  floor: number;
  indexEntries: number;
  /** Empty: no damage was found. */
  findings: string[];
};

/** @param owner the expected owner of the file */
export function verifyFile(path: string, owner: {tenant: string; generation: number}): VerifyReport {
  const later = laterFinding(path);
  if (later !== null) return {documents: 0, records: 0, floor: 1, indexEntries: 0, findings: [`file: ${later}`]};
  const log = findLostLog(dirname(path)) ?? damagedLog(path);
  if (log !== null) return {documents: 0, records: 0, floor: 1, indexEntries: 0, findings: [`log: ${log}`]};
  const db = openReader(path);
  const said = new Database('');
  try {
    db.exec('BEGIN');
    const report: VerifyReport = {documents: 0, records: 0, floor: 1, indexEntries: 0, findings: []};
    checkIntegrity(db, report, 'integrity_check');
    const version = db.pragma('user_version', {simple: true}) as number;
    if (version === STORAGE_VERSION && !checkDefinitions(db, report)) return report;
    const foreign = foreignOwner(dirname(path), owner, readIdentity(db));
    if (foreign !== null) find(report, `file: it is that of ${foreign}`);
    said.exec(
      'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE said (id TEXT PRIMARY KEY, digest TEXT) WITHOUT ROWID',
    );
    said.exec('BEGIN');
    checkChain(db, said, report);
    if (!checkRows(db, report)) return report;
    if (version >= FUNCTIONS_VERSION) checkCode(db, report);
    const catalog = Catalog.read(db);
    checkDocuments(db, said, catalog, report);
    for (const table of catalog.tables()) checkIndexes(db, table, report);
    return report;
  } finally {
    said.close();
    db.close();
  }
}

/** Checks the structure of the file, and that its newest journal record fits its digest. */
export function quickFindings(path: string): string[] {
  const db = openReader(path);
  try {
    const report: VerifyReport = {documents: 0, records: 0, floor: 1, indexEntries: 0, findings: []};
    checkIntegrity(db, report, 'quick_check');
    checkHead(db, report);
    return report.findings;
  } finally {
    db.close();
  }
}

/** A WAL that is being written can change during the check, so only damage found twice counts. */
function damagedLog(path: string): string | null {
  const first = findLogDamage(path);
  const second = first === null ? null : findLogDamage(path);
  return first !== null && second?.finding === first.finding ? first.finding : null;
}

function find(report: VerifyReport, finding: string): void {
  if (report.findings.length < VERIFY_FINDINGS_MAX) report.findings.push(finding);
}

/** @param check `quick_check`: without comparing SQLite's indexes with its tables */
function checkIntegrity(db: Connection, report: VerifyReport, check: 'integrity_check' | 'quick_check'): void {
  const rows = db.prepare<[], string>(`PRAGMA ${check}(${VERIFY_FINDINGS_MAX})`).pluck().all();
  for (const finding of rows) if (finding !== 'ok') find(report, `file: ${finding}`);
}

/** @returns whether the tenant's tables can be queried at all */
function checkDefinitions(db: Connection, report: VerifyReport): boolean {
  try {
    const finding = layoutFinding(db);
    if (finding !== null) find(report, `file: ${finding}`);
    const statements = prepareStatements(db);
    for (const name in statements) statements[name as keyof Statements];
    new Reader(db, new Catalog());
    for (const kind of SUMMED_KINDS) {
      const wrong = sumsFinding(db, kind, Number.MAX_SAFE_INTEGER);
      if (wrong !== null) find(report, `state: ${wrong}`);
    }
    return true;
  } catch (caught) {
    if (!(caught instanceof Database.SqliteError || caught instanceof ServiceError)) throw caught;
    find(report, `file: its definitions cannot be used: ${caught.message}`);
    return false;
  }
}

/** Recomputes the digest of the newest record. */
function checkHead(db: Connection, report: VerifyReport): void {
  const [newest, before] = db
    .prepare<[], {sequence: number; record: string; digest: string}>(
      'SELECT sequence, record, digest FROM journal ORDER BY sequence DESC LIMIT 2',
    )
    .all();
  if (newest === undefined) return;
  const previous = before?.digest ?? digestBefore(db);
  if (recordDigest(previous, newest.record) === newest.digest) return;
  find(report, `journal: record ${newest.sequence} does not fit its digest`);
}

/** Of the record before the oldest one. */
function digestBefore(db: Connection): string {
  const stored = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'floor_previous_digest'").pluck().get();
  return stored ?? FIRST_PREVIOUS_DIGEST;
}

/** Recomputes every digest, and notes the journal's last state of each document. */
function checkChain(db: Connection, said: Connection, report: VerifyReport): void {
  const meta = db.prepare<[string], string | number>('SELECT value FROM meta WHERE key = ?').pluck();
  report.floor = Number(meta.get('journal_floor') ?? 1);
  let previous = digestBefore(db);
  let expected = report.floor;
  const note = said.prepare('INSERT OR REPLACE INTO said VALUES (?, ?)');
  const rows = db.prepare<[], {sequence: number; record: string; digest: string; commit_number?: number | null}>(
    'SELECT * FROM journal ORDER BY sequence',
  );
  let commit = 0;
  for (const row of rows.iterate()) {
    if (row.sequence !== expected) find(report, `journal: record ${expected} is missing, ${row.sequence} follows`);
    if (recordDigest(previous, row.record) !== row.digest)
      find(report, `journal: record ${row.sequence} does not fit its digest`);
    const {commit_number: next = null} = row;
    if (next !== null && next < commit)
      find(report, `journal: record ${row.sequence} is of commit ${next}, after ${commit}`);
    commit = next ?? commit;
    previous = row.digest;
    expected = row.sequence + 1;
    report.records++;
    const record = parsed<JournalRecord>(row.record);
    if (record === null) continue; // found above
    if (record.sequence !== row.sequence)
      find(report, `journal: record ${row.sequence} calls itself ${record.sequence}`);
    for (const write of record.writes)
      note.run(write.id, write.document === null ? null : digestOf(JSON.stringify(write.document)));
  }
}

/** @returns whether schemas and indexes are sound, so that other data can be compared with them */
function checkRows(db: Connection, report: VerifyReport): boolean {
  let isCatalogSound = true;
  const isThere = db.prepare<[string], 1>("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").pluck();
  for (const kind of ROW_KINDS) {
    if (isThere.get(kind) === undefined) continue; // the file is older than this table
    for (const row of unsoundRows(db, kind)) {
      find(report, `state: ${placeOf(rowDamage(kind, row))}`);
      if (kind === 'tables' || kind === 'indexes') isCatalogSound = false;
    }
  }
  return isCatalogSound;
}

/** Every file of the stored deployments, and their manifests. */
function checkCode(db: Connection, report: VerifyReport): void {
  const manifests = db.prepare<[], {id: number; manifest: string; manifest_crc?: number | null}>(
    'SELECT * FROM deployments',
  );
  for (const {id, manifest, manifest_crc: crc = null} of manifests.iterate()) {
    if (crc !== null && crc !== manifestCrc(manifest)) {
      find(report, `state: the manifest of deployment ${id} does not fit its checksum`);
    }
  }
  const rows = db.prepare<[], {sha256: string; source: string; source_map: string | null}>('SELECT * FROM code');
  for (const row of rows.iterate()) {
    if (fileDigest(row.source, row.source_map ?? '') !== row.sha256)
      find(report, `state: the deployed file ${row.sha256} does not fit its digest`);
  }
}

function checkDocuments(db: Connection, said: Connection, catalog: Catalog, report: VerifyReport): void {
  const lookUp = said.prepare<[string], string | null>('SELECT digest FROM said WHERE id = ?').pluck();
  const count = db
    .prepare<[number, number], number>('SELECT count(*) FROM documents WHERE doc BETWEEN ? AND ?')
    .pluck();
  let inJournal = 0;
  for (const row of db.prepare<[], StoredRow>('SELECT * FROM documents ORDER BY doc').iterate()) {
    report.documents++;
    const table = catalog.tableByNumber(Math.floor(row.doc / DOCS_PER_TABLE))?.name;
    if (table === undefined) {
      find(report, `state: document number ${row.doc} belongs to no table`);
      continue;
    }
    // A file that was not opened since checksums exist has no column for them.
    if (!isSound({...row, checksum: row.checksum ?? null}))
      find(report, `state: document ${row.id} of ${table} does not fit its checksum`);
    const digest = lookUp.get(row.id);
    if (digest === undefined) {
      if (report.floor === 1) find(report, `state: document ${row.id} of ${table} is not in the journal`);
      continue;
    }
    inJournal++;
    if (digest === null)
      find(report, `state: document ${row.id} of ${table} is there, the journal says it was deleted`);
    else if (digest !== documentDigest(row)) {
      find(report, `state: document ${row.id} of ${table} differs from its last journal record`);
    }
  }
  for (const table of catalog.tables()) {
    const {name, documents, countedTo, info} = table;
    const found = count.get(info.lowDoc, Math.min(countedTo, info.highDoc))!;
    if (found !== documents) find(report, `state: table ${name} counts ${documents} documents and has ${found}`);
  }
  const living = said.prepare<[], number>('SELECT count(*) FROM said WHERE digest IS NOT NULL').pluck().get()!;
  if (living > inJournal) find(report, `state: ${living - inJournal} documents that the journal has are missing`);
}

function checkIndexes(db: Connection, table: CatalogTable, report: VerifyReport): void {
  const enabled = table.indexes.filter(index => index.state === 'enabled');
  if (enabled.length === 0) return;
  const entry = db
    .prepare<[number, Buffer, number], 1>('SELECT 1 FROM index_entries WHERE index_number = ? AND key = ? AND doc = ?')
    .pluck();
  const entries = db
    .prepare<[number], number>('SELECT count(*) FROM index_entries WHERE index_number = (? + 0)')
    .pluck();
  const documents = db.prepare<[number, number], StoredRow>('SELECT * FROM documents WHERE doc BETWEEN ? AND ?');
  let count = 0;
  for (const row of documents.iterate(table.info.lowDoc, table.info.highDoc)) {
    count++;
    if (parsed(row.body) === null) continue; // found above
    const fields = parseFields(row);
    for (const index of enabled) {
      if (entry.get(index.number, indexKey(index, fields), row.doc) === undefined) {
        find(report, `index ${table.name}.${index.name}: no entry for document ${row.id}`);
      }
    }
  }
  for (const index of enabled) {
    const have = entries.get(index.number)!;
    report.indexEntries += have;
    if (have !== count) find(report, `index ${table.name}.${index.name}: ${have} entries for ${count} documents`);
    if (index.isUnique) checkUnique(db, table, index, report);
  }
}

/**
 * Finds documents with equal values, which no other check finds, because each agrees with its own entry. The document
 * with the lowest number was first, and is the rightful one.
 */
function checkUnique(db: Connection, table: CatalogTable, index: CatalogIndex, report: VerifyReport): void {
  const keys = db
    .prepare<[number], Buffer>(
      'SELECT key FROM index_entries WHERE index_number = (? + 0) GROUP BY key HAVING count(*) > 1',
    )
    .pluck();
  const withKey = db.prepare<[number, Buffer], StoredRow>(
    `SELECT documents.* FROM index_entries JOIN documents USING (doc)
     WHERE index_number = (? + 0) AND key = ? ORDER BY index_entries.doc`,
  );
  for (const key of keys.iterate(index.number)) {
    let first: string | null = null;
    for (const row of withKey.iterate(index.number, key)) {
      if (parsed(row.body) === null) continue; // found above
      const fields = parseFields(row);
      if (!indexKey(index, fields).equals(key)) continue; // so is this
      if (!hasValues(index, fields)) break; // nor have the others
      if (first !== null) {
        find(report, `index ${table.name}.${index.name}: it is unique, and ${row.id} has the same values as ${first}`);
      }
      first ??= row.id;
    }
  }
}

/** Null: the text cannot be parsed. */
function parsed<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null; // damaged, which another check reports
  }
}

/** In the form that clients see; null: nothing sensible. */
function documentDigest(row: StoredRow): string | null {
  const document = parsed(storedDocumentText(row));
  return document === null ? null : digestOf(JSON.stringify(document));
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}
