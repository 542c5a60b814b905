/** The metrics of the copier. */
import type {MetricTable} from './metrics.ts';

export const COPIER_METRICS = {
  svc_backup_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest commit of all tenants that is not in the repository; grows while the copier does not answer; 0: all are',
  },
  svc_backup_last_success_timestamp_seconds: {
    type: 'gauge',
    help: 'When the repository last had everything, as seconds since 1970; 0: never',
  },
  svc_backup_errors_total: {
    type: 'counter',
    help: 'Failures to copy, by kind: of the store, of the repository, of the spool or the data key of a tenant, of the heartbeat URL',
    labels: ['kind'],
    from: ['unavailable', 'timeout', 'refused', 'no_space', 'locked', 'spool', 'key', 'heartbeat'],
  },
  svc_backup_puts_total: {type: 'counter', help: 'Objects stored in the repository'},
  svc_backup_bytes_total: {type: 'counter', help: 'Bytes stored in the repository'},
  svc_backup_spool_bytes: {type: 'gauge', help: 'Bytes of page sets that are not in the repository'},
  svc_backup_bases_total: {type: 'counter', help: 'Bases stored in the repository: copies of a whole tenant'},
} as const satisfies MetricTable;
