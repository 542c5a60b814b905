/** The metrics that the supervisor itself has. */
import type {MetricTable} from './metrics.ts';
import {ROUTER_METRICS} from './router-metrics.ts';

export const SUPERVISOR_METRICS = {
  svc_wall: {
    type: 'gauge',
    help: 'Sandbox layers around workers: 1 where the layer is active, 0 where this machine does not provide it',
    labels: ['wall'],
  },
  svc_build_info: {
    type: 'gauge',
    help: 'The version and build of this server, and of its Node, as labels; always 1',
    labels: ['version', 'build', 'node'],
  },
  svc_wake_seconds: {
    type: 'histogram',
    help: 'Time from taking a worker for a tenant until it serves, by whether it was a spare or a new process',
    labels: ['kind'],
    from: ['spare', 'cold'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  svc_wake_failures_total: {type: 'counter', help: 'Wakes of tenants that failed to bring up a worker'},
  svc_process_deaths_total: {
    type: 'counter',
    help: 'Processes that ended unexpectedly, by kind',
    labels: ['process'],
    from: ['router', 'worker', 'egress', 'copier', 'cluster'],
  },
  svc_process_kills_total: {
    type: 'counter',
    help: 'Processes that the supervisor killed, by reason: hung, too much memory, or a protocol violation',
    labels: ['process', 'reason'],
  },
  svc_refusals_unrecorded_total: ROUTER_METRICS.svc_refusals_unrecorded_total,
  svc_tenants: {type: 'gauge', help: 'Tenants that exist'},
  svc_spare_workers: {type: 'gauge', help: 'Started workers without a tenant'},
  svc_data_unwritable: {
    type: 'gauge',
    help: '1 after the disk did not take the last change of the registry, though it is not full: changes are refused',
  },
  svc_workers: {
    type: 'gauge',
    help: 'Tenants by the state of their worker; tenants asleep are not counted',
    labels: ['state'],
  },
  svc_process_resident_bytes: {
    type: 'gauge',
    help: 'Resident memory of the processes of the server, by kind; a shared page counts once per process',
    labels: ['kind'],
  },
  svc_backup_last_proven_timestamp_seconds: {
    type: 'gauge',
    help: 'When a drill last proved all tenants that it restored, as seconds since 1970; 0: never',
  },
  svc_process_cpu_seconds_total: {
    type: 'counter',
    help: 'CPU time of the processes of the server, by kind, as of their last scrape',
    labels: ['kind'],
  },
} as const satisfies MetricTable;

/** Of the page that adds up all processes. */
export const PAGE_METRICS = {
  svc_metrics_missing_total: {type: 'counter', help: 'Processes that did not report in time for a scrape.'},
} as const satisfies MetricTable;
