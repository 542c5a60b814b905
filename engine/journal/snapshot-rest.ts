/**
 * The part of a bootstrap other than schema and documents: scheduled work, deployments (references to their code, not
 * the code), settings and the names of variables. The journal events after it bring all of this up to date.
 */
import {ROWS_SUMMED_BY_SCRUB_MAX} from '../limits.ts';
import {CronReader} from '../scheduler/crons.ts';
import {JobReader} from '../scheduler/jobs.ts';
import type {Connection} from '../storage/connection.ts';
import {storedMeta} from '../storage/meta.ts';
import {checkedRowOf} from '../storage/row-checksum.ts';
import {checkSums} from '../storage/row-sums.ts';
import type {DeploymentRow} from '../storage/statements.ts';
import {ACTIVE_KEY, journalDeployment, storedSettings} from '../storage/stored-settings.ts';
import {SUMMED_KINDS} from '../storage/tables.sql.ts';
import {arrayChunks} from './chunks.ts';

/** Members of `snapshot`, see JournalSnapshotRest, in chunks. Reads the file while it is iterated. */
export function* snapshotRest(db: Connection): Generator<string, void, void> {
  for (const kind of SUMMED_KINDS) checkSums(db, kind, ROWS_SUMMED_BY_SCRUB_MAX);
  const jobs = new JobReader(db);
  yield '"scheduled_execution_ids":';
  yield* arrayChunks(jobs.resultIds().map(id => JSON.stringify(id)));
  yield ',"jobs":';
  yield* arrayChunks(jobs.pending());
  yield ',"crons":';
  yield* arrayChunks(new CronReader(db).all());
  yield ',"deployments":';
  yield* arrayChunks(deployments(db));
  yield `,"settings":${JSON.stringify(storedSettings(db))},"environment":`;
  const names = db.prepare<[], string>('SELECT name FROM environment ORDER BY name').pluck().all();
  yield* arrayChunks(names.map(name => JSON.stringify(name)));
}

type ListedDeployment = Omit<DeploymentRow, 'manifest'>;

/** Oldest first. Manifests can be long and are not read. */
function deployments(db: Connection): string[] {
  const active = storedMeta(db, ACTIVE_KEY);
  return db
    .prepare<[], ListedDeployment>(
      `SELECT id, created_at, activated_at, message, files, modified_ms, seed, hash, development, manifest_crc, checksum
         FROM deployments ORDER BY id`,
    )
    .all()
    .map(row => JSON.stringify({...journalDeployment(checkedRowOf('deployments', row)), active: row.id === active}));
}
