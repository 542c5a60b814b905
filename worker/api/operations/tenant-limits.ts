/** The limits that apply to a tenant, with how much of each is used, for those that count what the tenant has. */
import {
  CRONS_MAX,
  JOBS_PENDING_BYTES_MAX,
  JOBS_PENDING_MAX,
  LIVE_QUERIES_MAX,
  PAGE_DOCUMENTS_MAX,
  SCAN_DOCUMENTS_MAX,
  TABLES_MAX,
} from '../../../engine/limits.ts';
import {
  BODY_BYTES_MAX,
  CRON_SECONDS_MIN,
  DEPLOYMENT_BYTES_MAX,
  DOCUMENT_BYTES_MAX,
  ENVIRONMENT_VALUE_BYTES_MAX,
  FILTERS_MAX,
  HTTP_ACTION_BODY_BYTES_MAX,
  IMPORT_BYTES_MAX,
  INDEX_FIELDS_MAX,
  RESULT_BYTES_MAX,
  SCHEMA_FIELDS_MAX,
  SCHEMA_INDEXES_MAX,
  SERVICE_MEMORY_MB_MAX,
  TRANSACTION_OPERATIONS_MAX,
} from '../../../shared/limits.ts';
import type {TenantLimit} from '../../../shared/protocol/limits.ts';
import {NESTING_LEVELS_MAX} from '../../../shared/values/value-limits.ts';
import {SANDBOXES_MAX, SERVICES_MAX, SESSIONS_MAX} from '../../control/limits.ts';
import {DEPLOYMENTS_KEEP, FUNCTION_SOCKETS_MAX, SCHEDULED_JOBS_PER_MUTATION_MAX} from '../../functions/limits.ts';
import {FUNCTION_RESULT_BYTES_MAX} from '../../runtime/guest/limits.ts';
import {
  ACTION_MS_MAX,
  ACTIONS_MAX,
  ENVIRONMENT_VARIABLES_MAX,
  FUNCTION_ARGUMENT_BYTES_MAX,
  FUNCTION_MS_MAX,
  FUNCTION_READ_BYTES_MAX,
  FUNCTION_READ_DOCUMENTS_MAX,
  FUNCTION_READS_MAX,
  FUNCTION_WRITTEN_BYTES_MAX,
  FUNCTION_WRITTEN_DOCUMENTS_MAX,
  ISOLATE_MEMORY_MB,
} from '../../runtime/limits.ts';

/** What the tenant has now, and its settings. */
export type TenantUse = {
  storageBytes: number;
  /** 0: no limit. */
  storageBytesMax: number;
  journalRecords: number;
  journalKeepRecords: number;
  tables: number;
  jobs: {jobs: number; bytes: number};
  crons: number;
  liveQueries: number;
  servicesMemoryMb: number;
};

type Row = [name: string, unit: TenantLimit['unit'], limit: number | null, used: number | null, meaning: string];

const MIB = 2 ** 20;

