/**
 * The metrics of a worker. They are sent to the router in prom-client's JSON form of a registry, and the router adds
 * them up over all workers. The worker does not load prom-client, because its start-up time and memory would be paid
 * per tenant.
 */

import {Histogram, type MetricJson} from '../shared/metric-json.ts';
import type {FunctionKind} from '../shared/protocol/functions.ts';
import {WORKER_METRICS, type WorkerMetric} from '../shared/worker-metrics.ts';

/** Seconds; from a read served from memory to a stalled disk. */
const DURATION_BUCKETS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const LATENESS_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 5, 30, 300, 3600];
const GROUP_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Read when the metrics are requested. */
export type Gauges = {
  scrubFindings: number;
  scrubAgeSeconds: number;
  tenant: string;
  /** Crons whose latest run failed. */
  cronsFailing: number;
  liveQueries: number;
  journalFollowers: number;
  queryFollowers: number;
  followersBufferedBytes: number;
  sandboxes: number;
  sandboxBytes: number;
  sessions: number;
  /** By state. */
  services: ReadonlyMap<string, number>;
  serviceBytes: number;
  journalHead: number;
  journalFloor: number;
  usedBytes: number;
  fileBytes: number;
  walBytes: number;
  lagSeconds: number;
};

/** The operation in which an unexpected error occurred on a function socket. */
export type SocketFailure = 'query' | 'message' | 'call' | 'token' | 'transition';

export class WorkerMetrics {
  readonly #operations = new Map<string, number>();
  readonly #groupSize = new Histogram(GROUP_BUCKETS);
  readonly #commitSeconds = new Histogram(DURATION_BUCKETS);
  readonly #syncSeconds = new Histogram(DURATION_BUCKETS);
  readonly #syncs = {thread: 0, pool: 0};
  readonly #groupSeconds = new Histogram(DURATION_BUCKETS);
  readonly #checkpointSeconds = new Histogram(DURATION_BUCKETS);
  readonly #jobLateness = new Histogram(LATENESS_BUCKETS);
  readonly #runs = new Map<string, number>();
  readonly #executions = new Map<string, number>();
  readonly #executionSeconds = new Histogram(DURATION_BUCKETS);
  readonly #sandboxExecutions = new Map<string, number>();
  readonly #sandboxSeconds = new Histogram(DURATION_BUCKETS);
  readonly #sandboxEnds = new Map<string, number>();
  readonly #serviceEnds = new Map<string, number>();
  readonly #results = {hit: 0, shared: 0, run: 0};
  readonly #resultsDropped = {written: 0, full: 0, cleared: 0};
  /** Bytes of cached results of query functions. */
  resultBytes = 0;
  /** Processes of modules with `"use node"`, and their memory. */
  node: {readonly processes: number; readonly bytes: number} = {processes: 0, bytes: 0};
  readonly #nodeEnds = new Map<string, number>();
  /** Processes of query and action isolates, and their memory. */
  isolates: {readonly processes: number; readonly bytes: number} = {processes: 0, bytes: 0};
  readonly #isolatesEnds = new Map<string, number>();
  readonly #damage = new Map<string, number>();
  #cronFailures = 0;
  readonly #scrubbed = new Map<string, number>();
  #writes = 0;
  readonly #live = {changed: 0, equal: 0, unmatched: 0};
  readonly #liveRuns = {changed: 0, equal: 0};
  readonly #socketFailures: Record<SocketFailure, number> = {query: 0, message: 0, call: 0, token: 0, transition: 0};
  readonly #followed: Record<'journal' | 'query', number> = {journal: 0, query: 0};
  #transitions = 0;
  #updates = 0;

  operation(op: string): void {
    this.#operations.set(op, (this.#operations.get(op) ?? 0) + 1);
  }

  /** @param commitMs SQLite's COMMIT, which writes the WAL, @param groupMs the whole group without its sync */
  committed(writes: number, commitMs: number, groupMs: number): void {
    this.#writes += writes;
    this.#groupSize.observe(writes);
    this.#commitSeconds.observe(commitMs / 1000);
    this.#groupSeconds.observe(groupMs / 1000);
  }

  /**
   * A group is durable, this long after its COMMIT. @param by the thread that synced the WAL: the serving thread, or
   * one of the pool
   */
  synced(ms: number, by: 'thread' | 'pool'): void {
    this.#syncs[by]++;
    this.#syncSeconds.observe(ms / 1000);
  }

  checkpointed(ms: number): void {
    this.#checkpointSeconds.observe(ms / 1000);
  }

  /** A job or cron tick ran this many seconds after it was due. */
  ran(kind: 'job' | 'cron', lateSeconds: number, failed: boolean): void {
    const key = `${kind} ${failed ? 'failed' : 'completed'}`;
    this.#runs.set(key, (this.#runs.get(key) ?? 0) + 1);
    this.#jobLateness.observe(lateSeconds);
    if (kind === 'cron' && failed) this.#cronFailures++;
  }

