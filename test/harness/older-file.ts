/**
 * Makes a tenant's file one of an earlier storage version: what later steps added is taken away, as are rows that an older file could not
 * have (crons by expression, indexes that failed).
 */
import type Database from 'better-sqlite3';
import {LAYOUT_VERSION} from '../../engine/storage/migrations.ts';
import {rowChecksum} from '../../engine/storage/row-checksum.ts';
import {noteLayout} from '../../engine/storage/row-sums.ts';
import {ADD_ROW_SUMS, CREATE_TABLES} from '../../engine/storage/tables.sql.ts';

/** What takes back the step to this version. */
const UNDO: Record<number, string | ((db: Database.Database) => void)> = {
  17: "ALTER TABLE journal DROP COLUMN commit_number; DELETE FROM meta WHERE key = 'commit_number';",
  16: `DELETE FROM crons WHERE expression IS NOT NULL;
       ALTER TABLE crons DROP COLUMN expression; ALTER TABLE crons DROP COLUMN time_zone; DROP TABLE cron_runs;
       DELETE FROM row_sums WHERE kind = 'cron_runs';`,
  15: `DROP TABLE bulk_records; DELETE FROM row_sums WHERE kind = 'bulk_records';`,
  14: makeIndexesPlain,
  13: `DROP TABLE services; DELETE FROM row_sums WHERE kind = 'services';`,
  12: `DROP TABLE control_records; DELETE FROM row_sums WHERE kind = 'control_records';`,
  11: "DROP TABLE client_mutations; DELETE FROM row_sums WHERE kind = 'client_mutations';",
  10: [
    ...[
      'jobs',
      'job_results',
      'crons',
      'environment',
      'idempotency',
      'tables',
      'indexes',
      'meta',
      'deployments',
    ].flatMap(table => ['added', 'removed', 'changed'].map(event => `DROP TRIGGER ${table}_${event};`)),
    `DROP TABLE row_sums; ALTER TABLE meta DROP COLUMN checksum; ALTER TABLE deployments DROP COLUMN checksum;
     ALTER TABLE deployments DROP COLUMN manifest_crc;`,
  ].join(''),
  9: ['jobs', 'job_results', 'crons', 'environment', 'idempotency', 'tables', 'indexes']
    .map(table => `ALTER TABLE ${table} DROP COLUMN checksum;`)
    .join(''),
  8: 'ALTER TABLE deployments DROP COLUMN development;',
  7: 'ALTER TABLE jobs DROP COLUMN scheduled_by;',
  6: `DROP INDEX crons_failing; ALTER TABLE crons DROP COLUMN last_outcome; ALTER TABLE crons DROP COLUMN last_error;
      ALTER TABLE crons DROP COLUMN failures;`,
  5: 'ALTER TABLE documents DROP COLUMN checksum;',
  4: 'ALTER TABLE tables DROP COLUMN documents; ALTER TABLE tables DROP COLUMN counted_to;',
  3: "DELETE FROM meta WHERE key = 'tenant_timeline'",
};

export function makeOlder(db: Database.Database, version: number): void {
  for (let from = db.pragma('user_version', {simple: true}) as number; from > version; from--) {
    const undo = UNDO[from];
    if (undo === undefined) throw new Error(`this does not know how to take back step ${from}`);
    if (typeof undo === 'string') db.exec(undo);
    else undo(db);
  }
  if (version >= LAYOUT_VERSION) noteLayout(db);
  db.pragma(`user_version = ${version}`);
}

/** The table of indexes with the definitions that it had. */
function makeIndexesPlain(db: Database.Database): void {
  const [table] = /CREATE TABLE indexes \([\s\S]*?\) STRICT;/.exec(CREATE_TABLES)!;
  const triggers = ADD_ROW_SUMS.match(/CREATE TRIGGER indexes_[\s\S]*?END;/g)!;
  db.exec(`
    CREATE TEMP TABLE kept AS SELECT number, table_number, name, fields, state, built_to FROM indexes WHERE state <> 'failed';
    DROP TABLE indexes;
    ${table}
    ALTER TABLE indexes ADD COLUMN checksum INTEGER;
    INSERT INTO indexes SELECT *, NULL FROM kept;
    DROP TABLE kept;`);
  type Row = {number: number; table_number: number; name: string; fields: string};
  for (const row of db.prepare<[], Row>('SELECT * FROM indexes').all()) {
    db.prepare('UPDATE indexes SET checksum = ? WHERE number = ?').run(rowChecksum('indexes', row), row.number);
  }
  db.exec(`DELETE FROM row_sums WHERE kind = 'indexes';
    INSERT INTO row_sums SELECT 'indexes', count(*), coalesce(sum(checksum), 0) FROM indexes;
    ${triggers.join('\n')}`);
}
