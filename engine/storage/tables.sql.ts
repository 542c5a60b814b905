/**
 * The tables of a tenant's file; each tenant has one file. The statements that write are in `statements.ts`, those that
 * serve clients in `reader.ts` and the modules that use them.
 *
 * `doc` numbers every document once: `table number * DOCS_PER_TABLE + n`, n counting up from 1 and never used again. So
 * a table is one contiguous range of the documents' B-tree, in creation order, and "by creation time, then id" is `doc`
 * order, because creation times strictly increase within a table. Index entries end in `doc` for the same reason; the
 * two columns would give the same order in more bytes.
 */
import type {RowKind} from './row-checksum.ts';

export const DOCS_PER_TABLE = 2 ** 37;

/** PRAGMA application_id of a tenant's file: "svct". */
export const APPLICATION_ID = 0x73766374;

export const CREATE_TABLES = `
  -- One value a key: clean (1 after an orderly close), journal_head (its sequence then), journal_floor and
  -- floor_previous_digest (what retention kept), and more beside what uses them.
  CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY
  ) STRICT, WITHOUT ROWID;

  -- Tables, numbered from 1 in order of first use; the number is part of every id made for the table.
  -- last_n: the highest n given to a document. last_created: the newest creation time, epoch milliseconds.
  -- fields: JSON of the table schema's field entries, or null when the table has no schema.
  CREATE TABLE tables (
    number       INTEGER PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    last_n       INTEGER NOT NULL,
    last_created REAL NOT NULL,
    fields       TEXT
  ) STRICT;

  -- body: JSON of the user's fields, keys sorted. created, updated: epoch milliseconds, fractions allowed.
  -- flags: bit 0, the body holds $float wrappers.
  CREATE TABLE documents (
    doc     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    body    TEXT NOT NULL,
    flags   INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX documents_by_id ON documents (id);

  -- state: building (entries are kept by writes, the back-fill has reached built_to), enabled, or dropping (no longer
  -- kept; its entries are being removed). fields: JSON array of paths.
  CREATE TABLE indexes (
    number       INTEGER PRIMARY KEY,
    table_number INTEGER NOT NULL REFERENCES tables (number),
    name         TEXT NOT NULL,
    fields       TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('building', 'enabled', 'dropping')),
    built_to     INTEGER NOT NULL
  ) STRICT;

  -- key: the encoded values of the index's fields (values/key-encoding.ts), compared by memcmp.
  CREATE TABLE index_entries (
    index_number INTEGER NOT NULL,
    key          BLOB NOT NULL,
    doc          INTEGER NOT NULL,
    PRIMARY KEY (index_number, key, doc)
  ) STRICT, WITHOUT ROWID;

  -- record: the record's JSON without integrity_sha256; digest: that field, hex.
  CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY,
    record   TEXT NOT NULL,
    digest   TEXT NOT NULL
  ) STRICT;

  -- Replies to writes that carried an Idempotency-Key. request: SHA-256 of operation, parameters and body, hex.
  CREATE TABLE idempotency (
    key        TEXT PRIMARY KEY,
    request    TEXT NOT NULL,
    status     INTEGER NOT NULL,
    body       TEXT NOT NULL,
    created_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_ms);

  -- Work that runs once. run_at, created_at: epoch milliseconds. mutation: JSON of the mutation object.
  CREATE TABLE jobs (
    id         TEXT PRIMARY KEY,
    run_at     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    mutation   TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX jobs_by_time ON jobs (run_at);

  -- What became of jobs; n counts up, so that the oldest can be forgotten.
  CREATE TABLE job_results (
    n           INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    run_at      INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    mutation    TEXT NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('completed', 'failed')),
    error       TEXT
  ) STRICT;

  -- Work that repeats. A cron's ticks are created_at plus whole intervals; next_run is the first one not run yet.
  CREATE TABLE crons (
    name        TEXT PRIMARY KEY,
    interval_ms INTEGER NOT NULL,
    mutation    TEXT NOT NULL,
    enabled     INTEGER NOT NULL,
    last_run    INTEGER,
    next_run    INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX crons_by_time ON crons (next_run) WHERE enabled = 1;

  INSERT INTO meta (key, value) VALUES ('clean', 1), ('journal_floor', 1);
`;

