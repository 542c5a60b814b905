/**
 * Calls functions: resolves the function, validates its arguments, runs it where it belongs, and shapes the caller's
 * result.
 *
 *   query ──────▶ process of the isolates (one snapshot) ┐
 *   mutation ───▶ commit group (main thread, serial)     ├──▶ returns validator ──▶ log ──▶ caller
 *   action ─────▶ process of the isolates, or a Node process; its ctx.run* come back ┘
 *
 * A mutation's returns validator runs inside its write: a wrong result rolls the mutation back.
 */

import {randomBytes} from 'node:crypto';
import {allOrNothing} from '../../engine/commit/attempt.ts';
import type {Cause} from '../../engine/commit/cause.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {withIds} from '../../engine/reads/read-log.ts';
import {insertFunctionJob} from '../../engine/scheduler/jobs.ts';
import type {Catalog} from '../../engine/storage/catalog.ts';
import {unreachable} from '../../shared/assert.ts';
import {overloaded, readOnlyTenant, ServiceError} from '../../shared/errors.ts';
import type {EgressEndpoint} from '../../shared/ipc/egress.ts';
import {OTHER_FUNCTIONS} from '../../shared/metrics/function-counts.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {FunctionEntry, FunctionKind} from '../../shared/protocol/functions.ts';
import type {JobTrace} from '../../shared/protocol/schedule.ts';
import type {ReportedCall} from '../ipc/shared-results.ts';
import {ActionLines} from '../runtime/actions/action-lines.ts';
import type {ActionRunner} from '../runtime/actions/action-link.ts';
import type {ActionRequest, MainOperation} from '../runtime/actions/action-message.ts';
import {refusal} from '../runtime/actions/action-message.ts';
import {
  CallError,
  type CallOrigin,
  checkArguments,
  findFunction,
  type LiveDeployment,
  shownPath,
} from '../runtime/call.ts';
import {type CallResult, ended, finished, NO_LINES, nestedError} from '../runtime/call-result.ts';
import type {Caller, Execution} from '../runtime/execution.ts';
import type {SyncResult} from '../runtime/isolate/sync-runner.ts';
import {FUNCTION_MS_MAX} from '../runtime/limits.ts';
import type {ExecutionLog, UnnumberedEntry} from '../runtime/log/execution-log.ts';
import {callSpan, jobSpan, type Span, traceOfJob} from '../runtime/log/span.ts';
import type {ProcessMemory} from '../runtime/process-memory.ts';
import {MUTATION_PREPARATIONS_MAX} from './limits.ts';
import type {MutationRunner} from './mutations/mutation-runner.ts';
import {cancelFunctionJob, checkedJob, realmRequest} from './mutations/mutation-scheduler.ts';
import type {Results} from './results/results.ts';

export type Call = {
  path: string;
  /** Parsed JSON from outside. */
  args: unknown;
  /** Null: any kind. */
  kind: FunctionKind | null;
  origin: CallOrigin;
  caller: Caller;
  requestId: string;
  /** The request that it is part of was sent with this key, and in this session of the dashboard. */
  by?: Pick<Cause, 'key_id' | 'session_id'> | undefined;
  /** Absent: the request itself made the call. */
  span?: Span;
  /** For queries: return the result's `sequence`. */
  hasVersion?: boolean;
  /** For mutations: wraps the run, inside its write. It throws only before the run, or what the run throws. */
  within?: (writer: Writer, run: () => Succeeded) => Succeeded;
};

/** The call of which a nested one is part. `path`: its action, if it has a name. */
type NestedIn = Pick<Call, 'caller' | 'requestId' | 'by' | 'span'> & {readonly path?: string};

/** The result of a committed mutation. */
export type Succeeded = CallResult & {ok: true};

