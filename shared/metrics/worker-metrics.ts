/**
 * The metrics of workers, with the labels that each can have. The supervisor shows no other metrics from a worker: code
 * that has escaped its isolate can report anything, and all users share the page. It also shows each metric from the
 * start, before any tenant is awake.
 */
import {FunctionCounts} from './function-counts.ts';
import {Metrics, type MetricTable} from './metrics.ts';

/** Seconds; from a read served from memory to a stalled disk. */
const DURATION = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** Seconds, fine enough to tell the median of commit groups. */
const GROUP = [
  ...[0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03],
  ...[0.05, 0.1, 0.25, 1, 5],
];
/** The operation in which an unexpected error occurred on a function socket. */
export type SocketFailure = (typeof SOCKET_FAILURES)[number];
const SOCKET_FAILURES = ['query', 'message', 'call', 'token', 'transition'] as const;

const PROCESS_ENDS = ['told', 'start', 'memory', 'crash'] as const;

export const WORKER_METRICS = {
  svc_worker_operations_total: {type: 'counter', help: 'Operations answered by workers.', labels: ['op']},
  svc_commit_writes_total: {type: 'counter', help: 'Writes that took part in a commit.'},
  svc_commit_group_writes: {
    type: 'histogram',
    help: 'Writes per commit group.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  svc_commit_seconds: {type: 'histogram', help: 'Time of COMMIT, which writes the log.', buckets: DURATION},
  svc_commit_fsync_seconds: {type: 'histogram', help: 'Time from COMMIT until the log is synced.', buckets: DURATION},
  svc_commit_syncs_total: {
    type: 'counter',
    help: 'Syncs of the log, by who made them: the thread that writes, or one of the pool.',
    labels: ['by'],
    from: ['thread', 'pool'],
  },
  svc_commit_group_seconds: {
    type: 'histogram',
    help: 'Time of a whole commit group, without the sync of the log.',
    buckets: DURATION,
  },
  svc_commit_durable_seconds: {
    type: 'histogram',
    help: 'Time of a whole commit group until it is on disk, with --ack replicated in the log, and out of the memory of routers.',
    buckets: GROUP,
  },
  svc_copies_dropped_total: {
    type: 'counter',
    help: 'Spools of page sets for copies that were dropped because they were full, or the disk.',
  },
  svc_copies_given_up_total: {
    type: 'counter',
    help: 'Captures of commits for copies that failed or were too slow: the tenant has none until its next open.',
  },
  svc_checkpoint_seconds: {type: 'histogram', help: 'Time of a WAL checkpoint.', buckets: DURATION},
  svc_scheduled_runs_total: {type: 'counter', help: 'Jobs and cron ticks that ran.', labels: ['kind', 'outcome']},
  svc_scheduled_lateness_seconds: {
    type: 'histogram',
    help: 'How late jobs and crons started.',
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 5, 30, 300, 3600],
  },
  svc_function_executions_total: {
    type: 'counter',
    help: 'Functions that ran to their end.',
    labels: ['kind', 'outcome'],
  },
  svc_function_seconds: {
    type: 'histogram',
    help: 'Time of a function, waiting for its turn included.',
    buckets: DURATION,
  },
  svc_sandbox_executions_total: {
    type: 'counter',
    help: 'Executions in sandboxes, by outcome.',
    labels: ['outcome'],
  },
  svc_sandbox_execution_seconds: {type: 'histogram', help: 'Time of an execution in a sandbox.', buckets: DURATION},
  svc_sandboxes_ended_total: {
    type: 'counter',
    help: 'Sandboxes that ended, by the state they ended in.',
    labels: ['state'],
  },
  svc_sandboxes_running: {type: 'gauge', help: 'Sandboxes that run.'},
  svc_sandbox_bytes: {type: 'gauge', help: 'Memory of the processes of sandboxes, without mapped files.'},
  svc_sessions_open: {type: 'gauge', help: 'Sessions that are open.'},
  svc_services: {type: 'gauge', help: 'Services of tenants that are awake, by state.', labels: ['state']},
  svc_service_bytes: {type: 'gauge', help: 'Memory of the processes of services, without mapped files.'},
  svc_service_exits_total: {type: 'counter', help: 'Processes of services that ended, by reason.', labels: ['reason']},
  svc_function_results_total: {
    type: 'counter',
    help: 'Calls of query functions, by whether a cached result answered.',
    labels: ['how'],
    from: ['hit', 'shared', 'run', 'router'],
  },
  svc_function_results_dropped_total: {
    type: 'counter',
    help: 'Cached results of query functions that were dropped, by cause.',
    labels: ['cause'],
    from: ['written', 'full', 'cleared'],
  },
  svc_node_processes: {type: 'gauge', help: 'Node processes of modules with "use node".'},
  svc_node_process_bytes: {
    type: 'gauge',
    help: 'Memory of the Node processes of modules with "use node", without mapped files.',
  },
  svc_node_process_ends_total: {
    type: 'counter',
    help: 'Node processes of modules with "use node" that ended, by cause: on purpose, memory, time, a crash, or a failed start.',
    labels: ['cause'],
    from: [...PROCESS_ENDS, 'time'],
  },
  svc_isolate_processes: {type: 'gauge', help: 'Processes of query and action isolates.'},
  svc_isolate_process_bytes: {
    type: 'gauge',
    help: 'Memory of the processes of query and action isolates, without mapped files.',
  },
  svc_isolate_process_ends_total: {
    type: 'counter',
    help: 'Processes of query and action isolates that ended, by cause: on purpose, a crash, memory, silence, a protocol violation, or a failed start.',
    labels: ['cause'],
    from: [...PROCESS_ENDS, 'silent', 'unread', 'malformed'],
  },
  svc_function_results_bytes: {type: 'gauge', help: 'Memory of the cached results of query functions.'},
  svc_live_evaluations_total: {
    type: 'counter',
    help: 'Live queries evaluated for a commit, by whether the result changed.',
    labels: ['result'],
    from: ['changed', 'equal', 'unmatched'],
  },
  svc_function_live_runs_total: {
    type: 'counter',
    help: 'Runs of live query functions, by whether the result was new.',
    labels: ['result'],
    from: ['changed', 'equal'],
  },
  svc_function_socket_failures_total: {
    type: 'counter',
    help: 'Unexpected errors on function sockets, by what failed: the log has each with its stack.',
    labels: ['what'],
    from: SOCKET_FAILURES,
  },
  svc_function_transitions_total: {
    type: 'counter',
    help: 'Transitions (new versions of all live results) sent to function sockets.',
  },
  svc_function_updates_total: {type: 'counter', help: 'Live results of query functions sent in transitions.'},
  svc_storage_damage_total: {
    type: 'counter',
    help: 'Damaged data found in tenant files, by the check that found it.',
    labels: ['check'],
    from: ['checksum', 'id', 'entry', 'chain', 'code', 'rows', 'engine'],
  },
  svc_scrub_checked_total: {
    type: 'counter',
    help: 'Rows whose checksums the scrub verified, by kind.',
    labels: ['kind'],
  },
  svc_scrub_findings: {type: 'gauge', help: 'Damaged rows found by the latest scrubs of awake tenants.'},
  svc_scrub_age_seconds: {
    type: 'gauge',
    help: 'Time since the latest complete scrub, of the tenant where it is longest ago.',
    aggregator: 'max',
  },
  svc_followers: {
    type: 'gauge',
    help: 'Streams of events that are open, by what they follow.',
    labels: ['kind'],
    from: ['journal', 'query'],
  },
  svc_follower_events_total: {
    type: 'counter',
    help: 'Records and results that left on streams of events, by what they follow; counted when a stream ends.',
    labels: ['kind'],
    from: ['journal', 'query'],
  },
  svc_follower_owed_bytes: {type: 'gauge', help: 'Bytes buffered in workers for slow readers of event streams.'},
  svc_live_queries: {type: 'gauge', help: 'Distinct live queries.'},
  svc_cluster_lag_seconds: {
    type: 'gauge',
    help: 'Age of the oldest acknowledged write that the log of the cluster lacks, with --ack local.',
    aggregator: 'max',
  },
  svc_journal_records: {type: 'gauge', help: 'Journal records kept by awake tenants.'},
  svc_journal_head: {type: 'gauge', help: 'Sum of the newest journal sequences of awake tenants.'},
  svc_tenant_storage_bytes: {
    type: 'gauge',
    help: 'Bytes that an awake tenant stores, without free pages.',
    labels: ['tenant'],
  },
  svc_documents: {type: 'gauge', help: 'Documents of awake tenants.'},
  svc_storage_file_bytes: {type: 'gauge', help: 'Size of tenant files.'},
  svc_storage_wal_bytes: {type: 'gauge', help: 'Size of write-ahead logs.'},
  svc_worker_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'Delay of the latest heartbeat of the event loop, of the slowest worker.',
    aggregator: 'max',
  },
  svc_crons_failing: {type: 'gauge', help: 'Crons whose latest run failed.', labels: ['tenant']},
  svc_cron_failures_total: {type: 'counter', help: 'Runs of crons that failed.', labels: ['tenant']},
} as const satisfies MetricTable;

export class WorkerMetrics extends Metrics<typeof WORKER_METRICS> {
  /** Counted per message of a function socket, so looked up once. */
  readonly transitions = this.series('svc_function_transitions_total');
  readonly transitionUpdates = this.series('svc_function_updates_total');
  /** Calls since the last report. Not metrics: a label per function would be a series per function. */
  readonly functions = new FunctionCounts();

  constructor() {
    super(WORKER_METRICS);
  }
}