  /** A function ran to its end. */
  executed(kind: FunctionKind, outcome: 'success' | 'error', seconds: number): void {
    const key = `${kind} ${outcome}`;
    this.#executions.set(key, (this.#executions.get(key) ?? 0) + 1);
    this.#executionSeconds.observe(seconds);
  }

  /** Code ran in a sandbox. @param outcome `success`, or the reason why there is no value */
  sandboxExecuted(outcome: string, seconds: number): void {
    this.#sandboxExecutions.set(outcome, (this.#sandboxExecutions.get(outcome) ?? 0) + 1);
    this.#sandboxSeconds.observe(seconds);
  }

  sandboxEnded(state: string): void {
    this.#sandboxEnds.set(state, (this.#sandboxEnds.get(state) ?? 0) + 1);
  }

  /** A process of a service ended, with its reason. */
  serviceEnded(reason: string): void {
    this.#serviceEnds.set(reason, (this.#serviceEnds.get(reason) ?? 0) + 1);
  }

  /** A query function call was answered: from a cached result, from an equal call in progress, or by its own run. */
  result(how: 'hit' | 'shared' | 'run'): void {
    this.#results[how]++;
  }

  /** A cached result was evicted: a commit touched it, its memory was needed, or the cache was cleared. */
  resultDropped(cause: 'written' | 'full' | 'cleared'): void {
    this.#resultsDropped[cause]++;
  }

  /** A Node process ended, with its reason. */
  nodeEnded(cause: string): void {
    this.#nodeEnds.set(cause, (this.#nodeEnds.get(cause) ?? 0) + 1);
  }

  /** A process of query and action isolates ended, with its reason. */
  isolatesEnded(cause: string): void {
    this.#isolatesEnds.set(cause, (this.#isolatesEnds.get(cause) ?? 0) + 1);
  }

  /** A read or the scrub found stored data that is not what was written. */
  damageMet(check: string): void {
    this.#damage.set(check, (this.#damage.get(check) ?? 0) + 1);
  }

  /** The scrub checked this many rows. */
  scrubbed(phase: string, rows: number): void {
    if (rows > 0) this.#scrubbed.set(phase, (this.#scrubbed.get(phase) ?? 0) + rows);
  }

  /** An unexpected error occurred on a function socket. */
  socketFailed(what: SocketFailure): void {
    this.#socketFailures[what]++;
  }

  /** A live query was checked for a commit: its result changed, was equal, or was not affected. */
  evaluated(result: 'changed' | 'equal' | 'unmatched'): void {
    this.#live[result]++;
  }

  /** A query that sockets subscribe to ran; its result was new, or equal to the previous one. */
  liveRun(result: 'changed' | 'equal'): void {
    this.#liveRuns[result]++;
  }

  /** A stream of events has ended, after it sent this many of them. */
  followed(kind: 'journal' | 'query', events: number): void {
    this.#followed[kind] += events;
  }

  /** A function socket advances to a new version, with this many results that are new to it. */
  transition(updates: number): void {
    this.#transitions++;
    this.#updates += updates;
  }

