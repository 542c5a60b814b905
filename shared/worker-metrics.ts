/**
 * What workers count, with the labels that each may have. The supervisor shows nothing else of what a worker says it counts: code that
 * has left its isolate can say anything, and the page is everybody's. It also shows each from the start, before any tenant is awake.
 */
import type {MetricJson} from './metric-json.ts';

export type WorkerMetricShape = {
  type: MetricJson['type'];
  help: string;
  /** `sum` unless said. */
  aggregator?: MetricJson['aggregator'];
  /** None unless said. */
  labels?: readonly string[];
};

const METRICS = {
  svc_worker_operations_total: {type: 'counter', help: 'Operations answered by workers.', labels: ['op']},
  svc_commit_writes_total: {type: 'counter', help: 'Writes that took part in a commit.'},
  svc_commit_group_writes: {type: 'histogram', help: 'Writes a commit group.'},
  svc_commit_seconds: {type: 'histogram', help: 'Time of COMMIT, which writes the log.'},
  svc_commit_fsync_seconds: {type: 'histogram', help: 'Time from COMMIT until the log is synced.'},
  svc_commit_syncs_total: {
    type: 'counter',
    help: 'Syncs of the log, by who made them: the thread that writes, or one of the pool.',
    labels: ['by'],
  },
  svc_commit_group_seconds: {type: 'histogram', help: 'Time of a whole commit group without its sync.'},
  svc_checkpoint_seconds: {type: 'histogram', help: 'Time of a WAL checkpoint.'},
  svc_scheduled_runs_total: {type: 'counter', help: 'Jobs and cron ticks that ran.', labels: ['kind', 'outcome']},
  svc_scheduled_lateness_seconds: {type: 'histogram', help: 'How long after its time scheduled work ran.'},
  svc_function_executions_total: {
    type: 'counter',
    help: 'Functions that ran to their end.',
    labels: ['kind', 'outcome'],
  },
  svc_function_seconds: {type: 'histogram', help: 'Time of a function, waiting for its turn included.'},
  svc_sandbox_executions_total: {
    type: 'counter',
    help: 'Executions in sandboxes, by what came of them.',
    labels: ['outcome'],
  },
  svc_sandbox_execution_seconds: {type: 'histogram', help: 'Time of an execution in a sandbox.'},
  svc_sandboxes_ended_total: {
    type: 'counter',
    help: 'Sandboxes that ended, by the state they ended in.',
    labels: ['state'],
  },
  svc_sandboxes_running: {type: 'gauge', help: 'Sandboxes that run.'},
  svc_sandbox_bytes: {type: 'gauge', help: 'What processes of sandboxes take, without mapped files.'},
  svc_sessions_open: {type: 'gauge', help: 'Sessions that are open.'},
  svc_services: {type: 'gauge', help: 'Services of tenants that are awake, by state.', labels: ['state']},
  svc_service_bytes: {type: 'gauge', help: 'What processes of services take, without mapped files.'},
  svc_service_exits_total: {type: 'counter', help: 'Processes of services that ended, by why.', labels: ['reason']},
  svc_function_results_total: {
    type: 'counter',
    help: 'Calls of query functions, by whether a kept result answered them.',
    labels: ['how'],
  },
  svc_function_results_dropped_total: {type: 'counter', help: 'Kept results that went, by cause.', labels: ['cause']},
  svc_node_processes: {type: 'gauge', help: 'Node processes of modules with "use node".'},
  svc_node_process_bytes: {type: 'gauge', help: 'What they take, without mapped files.'},
  svc_node_process_ends_total: {
    type: 'counter',
    help: 'Node processes that ended: told to, or for memory, time, a crash, or because they did not start.',
    labels: ['cause'],
  },
  svc_isolate_processes: {type: 'gauge', help: 'Processes of query and action isolates.'},
  svc_isolate_process_bytes: {type: 'gauge', help: 'What they take, without mapped files.'},
  svc_isolate_process_ends_total: {
    type: 'counter',
    help: 'Processes of query and action isolates that ended: told to, or for a crash, memory, silence, what they said, or because they did not start.',
    labels: ['cause'],
  },
  svc_function_results_bytes: {type: 'gauge', help: 'What kept results of query functions take.'},
  svc_live_evaluations_total: {
    type: 'counter',
    help: 'Live queries looked at for a commit, by whether their result changed.',
    labels: ['result'],
  },
  svc_function_live_runs_total: {
    type: 'counter',
    help: 'Runs of queries that function sockets hold, by whether the result was new.',
    labels: ['result'],
  },
  svc_function_socket_failures_total: {
    type: 'counter',
    help: 'Unexpected errors on function sockets, by what failed: the log has each with its stack.',
    labels: ['what'],
  },
  svc_function_transitions_total: {type: 'counter', help: 'Times that a function socket was moved to a new moment.'},
  svc_function_updates_total: {type: 'counter', help: 'Results that these transitions showed.'},
  svc_storage_damage_total: {
    type: 'counter',
    help: 'Times that damaged data was met in a file, by the check that found it.',
    labels: ['check'],
  },
  svc_scrub_checked_total: {
    type: 'counter',
    help: 'Rows that the scrub held against their checksums, by kind.',
    labels: ['kind'],
  },
  svc_scrub_findings: {type: 'gauge', help: 'What the latest scrubs of awake tenants found.'},
  svc_scrub_age_seconds: {type: 'gauge', help: 'Time since a whole scrub ended, the oldest.', aggregator: 'max'},
  svc_followers: {type: 'gauge', help: 'Streams of events that are open, by what they follow.', labels: ['kind']},
  svc_follower_events_total: {
    type: 'counter',
    help: 'Records and results that left on streams of events, by what they follow; counted when a stream ends.',
    labels: ['kind'],
  },
  svc_follower_owed_bytes: {type: 'gauge', help: 'What waits in workers for readers of streams of events.'},
  svc_live_queries: {type: 'gauge', help: 'Distinct live queries.'},
  svc_journal_records: {type: 'gauge', help: 'Journal records kept.'},
  svc_journal_head: {type: 'gauge', help: 'Sum of the newest journal sequences.'},
  svc_tenant_storage_bytes: {
    type: 'gauge',
    help: 'What a tenant that is awake keeps, without free pages.',
    labels: ['tenant'],
  },
  svc_storage_file_bytes: {type: 'gauge', help: 'Size of tenant files.'},
  svc_storage_wal_bytes: {type: 'gauge', help: 'Size of write-ahead logs.'},
  svc_worker_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'Lateness of the latest heartbeat, the worst worker.',
    aggregator: 'max',
  },
  svc_crons_failing: {type: 'gauge', help: 'Crons whose latest run failed.', labels: ['tenant']},
  svc_cron_failures_total: {type: 'counter', help: 'Runs of crons that failed.', labels: ['tenant']},
} as const satisfies Record<string, WorkerMetricShape>;

export type WorkerMetric = keyof typeof METRICS;
export const WORKER_METRICS: Readonly<Record<WorkerMetric, WorkerMetricShape>> = METRICS;
