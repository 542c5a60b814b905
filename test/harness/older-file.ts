/** Makes a tenant's file one of an earlier storage version, as far as tests need it: what later steps added is taken away. */
import type Database from 'better-sqlite3';

/** What takes back the step to this version. */
const UNDO: Record<number, string> = {
  16: `ALTER TABLE crons DROP COLUMN expression; ALTER TABLE crons DROP COLUMN time_zone; DROP TABLE cron_runs;
       DELETE FROM row_sums WHERE kind = 'cron_runs';`,
  15: `DROP TABLE bulk_records; DELETE FROM row_sums WHERE kind = 'bulk_records';`,
  14: 'ALTER TABLE indexes DROP COLUMN is_unique; ALTER TABLE indexes DROP COLUMN failure;',
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
};

export function makeOlder(db: Database.Database, version: number): void {
  for (let from = db.pragma('user_version', {simple: true}) as number; from > version; from--) {
    const undo = UNDO[from];
    if (undo === undefined) throw new Error(`this does not know how to take back step ${from}`);
    db.exec(undo);
  }
  db.pragma(`user_version = ${version}`);
}
