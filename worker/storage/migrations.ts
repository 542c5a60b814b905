/**
 * Versions of the storage layout, in PRAGMA user_version. A step brings a file from the version before to its own, in one
 * transaction; steps are only ever appended. A file from a newer svc is refused, never guessed at.
 */
import type {Connection} from './database.ts';
import {
  ADD_CHECKSUMS,
  ADD_COUNTS,
  ADD_CRON_OUTCOMES,
  ADD_DEVELOPMENT,
  ADD_JOB_OWNERS,
  ADD_ROW_CHECKSUMS,
  ADD_TIMELINE,
  APPLICATION_ID,
  CREATE_FUNCTION_TABLES,
  CREATE_TABLES,
} from './tables.sql.ts';

const STEPS: ((db: Connection) => void)[] = [
  // 1: the first layout.
  db => db.exec(CREATE_TABLES),
  // 2: functions.
  db => db.exec(CREATE_FUNCTION_TABLES),
  // 3: what tells one file's history from another's.
  db => db.exec(ADD_TIMELINE),
  // 4: how many documents each table has.
  db => db.exec(ADD_COUNTS),
  // 5: checksums of documents.
  db => db.exec(ADD_CHECKSUMS),
  // 6: crons say how their runs ended.
  db => db.exec(ADD_CRON_OUTCOMES),
  // 7: jobs know who scheduled them.
  db => db.exec(ADD_JOB_OWNERS),
  // 8: which deployments were made while developing.
  db => db.exec(ADD_DEVELOPMENT),
  // 9: checksums of the other rows.
  db => db.exec(ADD_ROW_CHECKSUMS),
];

export const STORAGE_VERSION = STEPS.length;

export function migrate(db: Connection): 'created' | 'migrated' | 'current' {
  const from = db.pragma('user_version', {simple: true}) as number;
  if (from === STORAGE_VERSION) return 'current';
  if (from > STORAGE_VERSION) {
    throw new Error(`the file has storage version ${from}, this svc knows ${STORAGE_VERSION}: use the newer svc`);
  }
  for (let version = from + 1; version <= STORAGE_VERSION; version++) {
    db.transaction(() => {
      STEPS[version - 1]!(db);
      if (version === 1) db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${version}`);
    }).immediate();
  }
  return from === 0 ? 'created' : 'migrated';
}
