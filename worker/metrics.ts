/**
 * What a worker counts. The figures cross to the router as prom-client's JSON form of a registry, and are added up there
 * over all workers; prom-client itself is not loaded here, because its start-up time and memory would be paid per tenant.
 */

import {gauge, Histogram, type MetricJson} from '../shared/metric-json.ts';
import type {FunctionKind} from '../shared/protocol/functions.ts';

/** Seconds; from a read served from memory to a stalled disk. */
const DURATION_BUCKETS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const LATENESS_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 5, 30, 300, 3600];
const GROUP_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Read when the metrics are asked for. */
export type Gauges = {
  scrubFindings: number;
  scrubAgeSeconds: number;
  tenant: string;
  /** Crons whose latest run failed. */
  cronsFailing: number;
  liveQueries: number;
  journalFollowers: number;
  queryFollowers: number;
  followersOwedBytes: number;
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

/** Where something failed on a function socket that nobody expected. */
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
  /** What kept results of query functions take. */
  resultBytes = 0;
  /** Processes of modules with `"use node"`, and what they take. */
  node: {readonly processes: number; readonly bytes: number} = {processes: 0, bytes: 0};
  readonly #nodeEnds = new Map<string, number>();
  /** Processes of query and action isolates, and what they take. */
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

  /** @param commitMs SQLite's COMMIT, which writes the log, @param groupMs the whole group without its sync */
  committed(writes: number, commitMs: number, groupMs: number): void {
    this.#writes += writes;
    this.#groupSize.observe(writes);
    this.#commitSeconds.observe(commitMs / 1000);
    this.#groupSeconds.observe(groupMs / 1000);
  }

  /** A group is durable, so long after its COMMIT. @param by which thread synced the log: that which writes, or one of the pool */
  synced(ms: number, by: 'thread' | 'pool'): void {
    this.#syncs[by]++;
    this.#syncSeconds.observe(ms / 1000);
  }

  checkpointed(ms: number): void {
    this.#checkpointSeconds.observe(ms / 1000);
  }

  /** A job or cron tick ran, so many seconds after it was due. */
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

  /** Code ran in a sandbox. @param outcome `success`, or why there is no value */
  sandboxExecuted(outcome: string, seconds: number): void {
    this.#sandboxExecutions.set(outcome, (this.#sandboxExecutions.get(outcome) ?? 0) + 1);
    this.#sandboxSeconds.observe(seconds);
  }

  sandboxEnded(state: string): void {
    this.#sandboxEnds.set(state, (this.#sandboxEnds.get(state) ?? 0) + 1);
  }

  /** A process of a service ended, and why. */
  serviceEnded(reason: string): void {
    this.#serviceEnds.set(reason, (this.#serviceEnds.get(reason) ?? 0) + 1);
  }

  /** A query function was answered: with a kept result, with that of an equal call under way, or by a run of its own. */
  result(how: 'hit' | 'shared' | 'run'): void {
    this.#results[how]++;
  }

  /** A kept result went: a commit touched it, others needed its room, or all went. */
  resultDropped(cause: 'written' | 'full' | 'cleared'): void {
    this.#resultsDropped[cause]++;
  }

  /** A Node process ended, and why. */
  nodeEnded(cause: string): void {
    this.#nodeEnds.set(cause, (this.#nodeEnds.get(cause) ?? 0) + 1);
  }

  /** A process of query and action isolates ended, and why. */
  isolatesEnded(cause: string): void {
    this.#isolatesEnds.set(cause, (this.#isolatesEnds.get(cause) ?? 0) + 1);
  }

  /** A read or the scrub met something in the file that is not what was written. */
  damageMet(check: string): void {
    this.#damage.set(check, (this.#damage.get(check) ?? 0) + 1);
  }

  /** The scrub looked at so many rows. */
  scrubbed(phase: string, rows: number): void {
    if (rows > 0) this.#scrubbed.set(phase, (this.#scrubbed.get(phase) ?? 0) + rows);
  }

  /** Something failed on a function socket that nobody expected. */
  socketFailed(what: SocketFailure): void {
    this.#socketFailures[what]++;
  }

  /** A live query was looked at for a commit: its result changed, came out equal, or was not concerned. */
  evaluated(result: 'changed' | 'equal' | 'unmatched'): void {
    this.#live[result]++;
  }

  /** A query that sockets hold was run, and its result was a new one, or the one before. */
  liveRun(result: 'changed' | 'equal'): void {
    this.#liveRuns[result]++;
  }

  /** A stream of events has ended, and so many of them left on it. */
  followed(kind: 'journal' | 'query', events: number): void {
    this.#followed[kind] += events;
  }

  /** A function socket is moved on, with so many results that are new to it. */
  transition(updates: number): void {
    this.#transitions++;
    this.#updates += updates;
  }

  json(gauges: Gauges): MetricJson[] {
    const operations = [...this.#operations].map(([op, value]) => ({labels: {op}, value}));
    return [
      metric('counter', 'svc_worker_operations_total', 'Operations answered by workers.', operations),
      metric('counter', 'svc_commit_writes_total', 'Writes that took part in a commit.', [
        {labels: {}, value: this.#writes},
      ]),
      this.#groupSize.json('svc_commit_group_writes', 'Writes a commit group.'),
      this.#commitSeconds.json('svc_commit_seconds', 'Time of COMMIT, which writes the log.'),
      this.#syncSeconds.json('svc_commit_fsync_seconds', 'Time from COMMIT until the log is synced.'),
      metric(
        'counter',
        'svc_commit_syncs_total',
        'Syncs of the log, by who made them: the thread that writes, or one of the pool.',
        Object.entries(this.#syncs).map(([by, value]) => ({labels: {by}, value})),
      ),
      this.#groupSeconds.json('svc_commit_group_seconds', 'Time of a whole commit group without its sync.'),
      this.#checkpointSeconds.json('svc_checkpoint_seconds', 'Time of a WAL checkpoint.'),
      metric(
        'counter',
        'svc_scheduled_runs_total',
        'Jobs and cron ticks that ran.',
        [...this.#runs].map(([key, value]) => {
          const [kind = '', outcome = ''] = key.split(' ');
          return {labels: {kind, outcome}, value};
        }),
      ),
      ...this.#cronJson(gauges),
      this.#jobLateness.json('svc_scheduled_lateness_seconds', 'How long after its time scheduled work ran.'),
      metric(
        'counter',
        'svc_function_executions_total',
        'Functions that ran to their end.',
        [...this.#executions].map(([key, value]) => {
          const [kind = '', outcome = ''] = key.split(' ');
          return {labels: {kind, outcome}, value};
        }),
      ),
      this.#executionSeconds.json('svc_function_seconds', 'Time of a function, waiting for its turn included.'),
      metric(
        'counter',
        'svc_sandbox_executions_total',
        'Executions in sandboxes, by what came of them.',
        [...this.#sandboxExecutions].map(([outcome, value]) => ({labels: {outcome}, value})),
      ),
      this.#sandboxSeconds.json('svc_sandbox_execution_seconds', 'Time of an execution in a sandbox.'),
      metric(
        'counter',
        'svc_sandboxes_ended_total',
        'Sandboxes that ended, by the state they ended in.',
        [...this.#sandboxEnds].map(([state, value]) => ({labels: {state}, value})),
      ),
      gauge('svc_sandboxes_running', 'Sandboxes that run.', gauges.sandboxes),
      gauge('svc_sandbox_bytes', 'What processes of sandboxes take, without mapped files.', gauges.sandboxBytes),
      gauge('svc_sessions_open', 'Sessions that are open.', gauges.sessions),
      metric(
        'gauge',
        'svc_services',
        'Services of tenants that are awake, by state.',
        [...gauges.services].map(([state, value]) => ({labels: {state}, value})),
      ),
      gauge('svc_service_bytes', 'What processes of services take, without mapped files.', gauges.serviceBytes),
      metric(
        'counter',
        'svc_service_exits_total',
        'Processes of services that ended, by why.',
        [...this.#serviceEnds].map(([reason, value]) => ({labels: {reason}, value})),
      ),
      metric(
        'counter',
        'svc_function_results_total',
        'Calls of query functions, by whether a kept result answered them.',
        Object.entries(this.#results).map(([how, value]) => ({labels: {how}, value})),
      ),
      metric(
        'counter',
        'svc_function_results_dropped_total',
        'Kept results that went, by cause.',
        Object.entries(this.#resultsDropped).map(([cause, value]) => ({labels: {cause}, value})),
      ),
      gauge('svc_node_processes', 'Node processes of modules with "use node".', this.node.processes),
      gauge('svc_node_process_bytes', 'What they take, without mapped files.', this.node.bytes),
      metric(
        'counter',
        'svc_node_process_ends_total',
        'Node processes that ended: told to, or for memory, time, a crash, or because they did not start.',
        [...this.#nodeEnds].map(([cause, value]) => ({labels: {cause}, value})),
      ),
      gauge('svc_isolate_processes', 'Processes of query and action isolates.', this.isolates.processes),
      gauge('svc_isolate_process_bytes', 'What they take, without mapped files.', this.isolates.bytes),
      metric(
        'counter',
        'svc_isolate_process_ends_total',
        'Processes of query and action isolates that ended: told to, or for a crash, memory, silence, what they said, or because they did not start.',
        [...this.#isolatesEnds].map(([cause, value]) => ({labels: {cause}, value})),
      ),
      gauge('svc_function_results_bytes', 'What kept results of query functions take.', this.resultBytes),
      metric(
        'counter',
        'svc_live_evaluations_total',
        'Live queries looked at for a commit, by whether their result changed.',
        Object.entries(this.#live).map(([result, value]) => ({labels: {result}, value})),
      ),
      metric(
        'counter',
        'svc_function_live_runs_total',
        'Runs of queries that function sockets hold, by whether the result was new.',
        Object.entries(this.#liveRuns).map(([result, value]) => ({labels: {result}, value})),
      ),
      metric(
        'counter',
        'svc_function_socket_failures_total',
        'Unexpected errors on function sockets, by what failed: the log has each with its stack.',
        Object.entries(this.#socketFailures).map(([what, value]) => ({labels: {what}, value})),
      ),
      metric('counter', 'svc_function_transitions_total', 'Times that a function socket was moved to a new moment.', [
        {labels: {}, value: this.#transitions},
      ]),
      metric('counter', 'svc_function_updates_total', 'Results that these transitions showed.', [
        {labels: {}, value: this.#updates},
      ]),
      metric(
        'counter',
        'svc_storage_damage_total',
        'Times that damaged data was met in a file, by the check that found it.',
        [...this.#damage].map(([check, value]) => ({labels: {check}, value})),
      ),
      metric(
        'counter',
        'svc_scrub_checked_total',
        'Rows that the scrub held against their checksums, by kind.',
        [...this.#scrubbed].map(([kind, value]) => ({labels: {kind}, value})),
      ),
      gauge('svc_scrub_findings', 'What the latest scrubs of awake tenants found.', gauges.scrubFindings),
      {
        ...gauge('svc_scrub_age_seconds', 'Time since a whole scrub ended, the oldest.', gauges.scrubAgeSeconds),
        aggregator: 'max',
      },
      metric('gauge', 'svc_followers', 'Streams of events that are open, by what they follow.', [
        {labels: {kind: 'journal'}, value: gauges.journalFollowers},
        {labels: {kind: 'query'}, value: gauges.queryFollowers},
      ]),
      metric(
        'counter',
        'svc_follower_events_total',
        'Records and results that left on streams of events, by what they follow; counted when a stream ends.',
        Object.entries(this.#followed).map(([kind, value]) => ({labels: {kind}, value})),
      ),
      gauge(
        'svc_follower_owed_bytes',
        'What waits in workers for readers of streams of events.',
        gauges.followersOwedBytes,
      ),
      gauge('svc_live_queries', 'Distinct live queries.', gauges.liveQueries),
      gauge('svc_journal_records', 'Journal records kept.', Math.max(0, gauges.journalHead - gauges.journalFloor + 1)),
      gauge('svc_journal_head', 'Sum of the newest journal sequences.', gauges.journalHead),
      metric('gauge', 'svc_tenant_storage_bytes', 'What a tenant that is awake keeps, without free pages.', [
        {labels: {tenant: gauges.tenant}, value: gauges.usedBytes},
      ]),
      gauge('svc_storage_file_bytes', 'Size of tenant files.', gauges.fileBytes),
      gauge('svc_storage_wal_bytes', 'Size of write-ahead logs.', gauges.walBytes),
      {
        ...gauge(
          'svc_worker_event_loop_lag_seconds',
          'Lateness of the latest heartbeat, the worst worker.',
          gauges.lagSeconds,
        ),
        aggregator: 'max',
      },
    ];
  }

  /** By tenant, so that it is seen whose: of tenants that are awake and have crons that fail, and so of few. */
  #cronJson({tenant, cronsFailing}: Gauges): MetricJson[] {
    const isShown = cronsFailing > 0 || this.#cronFailures > 0;
    const of = (value: number) => (isShown ? [{labels: {tenant}, value}] : []);
    return [
      metric('gauge', 'svc_crons_failing', 'Crons whose latest run failed.', of(cronsFailing)),
      metric('counter', 'svc_cron_failures_total', 'Runs of crons that failed.', of(this.#cronFailures)),
    ];
  }
}

function metric(type: 'counter' | 'gauge', name: string, help: string, values: MetricJson['values']): MetricJson {
  return {name, help, type, aggregator: 'sum', values};
}