export type FunctionParts = {
  groups: CommitGroups;
  /** Validators look up ids in it. */
  catalog: Pick<Catalog, 'notingIds'>;
  results: Results<CallResult>;
  mutations: MutationRunner;
  memory: ProcessMemory;
  actions: ActionRunner;
  /** Runs actions of modules with `"use node"`. */
  nodeActions: ActionRunner;
  log: ExecutionLog;
  metrics: WorkerMetrics;
  /** The deployment whose queries and actions are called: active in the committed state. */
  live: () => LiveDeployment | null;
  /** The deployment whose mutations run: active in the write under way, or in the next one. */
  writing: () => LiveDeployment | null;
  env: () => Readonly<Record<string, string>>;
  egress: () => EgressEndpoint;
  clock: () => number;
  /** Clients see that a function failed, but not the reason. */
  redactErrors: boolean;
};

/** Ends a mutation's write without effect; carries the caller's result. */
export class MutationFailed extends ServiceError {
  readonly result: CallResult & {ok: false};

  constructor(result: CallResult & {ok: false}) {
    super('op.failed', result.error);
    this.result = result;
  }
}

/** The machine was too busy: the mutation is rolled back, and can be retried. */
export class MutationStarved extends ServiceError {
  readonly starved: 'again' | 'over';

  constructor(starved: 'again' | 'over', had: SyncResult['had']) {
    super('session.overloaded', ...starvation(had));
    this.starved = starved;
  }
}

/** The mutation's modules are not loaded, or no longer: it is rolled back, prepared and run again. */
class MutationUnprepared extends ServiceError {
  constructor() {
    super('session.overloaded', 'the function is being loaded');
  }
}

/** A call with its function resolved and its arguments validated, as wire text. */
type Prepared = {live: LiveDeployment; entry: FunctionEntry; args: string};

/**
 * Message and detail for a function that got too little CPU time: it ran, and its effects are rolled back. svc commands
 * do not retry a call that has started: a loop would block the tenant's writes each time.
 */
function starvation(had: SyncResult['had']): [message: string, detail: Record<string, unknown>] {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const time =
    had === undefined
      ? ''
      : ` (${seconds(had.cpuMs)} of ${seconds(FUNCTION_MS_MAX)} of CPU, in ${seconds(had.wallMs)} of the clock)`;
  return [
    `the machine is too busy to give this function its time${time}; try again shortly`,
    {started: true, ...(had === undefined ? {} : {cpu_ms: had.cpuMs, wall_ms: had.wallMs})},
  ];
}

export class Functions {
  readonly #parts: FunctionParts;

  constructor(parts: FunctionParts) {
    this.#parts = parts;
  }

  /** @throws ServiceError when the service cannot run it now; errors of the function or its caller are in the result */
  async call(call: Call): Promise<CallResult> {
    const startedMs = this.#parts.clock();
    call.span ??= callSpan(call.requestId);
    let result: CallResult;
    let entry: FunctionEntry | null = null;
    try {
      const live = this.#parts.live();
      entry = findFunction(live?.table ?? null, call.path, call.kind, call.origin);
      result = await this.#run(live!, entry, call);
    } catch (caught) {
      if (!(caught instanceof CallError)) throw caught;
      result = {ok: false, error: caught.message, ...NO_LINES};
    }
    this.#record(call, entry, startedMs, result);
    return result;
  }

