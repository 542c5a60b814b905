/**
 * Versions of the storage layout, in PRAGMA user_version. A step migrates a file from the previous version to its own,
 * in one transaction; steps are only ever appended. A file from a newer svc is refused.
 */
import {assert} from '../../shared/assert.ts';
import {NEWEST_STORAGE_VERSION} from '../../shared/storage-version.ts';
import {ROW_CHECKSUMS_AT_ONCE} from '../limits.ts';
import {numberTransaction} from './commit-number.ts';
import type {Connection} from './connection.ts';
import {storedMeta} from './meta.ts';
import {addManifestCrcs, addMissingChecksums, FILLED_KINDS} from './missing-checksums.ts';
import {noteLayout} from './row-sums.ts';
import {
  ADD_CHECKSUMS,
  ADD_CLIENT_MUTATIONS,
  ADD_COMMIT_NUMBERS,
  ADD_COUNTS,
  ADD_CRON_OUTCOMES,
  ADD_CRON_RUNS,
  ADD_DEVELOPMENT,
  ADD_JOB_OWNERS,
  ADD_MORE_ROW_CHECKSUMS,
  ADD_ROW_CHECKSUMS,
  ADD_ROW_SUMS,
  ADD_TIMELINE,
  ADD_UNIQUE_INDEXES,
  APPLICATION_ID,
  CREATE_BULK_RECORDS,
  CREATE_CONTROL_RECORDS,
  CREATE_FUNCTION_TABLES,
  CREATE_SERVICES,
  CREATE_TABLES,
} from './tables.sql.ts';

const STEPS: ((db: Connection) => void)[] = [
  // 1: the first layout.
  db => db.exec(CREATE_TABLES),
  // 2: functions.
  db => db.exec(CREATE_FUNCTION_TABLES),
  // 3: an identifier of the file's history.
  db => db.exec(ADD_TIMELINE),
  // 4: the number of documents of each table.
  db => db.exec(ADD_COUNTS),
  // 5: checksums of documents.
  db => db.exec(ADD_CHECKSUMS),
  // 6: the outcomes of crons' runs.
  db => db.exec(ADD_CRON_OUTCOMES),
  // 7: the caller that scheduled a job.
  db => db.exec(ADD_JOB_OWNERS),
  // 8: a mark for deployments made in development.
  db => db.exec(ADD_DEVELOPMENT),
  // 9: checksums of the other rows.
  db => db.exec(ADD_ROW_CHECKSUMS),
  // 10: checksums for all other rows of small tables, and the number of rows of each table.
  db => {
    db.exec(ADD_MORE_ROW_CHECKSUMS);
    addManifestCrcs(db);
    // If there are very many jobs, the scrub does the others.
    for (const kind of FILLED_KINDS) addMissingChecksums(db, kind, ROW_CHECKSUMS_AT_ONCE);
    db.exec(ADD_ROW_SUMS);
  },
  // 11: client mutations on sockets run exactly once.
  db => db.exec(ADD_CLIENT_MUTATIONS),
  // 12: sandboxes and sessions.
  db => db.exec(CREATE_CONTROL_RECORDS),
  // 13: services.
  db => db.exec(CREATE_SERVICES),
  // 14: unique indexes.
  db => db.exec(ADD_UNIQUE_INDEXES),
  // 15: imports and tasks.
  db => db.exec(CREATE_BULK_RECORDS),
  // 16: crons by expression, and histories of crons.
  db => db.exec(ADD_CRON_RUNS),
  // 17: numbers of commits.
  db => db.exec(ADD_COMMIT_NUMBERS),
];

export const STORAGE_VERSION = STEPS.length;
assert(STORAGE_VERSION === NEWEST_STORAGE_VERSION, 'other processes know the number of steps');
/** From this version on a file has the tables of functions. */
export const FUNCTIONS_VERSION = 2;
/** From this version on a file has a timeline. */
export const TIMELINE_VERSION = 3;
/** From this version on the definitions have a checksum. */
export const LAYOUT_VERSION = 10;
/** From this version on commits have numbers. */
export const NUMBERED_VERSION = 17;

export function migrate(db: Connection): 'created' | 'migrated' | 'current' {
  const from = db.pragma('user_version', {simple: true}) as number;
  if (from === STORAGE_VERSION) return 'current';
  if (from > STORAGE_VERSION) {
    if (isReadable(db)) return 'current';
    throw new Error(`the file has storage version ${from}, this svc knows ${STORAGE_VERSION}: use the newer svc`);
  }
  stepTo(db, from, STORAGE_VERSION);
  assert(db.pragma('user_version', {simple: true}) === STORAGE_VERSION, 'every step of the layout was made');
  return from === 0 ? 'created' : 'migrated';
}

/** A file of a later version that this svc can use all the same. */
function isReadable(db: Connection): boolean {
  const from = storedMeta(db, 'readable_from');
  return typeof from === 'number' && from <= STORAGE_VERSION;
}

/** Makes the tables as a file of this version has them, in an empty database. */
export function makeTables(db: Connection, version: number): void {
  assert(version <= STORAGE_VERSION, 'the version is known');
  stepTo(db, 0, version);
}

function stepTo(db: Connection, from: number, to: number): void {
  for (let version = from + 1; version <= to; version++) {
    db.transaction(() => {
      STEPS[version - 1]!(db);
      if (version === 1) db.pragma(`application_id = ${APPLICATION_ID}`);
      if (version >= LAYOUT_VERSION) noteLayout(db);
      if (version >= NUMBERED_VERSION) numberTransaction(db);
      db.pragma(`user_version = ${version}`);
    }).immediate();
  }
}
