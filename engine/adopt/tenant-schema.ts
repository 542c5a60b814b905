/**
 * Whether the definitions in a file are exactly those that svc makes. A file from outside could bring a trigger or a
 * view that changes what svc's own statements do, so this is checked before any of them runs.
 */
import Database from 'better-sqlite3';
import type {Connection} from '../storage/connection.ts';
import {makeTables, STORAGE_VERSION} from '../storage/migrations.ts';
import {APPLICATION_ID} from '../storage/tables.sql.ts';

type Definition = {type: string; name: string; tbl_name: string; sql: string | null};

/** What is wrong with the file, as a clause after its name; null: nothing. */
export function schemaFinding(db: Connection): string | null {
  if (db.pragma('application_id', {simple: true}) !== APPLICATION_ID) return 'is not the file of a tenant of svc';
  const version = db.pragma('user_version', {simple: true}) as number;
  if (version > STORAGE_VERSION) {
    return `has storage version ${version}, and this svc knows ${STORAGE_VERSION}: import it with the newer svc`;
  }
  if (version < 1) return 'has no tables: its log was lost, or nothing was ever stored';
  const made = new Database(':memory:');
  try {
    makeTables(made, version);
    return difference(definitions(db), definitions(made));
  } finally {
    made.close();
  }
}

function difference(found: Map<string, string>, expected: Map<string, string>): string | null {
  for (const [name, sql] of found) {
    const made = expected.get(name);
    if (made === undefined) return `has the ${name}, which svc did not make`;
    if (made !== sql) return `has another definition of the ${name} than svc makes`;
  }
  for (const name of expected.keys()) if (!found.has(name)) return `lacks the ${name}`;
  return null;
}

/** By type and name. Tables that SQLite keeps for itself have fixed definitions. */
function definitions(db: Connection): Map<string, string> {
  const rows = db.prepare<[], Definition>('SELECT type, name, tbl_name, sql FROM sqlite_schema').all();
  const ours = rows.filter(({type, name}) => !name.startsWith('sqlite_') || type === 'trigger' || type === 'view');
  return new Map(ours.map(({type, name, tbl_name, sql}) => [`${type} ${name}`, `${tbl_name}: ${plain(sql ?? '')}`]));
}

/** Without comments and white space, which earlier releases had otherwise. */
function plain(sql: string): string {
  return sql.replace(/--[^\n]*/g, '').replace(/\s+/g, '');
}