  #run(live: LiveDeployment, entry: FunctionEntry, call: Call): Promise<CallResult> | CallResult {
    switch (entry.kind) {
      case 'query':
      case 'paginatedQuery':
        return this.#query(live, entry, call);
      case 'mutation':
        return this.#mutation(live, entry, call);
      case 'action':
        return this.#action(live, entry, call);
      case 'httpAction':
        throw new CallError(`${shownPath(entry.path)} is an HTTP action; it is reached through its route`);
      default:
        return unreachable(entry.kind);
    }
  }

  async #query(live: LiveDeployment, entry: FunctionEntry, call: Call): Promise<CallResult> {
    const execution = this.#execution(live, entry, checkArguments(live.table, entry, call.args), call.caller);
    const {results, catalog} = this.#parts;
    const cached = results.find(execution);
    // The cached result equals the result of a run at the newest commit.
    if (cached !== null) return cached.ok && call.hasVersion ? {...cached, sequence: results.sequence} : cached;
    const result = await results.run(execution, run => {
      const {outcome, lines, starved, had, sequence} = run;
      if (starved !== null) throw overloaded(...starvation(had));
      const ids = new Set<string>();
      const answer = catalog.notingIds(ids, () => finished(live, entry, outcome, {lines, own: lines}));
      // An id that the returns validator looked up is part of the cached result's read set.
      if (run.readSet !== null) run.readSet = withIds(run.readSet, ids);
      if (answer.ok) answer.sequence = sequence;
      return answer;
    });
    await this.#durable();
    const now = this.#parts.live();
    if (result.ok || now === live || now === null) return result;
    // Code that was replaced meanwhile may have read the tables and indexes of its successor's schema. That is not its
    // error, so the call runs again with the new code.
    return await this.#query(now, findFunction(now.table, call.path, call.kind, call.origin), call);
  }

  /**
   * A thread may have read a commit that can still be rolled back, so its result waits until that commit is durable.
   */
  #durable(): Promise<void> | undefined {
    const {groups} = this.#parts;
    return groups.isDurable ? undefined : new Promise(resolve => groups.whenDurable(resolve));
  }

  /** Does all work that needs no data before the write, because the other writes of the group wait for it. */
  #mutation(live: LiveDeployment, entry: FunctionEntry, call: Call, tries = 0): Promise<CallResult> | CallResult {
    this.#parts.memory.check();
    const args = checkArguments(live.table, entry, call.args);
    const failed = this.#parts.mutations.prepare(this.#execution(live, entry, args, call.caller));
    if (failed !== null) return finished(live, entry, failed.outcome, {lines: failed.lines, own: failed.lines});
    return new Promise((resolve, reject) => {
      this.#parts.groups.submit<CallResult>({
        cause: functionCause(call, entry.path),
        checksFirst: true,
        answersClient: true,
        run: writer => {
          const mutate = () => this.#mutatePrepared({live, entry, args}, call, tries < MUTATION_PREPARATIONS_MAX);
          const run = () => allOrNothing(writer, mutate);
          return call.within === undefined ? run() : call.within(writer, run);
        },
        settle: outcome => {
          if (outcome instanceof MutationFailed) resolve(outcome.result);
          else if (outcome instanceof MutationUnprepared) resolve(this.#again(call, tries + 1));
          else if (outcome instanceof MutationStarved && outcome.starved === 'again') resolve(this.#again(call, tries));
          else if (outcome instanceof ServiceError) reject(outcome);
          else resolve(outcome);
        },
      });
    });
  }

  /** Starts over with the current code. */
  async #again(call: Call, tries: number): Promise<CallResult> {
    const live = this.#parts.writing();
    const entry = findFunction(live?.table ?? null, call.path, 'mutation', call.origin);
    return await this.#mutation(live!, entry, call, tries);
  }

  /** @param mayWait false: missing modules are loaded here. @throws MutationUnprepared, or as `#mutate` */
  #mutatePrepared(prepared: Prepared, call: Call, mayWait: boolean): CallResult & {ok: true} {
    const isCurrent = this.#parts.writing() === prepared.live;
    if (mayWait && !isCurrent) throw new MutationUnprepared();
    return this.#mutate(call, null, isCurrent ? prepared : null, mayWait);
  }

  /**
   * Runs a mutation inside the write under way, with the code that is active at this point.
   * @param prepared the resolved call; null: it is resolved here
   * @throws MutationFailed when it must be rolled back
   */
  #mutate(call: Call, job: string | null, prepared: Prepared | null = null, mayWait = false): CallResult & {ok: true} {
    try {
      const {live, entry, args} = prepared ?? this.#prepared(call);
      const execution = this.#execution(live, entry, args, call.caller);
      // The isolate was dropped meanwhile, for instance with a mutation that timed out.
      if (mayWait && !this.#parts.mutations.isPrepared(execution)) throw new MutationUnprepared();
      const {outcome, lines, starved, had} = this.#parts.mutations.run(execution, job, call.span!);
      if (starved !== null) throw new MutationStarved(starved, had);
      const result = finished(live, entry, outcome, {lines, own: lines});
      if (!result.ok) throw new MutationFailed(result);
      return result;
    } catch (caught) {
      if (!(caught instanceof CallError)) throw caught;
      throw new MutationFailed({ok: false, error: caught.message, ...NO_LINES});
    }
  }

  /** @throws CallError */
  #prepared(call: Call): Prepared {
    const live = this.#parts.writing();
    const entry = findFunction(live?.table ?? null, call.path, 'mutation', call.origin);
    return {live: live!, entry, args: checkArguments(live!.table, entry, call.args)};
  }

  /** Runs before a scheduled job's write, to load its function. Faults of the function are reported by the run. */
  prepareJob(path: string): void {
    const live = this.#parts.writing();
    try {
      const entry = findFunction(live?.table ?? null, path, 'mutation', 'job');
      this.#parts.mutations.prepare(this.#execution(live!, entry, '{}', {identity: null}));
    } catch (caught) {
      if (!(caught instanceof CallError)) throw caught;
    }
  }

  /** Runs a scheduled job's mutation inside the job's write. @throws MutationFailed, and the job fails */
  runJob(writer: Writer, job: string, path: string, args: unknown, trace?: JobTrace): void {
    writer.cause = {...writer.cause, function: shownPath(path)};
    const startedMs = this.#parts.clock();
    // All runs of a cron have its name as their request.
    const span = jobSpan(writer.cause.kind === 'cron' ? `${job}@${Math.floor(startedMs)}` : job, trace);
    const call: Call = {path, args, kind: 'mutation', origin: 'job', caller: {identity: null}, requestId: job, span};
    let result: CallResult;
    try {
      result = this.#mutate(call, job);
    } catch (caught) {
      if (caught instanceof MutationFailed) {
        this.#record(call, null, startedMs, caught.result);
      }
      throw caught;
    }
    this.#record(call, null, startedMs, result);
  }

  /** Releases the call's arguments: actions can wait for minutes, and many may have large arguments. */
  async #action(live: LiveDeployment, entry: FunctionEntry, call: Call): Promise<CallResult> {
    const lines = new ActionLines();
    const {actions, nodeActions, groups} = this.#parts;
    if (groups.isPaused) throw readOnlyTenant();
    const runtime = entry.runtime === 'node' ? nodeActions : actions;
    const outcome = await runtime.run(this.#actionRequest(live, entry, call), {
      lines,
      call: (operation, parameters) => this.nested(operation, parameters, call, lines),
    });
    return finished(live, entry, outcome, {lines: lines.all, own: lines.own});
  }

  #actionRequest(live: LiveDeployment, entry: FunctionEntry, call: Call): ActionRequest {
    const args = checkArguments(live.table, entry, call.args);
    call.args = null;
    return {
      deployment: live.code,
      module: entry.module,
      name: entry.name,
      kind: 'action',
      args,
      requestId: call.requestId,
      caller: call.caller,
      env: this.#parts.env(),
      egress: this.#parts.egress(),
    };
  }

  /**
   * Runs a request that an action makes through its ctx.
   * @param onDamage called if the request meets damaged data
   * @returns a host answer
   */
  async nested(
    operation: MainOperation,
    parameters: string,
    call: NestedIn,
    lines: ActionLines,
    onDamage: (error: ServiceError) => void = () => undefined,
  ): Promise<string> {
    try {
      switch (operation) {
        case 'runQuery':
        case 'runMutation':
        case 'runAction':
          return await this.#callNested(operation, parameters, call, lines);
        case 'schedule':
          return `+${await this.#schedule(parameters, call)}`;
        case 'cancel':
          await this.#parts.groups.perform(writer => cancelFunctionJob(writer, parameters), functionCause(call));
          return '+';
        default:
          return unreachable(operation);
      }
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      if (caught.code === 'op.storage_damaged') onDamage(caught);
      return refusal(caught.isOurs ? "Your request couldn't be completed. Try again later." : caught.message);
    }
  }

  async #callNested(
    operation: 'runQuery' | 'runMutation' | 'runAction',
    parameters: string,
    {caller, requestId, by, span: parent}: NestedIn,
    lines: ActionLines,
  ): Promise<string> {
    const {path, args: text} = JSON.parse(parameters) as {path: string; args: string};
    const args: unknown = JSON.parse(text);
    const inherited: Caller = 'invalid' in caller ? {identity: null} : caller;
    const kind = operation === 'runQuery' ? this.queryKind(path) : operation === 'runMutation' ? 'mutation' : 'action';
    const span = callSpan(requestId, parent);
    const result = await this.call({path, args, kind, origin: 'function', caller: inherited, requestId, by, span});
    lines.addNested(result.lines);
    return result.ok ? `+${result.value}` : refusal(nestedError(result.error, this.#parts.redactErrors));
  }

  async #schedule(parameters: string, call: NestedIn): Promise<string> {
    const {groups, writing, clock} = this.#parts;
    const nowMs = Math.floor(clock());
    const trace = call.span === undefined ? {id: call.requestId, jobs: 1} : traceOfJob(call.span);
    return await groups.perform(writer => {
      const job = checkedJob(writing()?.table ?? null, realmRequest(parameters), nowMs);
      return insertFunctionJob(writer, nowMs, job, trace);
    }, functionCause(call));
  }

  /** `ctx.runQuery` accepts both kinds of queries. */
  queryKind(path: string): 'query' | 'paginatedQuery' {
    try {
      const entry = findFunction(this.#parts.live()?.table ?? null, path, null, 'function');
      return entry.kind === 'paginatedQuery' ? 'paginatedQuery' : 'query';
    } catch (caught) {
      if (!(caught instanceof CallError)) throw caught;
      return 'query'; // the call itself reports the missing function
    }
  }

  #execution(live: LiveDeployment, entry: FunctionEntry, args: string, caller: Caller): Execution {
    return {
      deployment: live.code,
      path: entry.path,
      module: entry.module,
      name: entry.name,
      paginated: entry.kind === 'paginatedQuery',
      args,
      caller,
      env: this.#parts.env(),
      nowMs: Math.floor(this.#parts.clock()),
      seed: newSeed(),
      endCursor: null,
    };
  }

  #record(call: Call, entry: FunctionEntry | null, startedMs: number, result: CallResult): void {
    const ofFunction = ended(result, this.#parts.clock() - startedMs);
    // Callers can make up names of functions that do not exist.
    const name = entry === null ? OTHER_FUNCTIONS : shownPath(entry.path);
    this.record(
      {
        at: startedMs,
        request_id: call.requestId,
        path: entry === null ? call.path.slice(0, 200) : shownPath(entry.path),
        kind: entry?.kind ?? call.kind ?? 'query',
        caller: call.origin,
        ...ofFunction,
      },
      call.span!,
      name,
    );
  }

  /** A call that a router answered, which takes it no time worth noting. */
  answeredByRouter({atMs, kind, path, requestId}: ReportedCall): void {
    this.#parts.metrics.count('svc_function_results_total', {how: 'router'});
    const ran = {caller: 'client', outcome: 'success', duration_ms: 0, error: null} as const;
    this.record({at: atMs, request_id: requestId, path, kind, ...ran, lines: []}, callSpan(requestId));
  }

  /** Counts a finished execution and adds it to the log. @param name under which it is counted */
  record(entry: UnnumberedEntry, span: Span, name = entry.path): void {
    const {metrics, log} = this.#parts;
    metrics.functions.add(name, entry.outcome === 'error', entry.duration_ms);
    metrics.count('svc_function_executions_total', {kind: entry.kind, outcome: entry.outcome});
    metrics.observe('svc_function_seconds', entry.duration_ms / 1000);
    log.add(entry, span);
  }
}

function functionCause({requestId, by, path}: Pick<NestedIn, 'requestId' | 'by' | 'path'>, canonical = path): Cause {
  const name = canonical === undefined ? undefined : shownPath(canonical);
  return {kind: 'function', request_id: requestId, ...by, function: name};
}

/** Seeds are generated in batches: one call per seed would cost as much as a small query. */
let seeds = '';
const SEED_CHARS = 32;
/** A random seed for an execution. */
export function newSeed(): string {
  if (seeds.length < SEED_CHARS) seeds = randomBytes(SEED_CHARS * 64).toString('hex');
  const seed = seeds.slice(-SEED_CHARS);
  seeds = seeds.slice(0, -SEED_CHARS);
  return seed;
}