/** The function platform, from version 2 on. */
export const CREATE_FUNCTION_TABLES = `
  -- Files of deployments, each kept once. sha256: over source and source map, hex. source_map: JSON, or null.
  CREATE TABLE code (
    sha256     TEXT PRIMARY KEY,
    source     TEXT NOT NULL,
    source_map TEXT
  ) STRICT, WITHOUT ROWID;

  -- manifest: JSON of Manifest. files: JSON array of {path, sha256}. modified_ms: the deployment timestamp. seed: 32 hex
  -- characters. hash: over all files. Which one is active says the meta value active_deployment.
  CREATE TABLE deployments (
    id           INTEGER PRIMARY KEY,
    created_at   INTEGER NOT NULL,
    activated_at INTEGER NOT NULL,
    message      TEXT,
    manifest     TEXT NOT NULL,
    files        TEXT NOT NULL,
    modified_ms  INTEGER NOT NULL,
    seed         TEXT NOT NULL,
    hash         TEXT NOT NULL
  ) STRICT;

  -- What functions see as process.env.
  CREATE TABLE environment (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The table's part of the active deployment's schema (JSON of DeployedTable), or null.
  ALTER TABLE tables ADD COLUMN deployed TEXT;
`;

/** From version 3 on: see identity.ts. */
export const ADD_TIMELINE = `
  INSERT INTO meta (key, value) VALUES ('tenant_timeline', lower(hex(randomblob(16))));
`;

/**
 * From version 4 on. documents: number of the table's documents with a number up to counted_to. An older table is
 * counted in the background; a new one starts with counted_to above all its numbers, so documents is its count.
 */
export const ADD_COUNTS = `
  ALTER TABLE tables ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tables ADD COLUMN counted_to INTEGER NOT NULL DEFAULT 0;
`;

/** From version 5 on documents have a checksum. Adding a column does not touch the rows. */
export const ADD_CHECKSUMS = `
  -- documentChecksum() of the row; null in rows written before, until they are written again or the scrub has passed.
  ALTER TABLE documents ADD COLUMN checksum INTEGER;
`;

/** The outcomes of the runs of crons, from version 6 on. */
export const ADD_CRON_OUTCOMES = `
  -- last_outcome: completed, failed, or null before the first run. last_error: why it failed. failures: those in a row.
  ALTER TABLE crons ADD COLUMN last_outcome TEXT;
  ALTER TABLE crons ADD COLUMN last_error TEXT;
  ALTER TABLE crons ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX crons_failing ON crons (name) WHERE failures > 0;
`;

/** The caller that scheduled a job, from version 7 on. */
export const ADD_JOB_OWNERS = `
  -- Who may cancel a job without an admin credential: the token identifier of who scheduled it over HTTP, empty for a caller
  -- without a token; null: nobody.
  ALTER TABLE jobs ADD COLUMN scheduled_by TEXT;
`;

/** From version 8 on. development: 1 for a deployment of svc dev, which the history drops before others. */
export const ADD_DEVELOPMENT = `
  ALTER TABLE deployments ADD COLUMN development INTEGER NOT NULL DEFAULT 0;
`;

const KINDS_OF_VERSION_9 = ['jobs', 'job_results', 'crons', 'environment', 'idempotency', 'tables', 'indexes'] as const;

/** From version 9 on: checksums of rows that are neither documents nor records, see row-checksum.ts. */
export const ADD_ROW_CHECKSUMS = KINDS_OF_VERSION_9.map(
  kind => `ALTER TABLE ${kind} ADD COLUMN checksum INTEGER;`,
).join('\n');

/** From version 10 on: checksums of all other rows. manifest_crc: of the manifest alone. */
export const ADD_MORE_ROW_CHECKSUMS = `
  ALTER TABLE meta ADD COLUMN checksum INTEGER;
  ALTER TABLE deployments ADD COLUMN manifest_crc INTEGER;
  ALTER TABLE deployments ADD COLUMN checksum INTEGER;
`;

const KINDS_OF_VERSION_10: readonly RowKind[] = [...KINDS_OF_VERSION_9, 'meta', 'deployments'];

/** Small tables with a row count and a sum of checksums. */
export const SUMMED_KINDS: readonly RowKind[] = [
  ...KINDS_OF_VERSION_10,
  'client_mutations',
  'control_records',
  'services',
  'bulk_records',
  'cron_runs',
];

/** A row's contribution to its table's sum. A deployment's checksum is stored after its manifest, which can be long. */
export function weightOf(kind: RowKind, row = ''): string {
  return kind === 'deployments' ? `${row}id` : `coalesce(${row}checksum, 0)`;
}

/**
 * From version 10 on: the number of rows of each small table, and the sum of their checksums. Triggers update them in
 * the transaction that changes the rows, so a table that lost rows through any damage does not match. See row-sums.ts.
 */
export const ADD_ROW_SUMS = `
  CREATE TABLE row_sums (
    kind TEXT PRIMARY KEY,
    rows INTEGER NOT NULL,
    sum  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
${KINDS_OF_VERSION_10.map(sumsOf).join('\n')}
`;

