/**
 * Checksums of the rows that are neither documents nor journal records: scheduled work and its results, schemas,
 * indexes, environment variables, replies stored for an `Idempotency-Key`, deployments, sandboxes, sessions and
 * services, and the single values in `meta` (settings, the active deployment, the file's identity). These tables are
 * small and change seldom, so the checksum is a CRC-32 over the row's JSON, verified whenever a row is read. A
 * manifest, which can be long, has its own (`manifest_crc`), so that a deployment can be listed without it.
 */
import {crc32} from 'node:zlib';
import {type Damage, storageDamaged} from './damage.ts';

/**
 * The columns that each kind of row's checksum covers. Order and names are part of the stored format: a change is a new
 * storage version.
 */
const COLUMNS = {
  jobs: ['id', 'run_at', 'created_at', 'mutation', 'scheduled_by'],
  job_results: ['id', 'run_at', 'finished_at', 'mutation', 'outcome', 'error'],
  crons: [
    'name',
    'interval_ms',
    'mutation',
    'enabled',
    'last_run',
    'next_run',
    'created_at',
    'last_outcome',
    'last_error',
    'failures',
  ],
  environment: ['name', 'value'],
  idempotency: ['key', 'request', 'status', 'body', 'created_ms'],
  client_mutations: ['client_id', 'request_id', 'request', 'value', 'sequence', 'created_ms'],
  tables: ['number', 'name', 'fields', 'deployed'],
  indexes: ['number', 'table_number', 'name', 'fields'],
  meta: ['key', 'value'],
  deployments: [
    'id',
    'created_at',
    'activated_at',
    'message',
    'manifest_crc',
    'files',
    'modified_ms',
    'seed',
    'hash',
    'development',
  ],
  control_records: ['id', 'kind', 'record'],
  services: ['name', 'record'],
  bulk_records: ['id', 'kind', 'record'],
  cron_runs: ['name', 'due', 'ran_at', 'outcome', 'error'],
} as const;

/** Columns added later. A row in which one is empty (0, null) leaves it out, so its checksum stays the same. */
const LATER_COLUMNS: {readonly [Kind in keyof typeof COLUMNS]?: readonly string[]} = {
  indexes: ['is_unique', 'failure'],
  crons: ['expression', 'time_zone'],
};

export type RowKind = keyof typeof COLUMNS;
export const ROW_KINDS = Object.keys(COLUMNS) as RowKind[];

/** The columns of one kind; other columns are ignored. */
type Columns<Kind extends RowKind> = {[Column in (typeof COLUMNS)[Kind][number]]: string | number | null};
/** `checksum` null or undefined: last written by a version without checksums. */
export type CheckedColumns<Kind extends RowKind> = Columns<Kind> & {checksum?: number | null};

const WHAT: Record<RowKind, string> = {
  jobs: 'the pending job',
  job_results: 'the result of job',
  crons: 'the cron',
  environment: 'the environment variable',
  idempotency: 'the reply kept for Idempotency-Key',
  client_mutations: 'the outcome of a mutation of client',
  tables: 'the schema of table',
  indexes: 'the index',
  meta: 'the value',
  deployments: 'the deployment',
  control_records: 'the record of',
  services: 'the service',
  bulk_records: 'the import or task',
  cron_runs: 'a run of cron',
};

/** The `request` of a client's mutation whose damaged row was repaired: it is only known that the mutation ran. */
export const LOST_REQUEST = 'lost';

/** A signed 32-bit number, which SQLite stores in four bytes. */
export function rowChecksum<Kind extends RowKind, Row extends Columns<Kind>>(kind: Kind, row: Row): number {
  const columns: Readonly<Record<string, unknown>> = row;
  const values = COLUMNS[kind].map(column => stored(columns[column]));
  for (const column of LATER_COLUMNS[kind] ?? []) if (columns[column]) values.push(column, stored(columns[column]));
  return crc32(JSON.stringify(values)) | 0;
}

/** The form that SQLite stores. */
function stored(value: unknown): unknown {
  return typeof value === 'string' && !value.isWellFormed() ? value.toWellFormed() : value;
}

export function isSoundRow<Kind extends RowKind>(kind: Kind, row: CheckedColumns<Kind>): boolean {
  const {checksum = null} = row;
  return checksum === null || checksum === rowChecksum(kind, row);
}

/** @throws op.storage_damaged 503 */
export function checkedRowOf<Kind extends RowKind, Row extends CheckedColumns<Kind>>(kind: Kind, row: Row): Row {
  if (!isSoundRow(kind, row)) throw storageDamaged(rowDamage(kind, row));
  return row;
}

export function rowDamage<Kind extends RowKind>(kind: Kind, row: CheckedColumns<Kind>): Damage {
  const named: Record<string, unknown> = row;
  const name = named.name ?? named.id ?? named.key ?? named.client_id ?? '';
  return {check: 'checksum', stored: `${WHAT[kind]} ${JSON.stringify(name)}`};
}

/** The CRC-32 of a manifest, which is stored with it. */
export function manifestCrc(manifest: string): number {
  return crc32(manifest) | 0;
}

/** For a deployment with its manifest. @throws op.storage_damaged 503 */
export function checkedDeployment<Row extends CheckedColumns<'deployments'> & {manifest: string}>(row: Row): Row {
  checkedRowOf('deployments', row);
  if (row.manifest_crc === null || row.manifest_crc === manifestCrc(row.manifest)) return row;
  throw storageDamaged(rowDamage('deployments', row));
}
