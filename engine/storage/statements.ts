/**
 * The statements of the writer connection, each prepared on first use: most tenants use few of them, and preparing all
 * took a third of the time of an open. Reads that serve clients are in `reader.ts`, on a separate connection.
 */
import type Database from 'better-sqlite3';
import {INSERT_ROWS_AT_ONCE} from '../limits.ts';
import type {StoredRow} from './checksum.ts';
import type {Connection} from './connection.ts';
import {metaRow, SET_META} from './meta.ts';
import type {CheckedColumns} from './row-checksum.ts';

export type JobRow = {
  id: string;
  run_at: number;
  created_at: number;
  mutation: string;
  scheduled_by: string | null;
  checksum?: number | null;
};
export type PendingJobs = {jobs: number; bytes: number};
export type CronRow = {
  name: string;
  /** 0: the cron uses its expression. */
  interval_ms: number;
  mutation: string;
  enabled: number;
  last_run: number | null;
  next_run: number;
  created_at: number;
  last_outcome: 'completed' | 'failed' | null;
  last_error: string | null;
  failures: number;
  /** Null: the cron uses its interval. */
  expression: string | null;
  time_zone: string | null;
  checksum?: number | null;
};

export type DeploymentRow = {
  id: number;
  created_at: number;
  activated_at: number;
  message: string | null;
  manifest: string;
  files: string;
  modified_ms: number;
  seed: string;
  hash: string;
  development: 0 | 1;
  manifest_crc: number | null;
  checksum: number | null;
};

/** `checksum` is of the whole row. */
export type StoredReply = {
  key: string;
  request: string;
  status: number;
  body: string;
  created_ms: number;
  checksum: number | null;
};

/** The result of a client's mutation. `checksum` is of the whole row. */
export type ClientMutation = {
  client_id: string;
  request_id: number;
  request: string;
  value: string;
  sequence: number;
  created_ms: number;
  checksum: number;
};

/** Before every possible time: a bound makes SQLite search the index rather than scan. */
const LONG_AGO = Number.MIN_SAFE_INTEGER;
type Due = {id: string; due: number};

type Run<P extends unknown[]> = Database.Statement<P>;