export function tenantLimits(use: TenantUse): TenantLimit[] {
  const {storageBytes, storageBytesMax, jobs} = use;
  return [
    ...area('storage', [
      ['stored', 'bytes', storageBytesMax || null, storageBytes, '--tenant-storage-max; beyond it writes get 507'],
      [
        ...(['journal_records', 'count', use.journalKeepRecords, use.journalRecords] as const),
        '--journal-keep-records; the oldest are removed',
      ],
      ['tables', 'count', TABLES_MAX, use.tables, 'tables of all time, dropped ones too'],
    ]),
    ...area('documents', [
      ['document', 'bytes', DOCUMENT_BYTES_MAX, null, 'JSON of one document'],
      ['nesting', 'count', NESTING_LEVELS_MAX, null, 'levels of objects and arrays in a document'],
      ['transaction', 'count', TRANSACTION_OPERATIONS_MAX, null, 'operations of one transaction'],
      ['body', 'bytes', BODY_BYTES_MAX, null, 'body of one request'],
      ['import', 'bytes', IMPORT_BYTES_MAX, null, 'one import'],
    ]),
    ...area('queries', [
      ['result', 'bytes', RESULT_BYTES_MAX, null, 'result of one query; use pages for more'],
      ['page', 'count', PAGE_DOCUMENTS_MAX, null, 'documents on one page'],
      ['scan', 'count', SCAN_DOCUMENTS_MAX, null, 'documents that one query reads; use an index for more'],
      ['filters', 'count', FILTERS_MAX, null, 'filters of one query'],
      ['live_queries', 'count', LIVE_QUERIES_MAX, use.liveQueries, 'distinct live queries of the native API'],
    ]),
    ...area('schema', [
      ['fields', 'count', SCHEMA_FIELDS_MAX, null, 'declared fields of a table'],
      ['indexes', 'count', SCHEMA_INDEXES_MAX, null, 'indexes of a table'],
      ['index_fields', 'count', INDEX_FIELDS_MAX, null, 'fields of an index'],
    ]),
    ...area('schedule', [
      ['jobs', 'count', JOBS_PENDING_MAX, jobs.jobs, 'pending jobs'],
      ['jobs_size', 'bytes', JOBS_PENDING_BYTES_MAX, jobs.bytes, 'pending jobs with their arguments'],
      ['crons', 'count', CRONS_MAX, use.crons, 'crons'],
      ['cron_interval', 'milliseconds', CRON_SECONDS_MIN * 1_000, null, 'shortest interval of a cron'],
    ]),
    ...area('functions', [
      ['cpu_time', 'milliseconds', FUNCTION_MS_MAX, null, 'CPU time of one query or mutation'],
      ['action_time', 'milliseconds', ACTION_MS_MAX, null, 'duration of one action'],
      ['actions', 'count', ACTIONS_MAX, null, 'actions at the same time'],
      ['memory', 'bytes', ISOLATE_MEMORY_MB * MIB, null, 'heap and buffers of one isolate'],
      ['arguments', 'bytes', FUNCTION_ARGUMENT_BYTES_MAX, null, 'arguments of one call'],
      ['function_result', 'bytes', FUNCTION_RESULT_BYTES_MAX, null, 'result of one call'],
      ['reads', 'count', FUNCTION_READS_MAX, null, 'gets and queries of one query or mutation'],
      ['read_documents', 'count', FUNCTION_READ_DOCUMENTS_MAX, null, 'documents that one query or mutation reads'],
      ['read_size', 'bytes', FUNCTION_READ_BYTES_MAX, null, 'size of the documents that one query or mutation reads'],
      ['written_documents', 'count', FUNCTION_WRITTEN_DOCUMENTS_MAX, null, 'documents that one mutation writes'],
      ['written_size', 'bytes', FUNCTION_WRITTEN_BYTES_MAX, null, 'size of the documents that one mutation writes'],
      ['scheduled_jobs', 'count', SCHEDULED_JOBS_PER_MUTATION_MAX, null, 'jobs that one mutation schedules'],
      ['http_body', 'bytes', HTTP_ACTION_BODY_BYTES_MAX, null, 'body of a request to an HTTP action'],
      ['sockets', 'count', FUNCTION_SOCKETS_MAX, null, 'function sockets'],
    ]),
    ...area('deployments', [
      ['deployment', 'bytes', DEPLOYMENT_BYTES_MAX, null, 'one upload'],
      ['deployments', 'count', DEPLOYMENTS_KEEP, null, 'deployments kept for a rollback'],
      ['variables', 'count', ENVIRONMENT_VARIABLES_MAX, null, 'environment variables'],
      ['variable', 'bytes', ENVIRONMENT_VALUE_BYTES_MAX, null, 'value of one variable'],
    ]),
    ...area('services', [
      ['services', 'count', SERVICES_MAX, null, 'services'],
      [
        ...(['services_memory', 'bytes', use.servicesMemoryMb * MIB, null] as const),
        '--tenant-services-memory-mb; memory of all services together',
      ],
      ['service_memory', 'bytes', SERVICE_MEMORY_MB_MAX * MIB, null, 'memory of one service'],
      ['sandboxes', 'count', SANDBOXES_MAX, null, 'running sandboxes'],
      ['sessions', 'count', SESSIONS_MAX, null, 'open sessions'],
    ]),
  ];
}

function area(of: TenantLimit['area'], rows: Row[]): TenantLimit[] {
  return rows.map(([name, unit, limit, used, meaning]) => ({name, area: of, unit, limit, used, meaning}));
}
