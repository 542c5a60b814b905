/**
 * Repairs a tenant's damaged file on request, when the file would otherwise stay closed. Every change is reported. The
 * caller keeps a copy of the file, so every repair can be reviewed.
 *
 * - A row of a small table that is one bit away from its checksum is restored. Any other damaged row is removed (for a
 *   table, its schema; for an index, its entries; for a client's mutation, its result).
 * - SQLite's indexes are rebuilt from their tables, and counts and sums from the existing rows.
 *
 * Documents, journal records and code are not touched: reads of a damaged one are refused. Changed definitions of
 * tables, and pages that SQLite cannot read, cannot be repaired.
 */
import Database from 'better-sqlite3';
import {numberTransaction} from '../storage/commit-number.ts';
import type {Connection} from '../storage/connection.ts';
import {placeOf} from '../storage/damage.ts';
import {migrate, STORAGE_VERSION} from '../storage/migrations.ts';
import {type CheckedColumns, LOST_REQUEST, type RowKind, rowChecksum, rowDamage} from '../storage/row-checksum.ts';
import {noteLayout, sumAgain, sumsFinding, unsoundRows} from '../storage/row-sums.ts';
import {DOCS_PER_TABLE, SUMMED_KINDS} from '../storage/tables.sql.ts';
import {withOneBitBack} from './bit-repair.ts';

/** The file cannot be repaired; nothing was changed. */
export class BeyondRepair extends Error {
  override name = 'BeyondRepair';
}

/** Without these a file has no identity and no start of its journal. */
const NEEDED_VALUES = new Set([
  'tenant_id',
  'tenant_generation',
  'tenant_created_ms',
  'tenant_timeline',
  'journal_floor',
]);
const FLOOR_DIGEST = 'floor_previous_digest';
/** Kinds whose rows two columns identify. */
const KEYS_OF_TWO: ReadonlySet<RowKind> = new Set<RowKind>(['client_mutations', 'bulk_records']);

/** @returns the changes, in words. @throws BeyondRepair */
export function repairFile(path: string): string[] {
  const db = new Database(path, {fileMustExist: true});
  try {
    db.pragma('synchronous = FULL');
    db.pragma('trusted_schema = OFF');
    checkDefinitions(db);
    const done: string[] = [];
    db.transaction(() => {
      for (const kind of SUMMED_KINDS) {
        const finding = sumsFinding(db, kind, Number.MAX_SAFE_INTEGER);
        if (finding !== null) done.push(`${finding}; those that are found are all there are now`);
        repairRows(db, kind, done);
      }
      db.exec('REINDEX');
      for (const kind of SUMMED_KINDS) sumAgain(db, kind);
      repairCounts(db, done);
      db.prepare("DELETE FROM meta WHERE key = 'journal_head'").run();
      noteLayout(db);
      numberTransaction(db);
    }).immediate();
    return done;
  } catch (caught) {
    if (!(caught instanceof Database.SqliteError)) throw caught;
    throw new BeyondRepair(`SQLite cannot read it: ${caught.message}`);
  } finally {
    db.close();
  }
}

/** The definitions must be exactly those of this version. @throws BeyondRepair */
function checkDefinitions(db: Connection): void {
  const version = db.pragma('user_version', {simple: true}) as number;
  if (version !== STORAGE_VERSION) {
    throw new BeyondRepair(`it has storage version ${version}, and this svc mends version ${STORAGE_VERSION}`);
  }
  const reference = new Database(':memory:');
  try {
    migrate(reference);
    if (definitionsOf(db) === definitionsOf(reference)) return;
  } finally {
    reference.close();
  }
  throw new BeyondRepair('the definitions of its tables are damaged');
}

function definitionsOf(db: Connection): string {
  const rows = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').raw().all();
  return JSON.stringify(rows);
}

function repairRows(db: Connection, kind: RowKind, done: string[]): void {
  for (const row of [...unsoundRows(db, kind)]) {
    const place = placeOf(rowDamage(kind, row));
    const whole = withOneBitBack(kind, row);
    if (whole !== null) {
      replace(db, kind, row, whole);
      done.push(`${place}; the one bit that had changed was put back`);
    } else if (kind === 'tables') {
      const changed = {...row, fields: null, deployed: null};
      replace(db, kind, row, {...changed, checksum: rowChecksum(kind, changed as never)});
      done.push(`${place}; it has no schema now, its documents stay`);
    } else if (kind === 'client_mutations') {
      const lost = {...row, request: LOST_REQUEST, value: 'null'};
      replace(db, kind, row, {...lost, checksum: rowChecksum(kind, lost as never)});
      done.push(`${place}; its result is lost: a repeated request gets an error and is not run again`);
    } else {
      refuseNeeded(kind, row);
      remove(db, kind, row);
      done.push(`${place}; it was taken away`);
    }
  }
}

/** @throws BeyondRepair */
function refuseNeeded(kind: RowKind, row: CheckedColumns<RowKind>): void {
  const {key} = row as {key?: unknown};
  if (kind !== 'meta' || typeof key !== 'string' || (!NEEDED_VALUES.has(key) && key !== FLOOR_DIGEST)) return;
  throw new BeyondRepair(`its value ${key} is damaged, and nothing tells what it was`);
}

function replace(db: Connection, kind: RowKind, row: object, by: object): void {
  const columns = Object.entries(by);
  const set = columns.map(([column]) => `${column} = ?`).join(', ');
  const [where, key] = keyOf(kind, row);
  db.prepare(`UPDATE ${kind} SET ${set} WHERE ${where}`).run(...columns.map(([, value]) => value), ...key);
}

function remove(db: Connection, kind: RowKind, row: object): void {
  const [where, key] = keyOf(kind, row);
  if (kind === 'indexes') db.prepare('DELETE FROM index_entries WHERE index_number = (? + 0)').run(...key);
  db.prepare(`DELETE FROM ${kind} WHERE ${where}`).run(...key);
}

/** Its first column: results of jobs are numbered. Mutations of clients are numbered by client, bulk work by kind. */
function keyOf(kind: RowKind, row: object): [where: string, values: unknown[]] {
  const columns = Object.entries(row).slice(0, KEYS_OF_TWO.has(kind) ? 2 : 1);
  return [columns.map(([column]) => `${column} = ?`).join(' AND '), columns.map(([, value]) => value)];
}

function repairCounts(db: Connection, done: string[]): void {
  const rows = db.prepare<[], {number: number; name: string; documents: number; counted_to: number}>(
    'SELECT number, name, documents, counted_to FROM tables',
  );
  const count = db
    .prepare<[number, number], number>('SELECT count(*) FROM documents WHERE doc BETWEEN ? AND ?')
    .pluck();
  const set = db.prepare<[number, number]>('UPDATE tables SET documents = ? WHERE number = ?');
  for (const {number, name, documents, counted_to} of rows.all()) {
    const low = number * DOCS_PER_TABLE;
    const found = count.get(low, Math.min(counted_to, low + DOCS_PER_TABLE - 1))!;
    if (found === documents) continue;
    set.run(found, number);
    done.push(`table ${name} had ${documents} documents, and ${found} are found; those are all there are now`);
  }
}