export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: Connection) {
  const run = <P extends unknown[]>(sql: string): Run<P> => db.prepare<P>(sql);
  return onFirstUse({
    begin: () => run<[]>('BEGIN IMMEDIATE'),
    commit: () => run<[]>('COMMIT'),
    rollback: () => run<[]>('ROLLBACK'),
    /** Number of rows that this connection has changed, including changes that were rolled back. */
    totalChanges: () => db.prepare<[], number>('SELECT total_changes()').pluck(),
    savepoint: () => run<[]>('SAVEPOINT w'),
    release: () => run<[]>('RELEASE w'),
    rollbackTo: () => run<[]>('ROLLBACK TO w'),

    documentById: () => db.prepare<[string], StoredRow>('SELECT * FROM documents WHERE id = ?'),
    documentsFrom: () =>
      db.prepare<[number, number, number], StoredRow>(
        'SELECT * FROM documents WHERE doc > ? AND doc <= ? ORDER BY doc LIMIT ? + 0',
      ),
    documentByDoc: () => db.prepare<[number], StoredRow>('SELECT * FROM documents WHERE doc = ?'),
    insertDocument: () =>
      run<[number, string, number, number, string, number, number]>(
        'INSERT INTO documents (doc, id, created, updated, body, flags, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ),
    insertDocuments: () =>
      run<unknown[]>(
        `INSERT INTO documents (doc, id, created, updated, body, flags, checksum)
         VALUES ${rowsOf('(?, ?, ?, ?, ?, ?, ?)', INSERT_ROWS_AT_ONCE)}`,
      ),
    updateDocument: () =>
      run<[number, string, number, number, number]>(
        'UPDATE documents SET updated = ?, body = ?, flags = ?, checksum = ? WHERE doc = ?',
      ),
    setChecksum: () => run<[number, number]>('UPDATE documents SET checksum = ? WHERE doc = ? AND checksum IS NULL'),
    deleteDocument: () => run<[number]>('DELETE FROM documents WHERE doc = ?'),

    insertEntry: () => run<[number, Buffer, number]>('INSERT OR IGNORE INTO index_entries VALUES (?, ?, ?)'),
    insertEntries: () =>
      run<unknown[]>(`INSERT OR IGNORE INTO index_entries VALUES ${rowsOf('(?, ?, ?)', INSERT_ROWS_AT_ONCE)}`),
    /** Another document with this key. */
    otherEntry: () =>
      db
        .prepare<[number, Buffer, number], number>(
          'SELECT doc FROM index_entries WHERE index_number = (? + 0) AND key = ? AND doc <> (? + 0) LIMIT 1',
        )
        .pluck(),
    deleteEntry: () =>
      run<[number, Buffer, number]>('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND doc = ?'),
    deleteEntriesOf: () => run<[number, number]>('DELETE FROM index_entries WHERE index_number = (? + 0) AND doc = ?'),
    deleteEntries: () =>
      run<[number, number]>(
        `DELETE FROM index_entries WHERE (index_number, key, doc) IN
         (SELECT index_number, key, doc FROM index_entries WHERE index_number = (? + 0) LIMIT ? + 0)`,
      ),

    insertTable: () =>
      run<[number, string, number, number]>(
        'INSERT INTO tables (number, name, last_n, last_created, counted_to, checksum) VALUES (?, ?, 0, 0, ?, ?)',
      ),
    updateTableCounters: () =>
      run<[number, number, number, number, number]>(
        'UPDATE tables SET last_n = ?, last_created = ?, documents = ?, counted_to = ? WHERE number = ?',
      ),
    countSome: () =>
      db.prepare<[number, number, number], {documents: number; last: number | null}>(
        `SELECT count(*) AS documents, max(doc) AS last FROM
         (SELECT doc FROM documents WHERE doc > ? AND doc <= ? ORDER BY doc LIMIT ? + 0)`,
      ),
    updateTableSchema: () =>
      run<[string | null, string | null, number, number]>(
        'UPDATE tables SET fields = ?, deployed = ?, checksum = ? WHERE number = ?',
      ),
    renameTable: () => run<[string, number, number]>('UPDATE tables SET name = ?, checksum = ? WHERE number = ?'),
    insertIndex: () =>
      run<[number, number, string, string, string, number, 0 | 1, number]>(
        `INSERT INTO indexes (number, table_number, name, fields, state, built_to, is_unique, checksum)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
    updateIndex: () => run<[string, number, number]>('UPDATE indexes SET state = ?, built_to = ? WHERE number = ?'),
    setFailure: () => run<[string, number, number]>('UPDATE indexes SET failure = ?, checksum = ? WHERE number = ?'),
    deleteIndex: () => run<[number]>('DELETE FROM indexes WHERE number = ?'),

    insertJob: () =>
      run<[string, number, number, string, string | null, number]>(
        'INSERT INTO jobs (id, run_at, created_at, mutation, scheduled_by, checksum) VALUES (?, ?, ?, ?, ?, ?)',
      ),
    jobFunction: () =>
      db
        .prepare<[string], string | null>(
          // Damaged text is no JSON: the write of the job reports it.
          `SELECT CASE WHEN json_valid(mutation) AND json_extract(mutation, '$.type') = 'function'
             THEN json_extract(mutation, '$.path') END FROM jobs WHERE id = ?`,
        )
        .pluck(),
    job: () => db.prepare<[string], JobRow>('SELECT * FROM jobs WHERE id = ?'),
    /** Of these ids, as a JSON array, those whose work is short enough. */
    jobsAhead: () =>
      db.prepare<[string, number], JobRow>(
        'SELECT * FROM jobs WHERE id IN (SELECT value FROM json_each(?)) AND octet_length(mutation) <= ? + 0',
      ),
    deleteJob: () => run<[string]>('DELETE FROM jobs WHERE id = ?'),
    dueJobs: () =>
      db.prepare<[number, number], string>('SELECT id FROM jobs WHERE run_at <= ? ORDER BY run_at LIMIT ? + 0').pluck(),
    nextJobs: () =>
      db.prepare<[number], Due>(
        `SELECT id, run_at AS due FROM jobs WHERE run_at > ${LONG_AGO} ORDER BY run_at LIMIT ? + 0`,
      ),
    jobToCancel: () =>
      db.prepare<[string], {bytes: number; scheduled_by: string | null}>(
        'SELECT octet_length(mutation) AS bytes, scheduled_by FROM jobs WHERE id = ?',
      ),
    // The length of a text is in its row's header: this does not read the texts.
    countJobs: () =>
      db.prepare<[], PendingJobs>(
        'SELECT count(*) AS jobs, coalesce(sum(octet_length(mutation)), 0) AS bytes FROM jobs',
      ),
    insertJobResult: () =>
      run<[string, number, number, string, string, string | null, number]>(
        'INSERT INTO job_results (id, run_at, finished_at, mutation, outcome, error, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ),
    forgetJobResults: () => run<[number]>('DELETE FROM job_results WHERE n <= ?'),
    insertCron: () =>
      run<[CronRow]>(
        `INSERT INTO crons (name, interval_ms, expression, time_zone, mutation, enabled, next_run, created_at, checksum)
         VALUES (@name, @interval_ms, @expression, @time_zone, @mutation, @enabled, @next_run, @created_at, @checksum)`,
      ),
    cron: () => db.prepare<[string], CronRow>('SELECT * FROM crons WHERE name = ?'),
    deleteCron: () => run<[string]>('DELETE FROM crons WHERE name = ?'),
    dueCrons: () =>
      db
        .prepare<[number, number], string>(
          'SELECT name FROM crons WHERE enabled = 1 AND next_run <= ? ORDER BY next_run LIMIT ? + 0',
        )
        .pluck(),
    nextCrons: () =>
      db.prepare<[number], Due>(
        `SELECT name AS id, next_run AS due FROM crons WHERE enabled = 1 AND next_run > ${LONG_AGO} ORDER BY next_run LIMIT ? + 0`,
      ),
    farCrons: () =>
      db.prepare<[number], CronRow>(
        'SELECT * FROM crons WHERE enabled = 1 AND interval_ms > 0 AND next_run - interval_ms > ?',
      ),
    cronsByExpression: () =>
      db.prepare<[number], CronRow>('SELECT * FROM crons WHERE enabled = 1 AND interval_ms = 0 AND next_run > ?'),
    countCrons: () => db.prepare<[], number>('SELECT count(*) FROM crons').pluck(),
    cronChanged: () =>
      run<[number | null, number, string | null, string | null, number, number, string]>(
        `UPDATE crons SET last_run = ?, next_run = ?, last_outcome = ?, last_error = ?, failures = ?, checksum = ?
         WHERE name = ?`,
      ),

    cronDefined: () =>
      run<[CronRow]>(
        `UPDATE crons SET interval_ms = @interval_ms, expression = @expression, time_zone = @time_zone, mutation = @mutation,
           enabled = @enabled, next_run = @next_run, checksum = @checksum WHERE name = @name`,
      ),
    insertCronRun: () =>
      run<[string, number | null, number, string, string | null, number]>(
        'INSERT INTO cron_runs (name, due, ran_at, outcome, error, checksum) VALUES (?, ?, ?, ?, ?, ?)',
      ),
    /** All but this many of the newest. */
    forgetCronRuns: () =>
      run<[string, string, number]>(
        `DELETE FROM cron_runs WHERE name = ? AND n <=
           (SELECT n FROM cron_runs WHERE name = ? ORDER BY n DESC LIMIT 1 OFFSET (? + 0))`,
      ),

    journalHead: () =>
      db.prepare<[], {sequence: number; record: string; digest: string}>(
        'SELECT * FROM journal ORDER BY sequence DESC LIMIT 1',
      ),
    journalDigest: () => db.prepare<[number], string>('SELECT digest FROM journal WHERE sequence = ?').pluck(),
    appendJournal: () => run<[number, string, string, number]>('INSERT INTO journal VALUES (?, ?, ?, ?)'),
    /** Size of a record's text in bytes. */
    appendJournalBytes: () =>
      run<[number, Buffer, string, number]>('INSERT INTO journal VALUES (?, CAST(? AS TEXT), ?, ?)'),
    trimJournal: () => run<[number]>('DELETE FROM journal WHERE sequence < ?'),

    meta: () => db.prepare<[string], string | number>('SELECT value FROM meta WHERE key = ?').pluck(),
    setMeta: () => {
      const set = run<[string, string | number, number]>(SET_META);
      return {run: (key: string, value: string | number) => set.run(...metaRow(key, value))};
    },

    insertCode: () => run<[string, string, string | null]>('INSERT OR IGNORE INTO code VALUES (?, ?, ?)'),
    code: () =>
      db.prepare<[string], {source: string; source_map: string | null}>(
        'SELECT source, source_map FROM code WHERE sha256 = ?',
      ),
    insertDeployment: () =>
      run<[DeploymentRow]>(
        `INSERT INTO deployments (id, created_at, activated_at, message, manifest, files, modified_ms, seed, hash, development,
                                manifest_crc, checksum)
         VALUES (@id, @created_at, @activated_at, @message, @manifest, @files, @modified_ms, @seed, @hash, @development,
                 @manifest_crc, @checksum)`,
      ),
    deployment: () => db.prepare<[number], DeploymentRow>('SELECT * FROM deployments WHERE id = ?'),
    lastDeployment: () => db.prepare<[], number | null>('SELECT max(id) FROM deployments').pluck(),
    /** Those that expire last come first. */
    deploymentIdsToKeep: () =>
      db.prepare<[], number>('SELECT id FROM deployments ORDER BY development, id DESC').pluck(),
    deploymentActivated: () =>
      run<[number, number, number]>('UPDATE deployments SET activated_at = ?, checksum = ? WHERE id = ?'),
    forgetDeployment: () => run<[number]>('DELETE FROM deployments WHERE id = ?'),
    forgetCode: () =>
      run<[]>(
        `DELETE FROM code WHERE sha256 NOT IN
         (SELECT json_extract(file.value, '$.sha256') FROM deployments, json_each(deployments.files) AS file)`,
      ),

    environment: () =>
      db.prepare<[], CheckedColumns<'environment'> & {name: string; value: string}>(
        'SELECT * FROM environment ORDER BY name',
      ),
    setVariable: () =>
      run<[string, string, number]>(
        `INSERT INTO environment (name, value, checksum) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET value = excluded.value, checksum = excluded.checksum`,
      ),
    deleteVariable: () => run<[string]>('DELETE FROM environment WHERE name = ?'),

    putBulkRecord: () =>
      run<[string, string, string, number]>(
        `INSERT INTO bulk_records (id, kind, record, checksum) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET record = excluded.record, checksum = excluded.checksum`,
      ),
    removeBulkRecord: () => run<[string, string]>('DELETE FROM bulk_records WHERE id = ? AND kind = ?'),

    idempotent: () => db.prepare<[string], StoredReply>('SELECT * FROM idempotency WHERE key = ?'),
    insertIdempotent: () =>
      run<[string, string, number, string, number, number]>(
        `INSERT INTO idempotency (key, request, status, body, created_ms, checksum) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET request = excluded.request, status = excluded.status, body = excluded.body,
           created_ms = excluded.created_ms, checksum = excluded.checksum`,
      ),
    clientMutation: () =>
      db.prepare<[string, number], ClientMutation>(
        'SELECT * FROM client_mutations WHERE client_id = ? AND request_id = ?',
      ),
    insertClientMutation: () =>
      run<[string, number, string, string, number, number, number]>(
        `INSERT INTO client_mutations (client_id, request_id, request, value, sequence, created_ms, checksum)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ),
    settleClientMutations: () =>
      run<[string, number, number]>(
        `DELETE FROM client_mutations WHERE (client_id, request_id) IN
           (SELECT client_id, request_id FROM client_mutations WHERE client_id = ? AND request_id < ? ORDER BY request_id LIMIT ? + 0)`,
      ),
    expireClientMutations: () =>
      run<[number, number]>(
        `DELETE FROM client_mutations WHERE (client_id, request_id) IN
           (SELECT client_id, request_id FROM client_mutations WHERE created_ms < ? ORDER BY created_ms LIMIT ? + 0)`,
      ),
    expireIdempotent: () =>
      run<[number, number]>(
        'DELETE FROM idempotency WHERE key IN (SELECT key FROM idempotency WHERE created_ms < ? ORDER BY created_ms LIMIT ? + 0)',
      ),
  });
}

function rowsOf(row: string, count: number): string {
  return new Array(count).fill(row).join(', ');
}

/**
 * Values that are made on first use. They are read through getters of a prototype, which costs a call that the compiler
 * inlines: a statement is read for each row that is written.
 */
type Makers = Readonly<Record<string, () => unknown>>;
export type Made<M extends Makers> = {readonly [Name in keyof M]: ReturnType<M[Name]>};

export function onFirstUse<M extends Makers>(makers: M): Made<M> {
  const made: unknown[] = [];
  const prototype = {};
  for (const [place, [name, make]] of Object.entries(makers).entries()) {
    made.push(undefined);
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get: () => (made[place] ??= make()),
    });
  }
  return Object.create(prototype) as Made<M>;
}
