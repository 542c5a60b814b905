/**
 * Verifies small tables as a whole: `row_sums` has the number of rows of each and the sum of their checksums, updated
 * in the transaction that changes them. A row's own checksum does not help if the row is not found: one flipped bit in
 * the header of a page can hide all its rows. The definitions of tables, indexes and triggers are compared with a
 * checksum too, because every statement relies on them.
 *
 * Verifying a table reads all of it, so it is done when that is cheap: at every open and listing while the table has
 * few rows, in the scrub up to many more, and in `svc verify` always.
 */
import {crc32} from 'node:zlib';
import type {Connection} from './connection.ts';
import {placeOf, storageDamaged} from './damage.ts';
import {metaRow, SET_META, storedMeta} from './meta.ts';
import {type CheckedColumns, isSoundRow, type RowKind, rowDamage} from './row-checksum.ts';
import {SUMMED_KINDS, weightOf} from './tables.sql.ts';

const LAYOUT_KEY = 'layout';
/** Tables with indexes of SQLite, through which they are read. */
const INDEXED_KINDS: ReadonlySet<RowKind> = new Set<RowKind>([
  'jobs',
  'job_results',
  'crons',
  'idempotency',
  'tables',
  'client_mutations',
  'cron_runs',
]);

type Sums = {kind: RowKind; rows: number; sum: number};

/** The checksum of all definitions, and of each table's root page. */
function layoutOf(db: Connection): number {
  const rows = db
    .prepare('SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY type, name')
    .raw()
    .all();
  return crc32(JSON.stringify(rows)) | 0;
}

/** Call it after a change of the definitions, in the same transaction. */
export function noteLayout(db: Connection): void {
  db.prepare(SET_META).run(...metaRow(LAYOUT_KEY, layoutOf(db)));
}

/** Null: the definitions match their checksum. */
export function layoutFinding(db: Connection): string | null {
  if (storedMeta(db, LAYOUT_KEY) === layoutOf(db)) return null;
  return 'the definitions of its tables, indexes and triggers do not fit their checksum';
}

/** Reads one table itself, not through an index: `?` is the maximum number of rows. */
function foundSums(kind: RowKind): string {
  return `SELECT '${kind}' AS kind, count(*) AS rows, coalesce(sum(weight), 0) AS sum
    FROM (SELECT ${weightOf(kind)} AS weight FROM ${kind} NOT INDEXED LIMIT ? + 0)`;
}

/**
 * The damage of one table as a whole; null: none, or there are too many rows to check.
 * @param most maximum number of rows
 */
export function sumsFinding(db: Connection, kind: RowKind, most: number): string | null {
  const said = db.prepare<[string], Sums>('SELECT * FROM row_sums WHERE kind = ?').get(kind);
  if (said === undefined) return missing(kind);
  if (said.rows > most) return null;
  return difference(db, said, db.prepare<[number], Sums>(foundSums(kind)).get(most + 1)!);
}

function missing(kind: RowKind): string {
  return `how many rows the table ${kind} has is not there`;
}

function difference(db: Connection, said: Sums, found: Sums): string | null {
  const {kind} = said;
  if (found.rows !== said.rows) return `the table ${kind} had ${said.rows} rows, and ${found.rows} are found`;
  if (found.sum === said.sum) return null;
  // If a row's checksum itself is damaged, the sum is unknown.
  for (const _ of unsoundRows(db, kind)) return null;
  return `the rows of the table ${kind} are not those that were written`;
}

/** Rows that do not match their checksum. */
export function* unsoundRows<Kind extends RowKind>(db: Connection, kind: Kind): Generator<CheckedColumns<Kind>> {
  for (const row of db.prepare<[], CheckedColumns<Kind>>(`SELECT * FROM ${kind} NOT INDEXED`).iterate()) {
    if (!isSoundRow(kind, row)) yield row;
  }
}

/** Call it before a list of them is served. @throws op.storage_damaged 503 */
export function checkSums(db: Connection, kind: RowKind, most: number): void {
  const finding = sumsFinding(db, kind, most);
  if (finding !== null) throw storageDamaged({check: 'rows', stored: finding});
}

/**
 * Damage of small tables that no read would notice: missing rows, indexes that do not lead to their rows, and damaged
 * single values, on which everything else depends.
 */
export function smallTablesFinding(db: Connection, most: number): string | null {
  // Two statements in all, not two per table, because every open runs this.
  const all = db.prepare<[], Sums>('SELECT * FROM row_sums').all();
  const said = new Map(all.map(sums => [sums.kind, sums]));
  const few = SUMMED_KINDS.filter(kind => (said.get(kind)?.rows ?? 0) <= most);
  const found = db.prepare<number[], Sums>(few.map(foundSums).join(' UNION ALL ')).all(...few.map(() => most + 1));
  for (const sums of found) {
    const its = said.get(sums.kind);
    const finding = its === undefined ? missing(sums.kind) : difference(db, its, sums);
    if (finding !== null) return finding;
    if (sums.rows === 0) continue;
    const broken = brokenIndex(db, sums.kind);
    if (broken !== null) return broken;
  }
  for (const row of unsoundRows(db, 'meta')) return placeOf(rowDamage('meta', row));
  return null;
}

/** Whether the table and its indexes agree, according to SQLite's check. */
export function indexesFinding(db: Connection, kind: RowKind, most: number): string | null {
  return hasFewRows(db, kind, most) ? brokenIndex(db, kind) : null;
}

function brokenIndex(db: Connection, kind: RowKind): string | null {
  if (!INDEXED_KINDS.has(kind)) return null;
  const [first] = db.pragma(`integrity_check(${kind})`, {simple: false}) as {integrity_check: string}[];
  return first === undefined || first.integrity_check === 'ok' ? null : `the table ${kind}: ${first.integrity_check}`;
}

export function hasFewRows(db: Connection, kind: RowKind, most: number): boolean {
  const rows = db.prepare<[string], number>('SELECT rows FROM row_sums WHERE kind = ?').pluck().get(kind);
  return rows !== undefined && rows <= most;
}

/** Call it after a repair removed damaged rows on request: the remaining rows become the reference. */
export function sumAgain(db: Connection, kind: RowKind): void {
  db.prepare(
    `INSERT OR REPLACE INTO row_sums SELECT '${kind}', count(*), coalesce(sum(${weightOf(kind)}), 0) FROM ${kind} NOT INDEXED`,
  ).run();
}