  json(gauges: Gauges): MetricJson[] {
    const operations = [...this.#operations].map(([op, value]) => ({labels: {op}, value}));
    return [
      metric('svc_worker_operations_total', operations),
      metric('svc_commit_writes_total', [{labels: {}, value: this.#writes}]),
      histogram('svc_commit_group_writes', this.#groupSize),
      histogram('svc_commit_seconds', this.#commitSeconds),
      histogram('svc_commit_fsync_seconds', this.#syncSeconds),
      metric(
        'svc_commit_syncs_total',
        Object.entries(this.#syncs).map(([by, value]) => ({labels: {by}, value})),
      ),
      histogram('svc_commit_group_seconds', this.#groupSeconds),
      histogram('svc_checkpoint_seconds', this.#checkpointSeconds),
      metric(
        'svc_scheduled_runs_total',
        [...this.#runs].map(([key, value]) => {
          const [kind = '', outcome = ''] = key.split(' ');
          return {labels: {kind, outcome}, value};
        }),
      ),
      ...this.#cronJson(gauges),
      histogram('svc_scheduled_lateness_seconds', this.#jobLateness),
      metric(
        'svc_function_executions_total',
        [...this.#executions].map(([key, value]) => {
          const [kind = '', outcome = ''] = key.split(' ');
          return {labels: {kind, outcome}, value};
        }),
      ),
      histogram('svc_function_seconds', this.#executionSeconds),
      metric(
        'svc_sandbox_executions_total',
        [...this.#sandboxExecutions].map(([outcome, value]) => ({labels: {outcome}, value})),
      ),
      histogram('svc_sandbox_execution_seconds', this.#sandboxSeconds),
      metric(
        'svc_sandboxes_ended_total',
        [...this.#sandboxEnds].map(([state, value]) => ({labels: {state}, value})),
      ),
      metric('svc_sandboxes_running', [{labels: {}, value: gauges.sandboxes}]),
      metric('svc_sandbox_bytes', [{labels: {}, value: gauges.sandboxBytes}]),
      metric('svc_sessions_open', [{labels: {}, value: gauges.sessions}]),
      metric(
        'svc_services',
        [...gauges.services].map(([state, value]) => ({labels: {state}, value})),
      ),
      metric('svc_service_bytes', [{labels: {}, value: gauges.serviceBytes}]),
      metric(
        'svc_service_exits_total',
        [...this.#serviceEnds].map(([reason, value]) => ({labels: {reason}, value})),
      ),
      metric(
        'svc_function_results_total',
        Object.entries(this.#results).map(([how, value]) => ({labels: {how}, value})),
      ),
      metric(
        'svc_function_results_dropped_total',
        Object.entries(this.#resultsDropped).map(([cause, value]) => ({labels: {cause}, value})),
      ),
      metric('svc_node_processes', [{labels: {}, value: this.node.processes}]),
      metric('svc_node_process_bytes', [{labels: {}, value: this.node.bytes}]),
      metric(
        'svc_node_process_ends_total',
        [...this.#nodeEnds].map(([cause, value]) => ({labels: {cause}, value})),
      ),
      metric('svc_isolate_processes', [{labels: {}, value: this.isolates.processes}]),
      metric('svc_isolate_process_bytes', [{labels: {}, value: this.isolates.bytes}]),
      metric(
        'svc_isolate_process_ends_total',
        [...this.#isolatesEnds].map(([cause, value]) => ({labels: {cause}, value})),
      ),
      metric('svc_function_results_bytes', [{labels: {}, value: this.resultBytes}]),
      metric(
        'svc_live_evaluations_total',
        Object.entries(this.#live).map(([result, value]) => ({labels: {result}, value})),
      ),
      metric(
        'svc_function_live_runs_total',
        Object.entries(this.#liveRuns).map(([result, value]) => ({labels: {result}, value})),
      ),
      metric(
        'svc_function_socket_failures_total',
        Object.entries(this.#socketFailures).map(([what, value]) => ({labels: {what}, value})),
      ),
      metric('svc_function_transitions_total', [{labels: {}, value: this.#transitions}]),
      metric('svc_function_updates_total', [{labels: {}, value: this.#updates}]),
      metric(
        'svc_storage_damage_total',
        [...this.#damage].map(([check, value]) => ({labels: {check}, value})),
      ),
      metric(
        'svc_scrub_checked_total',
        [...this.#scrubbed].map(([kind, value]) => ({labels: {kind}, value})),
      ),
      metric('svc_scrub_findings', [{labels: {}, value: gauges.scrubFindings}]),
      metric('svc_scrub_age_seconds', [{labels: {}, value: gauges.scrubAgeSeconds}]),
      metric('svc_followers', [
        {labels: {kind: 'journal'}, value: gauges.journalFollowers},
        {labels: {kind: 'query'}, value: gauges.queryFollowers},
      ]),
      metric(
        'svc_follower_events_total',
        Object.entries(this.#followed).map(([kind, value]) => ({labels: {kind}, value})),
      ),
      metric('svc_follower_owed_bytes', [{labels: {}, value: gauges.followersBufferedBytes}]),
      metric('svc_live_queries', [{labels: {}, value: gauges.liveQueries}]),
      metric('svc_journal_records', [{labels: {}, value: Math.max(0, gauges.journalHead - gauges.journalFloor + 1)}]),
      metric('svc_journal_head', [{labels: {}, value: gauges.journalHead}]),
      metric('svc_tenant_storage_bytes', [{labels: {tenant: gauges.tenant}, value: gauges.usedBytes}]),
      metric('svc_storage_file_bytes', [{labels: {}, value: gauges.fileBytes}]),
      metric('svc_storage_wal_bytes', [{labels: {}, value: gauges.walBytes}]),
      metric('svc_worker_event_loop_lag_seconds', [{labels: {}, value: gauges.lagSeconds}]),
    ];
  }

  /** By tenant, to identify them. Only tenants that are awake and have failing crons appear, so the series are few. */
  #cronJson({tenant, cronsFailing}: Gauges): MetricJson[] {
    const isShown = cronsFailing > 0 || this.#cronFailures > 0;
    const of = (value: number) => (isShown ? [{labels: {tenant}, value}] : []);
    return [metric('svc_crons_failing', of(cronsFailing)), metric('svc_cron_failures_total', of(this.#cronFailures))];
  }
}

function metric(name: WorkerMetric, values: MetricJson['values']): MetricJson {
  const {type, help, aggregator = 'sum'} = WORKER_METRICS[name];
  return {name, help, type, aggregator, values};
}

function histogram(name: WorkerMetric, of: Histogram): MetricJson {
  return of.json(name, WORKER_METRICS[name].help);
}