/** Starts the count and the sum of one table. */
function sumsOf(kind: RowKind): string {
  return `
  INSERT INTO row_sums SELECT '${kind}', count(*), coalesce(sum(${weightOf(kind)}), 0) FROM ${kind};
  CREATE TRIGGER ${kind}_added AFTER INSERT ON ${kind} BEGIN
    UPDATE row_sums SET rows = rows + 1, sum = sum + ${weightOf(kind, 'new.')} WHERE kind = '${kind}';
  END;
  CREATE TRIGGER ${kind}_removed AFTER DELETE ON ${kind} BEGIN
    UPDATE row_sums SET rows = rows - 1, sum = sum - ${weightOf(kind, 'old.')} WHERE kind = '${kind}';
  END;
  CREATE TRIGGER ${kind}_changed AFTER UPDATE OF checksum ON ${kind} BEGIN
    UPDATE row_sums SET sum = sum + ${weightOf(kind, 'new.')} - ${weightOf(kind, 'old.')} WHERE kind = '${kind}';
  END;`;
}

/** From version 11 on: client mutations on sockets run exactly once. */
export const ADD_CLIENT_MUTATIONS = `
  -- What those came to that were committed. request: SHA-256 of path and arguments, and of who asked, hex. value: wire JSON. sequence: the one that has its
  -- effect. created_ms: epoch milliseconds.
  CREATE TABLE client_mutations (
    client_id  TEXT NOT NULL,
    request_id INTEGER NOT NULL,
    request    TEXT NOT NULL,
    value      TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    checksum   INTEGER NOT NULL,
    PRIMARY KEY (client_id, request_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX client_mutations_by_age ON client_mutations (created_ms);
${sumsOf('client_mutations')}
`;

/** From version 12 on: the state of service control. */
export const CREATE_CONTROL_RECORDS = `
  -- Sandboxes and sessions. kind: sandbox or session. record: JSON as control-records.ts has it.
  CREATE TABLE control_records (
    id       TEXT PRIMARY KEY,
    kind     TEXT NOT NULL,
    record   TEXT NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
${sumsOf('control_records')}
`;

/** From version 16 on: crons by expression, and the outcome of each of their runs. */
export const ADD_CRON_RUNS = `
  -- expression, time_zone: of a cron by expression, whose interval_ms is 0; else null.
  ALTER TABLE crons ADD COLUMN expression TEXT;
  ALTER TABLE crons ADD COLUMN time_zone TEXT;
  -- due: the tick, epoch milliseconds; null when the run was asked for.
  CREATE TABLE cron_runs (
    n        INTEGER PRIMARY KEY AUTOINCREMENT,
    name     TEXT NOT NULL,
    due      INTEGER,
    ran_at   INTEGER NOT NULL,
    outcome  TEXT NOT NULL CHECK (outcome IN ('completed', 'failed')),
    error    TEXT,
    checksum INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX cron_runs_by_name ON cron_runs (name, n);
${sumsOf('cron_runs')}
`;

/** From version 17 on: the number of the commit that has the record, see commit-number.ts. */
export const ADD_COMMIT_NUMBERS = `
  ALTER TABLE journal ADD COLUMN commit_number INTEGER;
`;

/**
 * From version 14 on: unique indexes. The table is created again, because its states are in a CHECK.
 * is_unique: 1 when no two documents can have the same values. failure: JSON array of the first documents that do, or
 * null.
 * state failed: such documents were found; its entries are not maintained, and stay until it is dropped.
 */
export const ADD_UNIQUE_INDEXES = `
  CREATE TABLE unique_indexes (
    number       INTEGER PRIMARY KEY,
    table_number INTEGER NOT NULL REFERENCES tables (number),
    name         TEXT NOT NULL,
    fields       TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('building', 'enabled', 'failed', 'dropping')),
    built_to     INTEGER NOT NULL,
    checksum     INTEGER,
    is_unique    INTEGER NOT NULL DEFAULT 0,
    failure      TEXT
  ) STRICT;
  INSERT INTO unique_indexes SELECT number, table_number, name, fields, state, built_to, checksum, 0, NULL FROM indexes;
  DROP TABLE indexes;
  ALTER TABLE unique_indexes RENAME TO indexes;
  DELETE FROM row_sums WHERE kind = 'indexes';
${sumsOf('indexes')}
`;

/** From version 13 on: services, and their desired state. */
export const CREATE_SERVICES = `
  -- record: JSON as shared/protocol/services.ts has it; its state is what it was when something of it was written last.
  CREATE TABLE services (
    name     TEXT PRIMARY KEY,
    record   TEXT NOT NULL,
    checksum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
${sumsOf('services')}
`;

/** From the version with bulk work on: imports that can be continued, and tasks. */
export const CREATE_BULK_RECORDS = `
  -- kind: import or task. record: JSON as shared/protocol/imports.ts and tasks.ts have it, and what it takes to go on.
  CREATE TABLE bulk_records (
    id       TEXT NOT NULL,
    kind     TEXT NOT NULL,
    record   TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (id, kind)
  ) STRICT, WITHOUT ROWID;
${sumsOf('bulk_records')}
`;
