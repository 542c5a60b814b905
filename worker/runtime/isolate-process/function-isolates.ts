/**
 * Runs a tenant's queries and actions in a helper process of the worker. The process starts when a tenant with
 * functions is opened, or with the first call that needs it, and ends when it is idle. If the process crashes, the
 * calls that it ran are affected, but the tenant's worker is not:
 *
 *   query    has no effects, so it is run again, once
 *   action   can have had effects: 503 session.outcome_unknown, as if the worker had ended
 *
 * Queries are run again one at a time in a second, isolated process. If that process ends too, the culprit is known and
 * fails alone. Queries that shared a snapshot are then each run by themselves, to find the one responsible. Functions
 * that ended a process alone continue to run in the second process, so that they cannot end other calls. If queries do
 * not explain the end, functions whose actions were running do the same until they return. Calls and functions that end
 * processes repeatedly are refused for a while (shared/quarantine.ts), as routers do for crashes of workers.
 */
import {indexReads} from '../../../engine/storage/index-reads.ts';
import {overloaded, ServiceError, tenantClosing, unavailable} from '../../../shared/errors.ts';
import {shownFunction} from '../../../shared/function-name.ts';
import {SUSPECTS_MAX, SUSPICION_MS} from '../../../shared/limits.ts';
import type {Logger} from '../../../shared/log.ts';
import {Quarantine} from '../../../shared/quarantine.ts';
import {type ActionAnswers, type ActionRunner, answersOf, type HttpActionRunner} from '../actions/action-link.ts';
import type {ActionRequest} from '../actions/action-message.ts';
import {HttpExchange} from '../actions/http-exchange.ts';
import type {Execution, Outcome} from '../execution.ts';
import {ISOLATE_PROCESS_STARTS_MAX, QUERY_QUEUE_MAX} from '../limits.ts';
import type {EndCause, ProcessEnd} from '../process/confined-process.ts';
import type {QueryRun} from '../queries/packed-run.ts';
import {ActionCall, type IsolateCall, QueryCall} from './isolate-calls.ts';
import {type IsolateOwner, IsolateProcess, type IsolateProcessOptions} from './isolate-process.ts';

export type FunctionIsolatesParts = Omit<IsolateOwner, 'onEnd'> & {
  /** How processes are started. */
  start: IsolateProcessOptions;
  /** The first process, if this worker started it as a spare. */
  spare: IsolateProcess | null;
  log: Logger;
  /** A process has ended. */
  onEnd: (cause: EndCause) => void;
};

/**
 * Functions that run in the second process: until when, and whether a process ended while one of them was its only
 * call.
 */
type Apart = {untilMs: number; isGuilty: boolean};
type Place = 'together' | 'apart';

export class FunctionIsolates {
  readonly #parts: FunctionIsolatesParts;
  readonly #processes: Record<Place, IsolateProcess | null> = {together: null, apart: null};
  readonly #failedStarts: Record<Place, number> = {together: 0, apart: 0};
  readonly #quarantine = new Quarantine();
  readonly #apart = new Map<string, Apart>();
  /** A crash is attributed to a call or a function. */
  #hasSuspects = false;
  /** Queries that run in the second process, one at a time. */
  #trials: QueryCall[] = [];
  #onTrial: QueryCall | null = null;
  #spare: IsolateProcess | null;
  #isClosed = false;

  constructor(parts: FunctionIsolatesParts) {
    this.#parts = parts;
    this.#spare = parts.spare;
  }

  /** Runs actions and HTTP actions. */
  readonly actions: ActionRunner & HttpActionRunner = {
    run: (request, link, signal) => this.#action(request, answersOf(link, null), signal),
    runHttp: (request, link, incoming, outgoing, signal) =>
      this.#action(request, answersOf(link, new HttpExchange(incoming, outgoing, link.lines)), signal),
  };

  get processes(): number {
    return Object.values(this.#processes).filter(process => process !== null).length;
  }

  /** Memory of the processes, without mapped files. */
  get bytes(): number {
    return Object.values(this.#processes).reduce((sum, process) => sum + (process?.bytes ?? 0), 0);
  }

  /**
   * @throws session.overloaded 503; session.worker_unavailable 503 if no process runs it to its end; op.quarantined 503
   */
  async run(execution: Execution): Promise<QueryRun> {
    const [run] = await this.#query(new QueryCall([execution]));
    return run!;
  }

  /** Runs all of these in one snapshot. @throws as `run` */
  async runTogether(executions: readonly Execution[]): Promise<QueryRun[]> {
    return executions.length === 0 ? [] : await this.#query(new QueryCall(executions));
  }

  /** Running queries complete, actions fail, waiting calls are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#trials.splice(0)) call.fail(tenantClosing());
    await Promise.all([this.#takeSpare(), ...Object.values(this.#processes)].map(process => process?.close()));
  }

  /** Starts the process and its first query thread before the first call needs them. */
  start(): void {
    void this.#processOf('together').warm();
  }

  async #query(call: QueryCall): Promise<QueryRun[]> {
    this.#check(call);
    if (this.#isApart(call)) this.#try(call);
    else this.#processOf('together').begin(call);
    const runs = await call.done;
    const nowMs = Date.now();
    for (const {readSet} of runs) for (const {index} of readSet?.intervals ?? []) indexReads.note(index, nowMs);
    return this.#reported(call, runs);
  }

  /** @throws as `run`; session.outcome_unknown 503 when its process ended */
  async #action(request: ActionRequest, answers: ActionAnswers, signal?: AbortSignal): Promise<Outcome> {
    const call = new ActionCall(request, answers);
    this.#check(call);
    const process = this.#processOf(this.#isApart(call) ? 'apart' : 'together');
    const cancel = () => process.cancel(call);
    process.begin(call);
    signal?.addEventListener('abort', cancel);
    try {
      return this.#reported(call, await call.done);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Refuses quarantined calls. @throws session.worker_unavailable 503; op.quarantined 503 */
  #check(call: IsolateCall): void {
    if (this.#isClosed) throw tenantClosing();
    if (!this.#hasSuspects) return;
    const nowMs = performance.now();
    this.#hasSuspects = !this.#quarantine.isEmpty(nowMs) || this.#apart.size > 0;
    for (const one of call.names) {
      const refusedMs = this.#quarantine.refusedMs(one, nowMs);
      if (refusedMs > 0) throw quarantined(one.name, refusedMs);
    }
  }

  /** The call returned, which clears it: a call that ends processes never returns. */
  #reported<T>(call: IsolateCall, answer: T): T {
    if (!this.#hasSuspects) return answer;
    for (const {name, key} of call.names) {
      this.#quarantine.answered(key);
      const isTried = this.#trials.some(waiting => waiting.crashes > 0 && waiting.names.some(one => one.name === name));
      if (this.#apart.get(name)?.isGuilty === false && !isTried) this.#apart.delete(name);
    }
    return answer;
  }

  #isApart(call: IsolateCall): boolean {
    if (!this.#hasSuspects) return false; // the names need a digest of the arguments
    const nowMs = performance.now();
    for (const [name, {untilMs}] of this.#apart) if (untilMs <= nowMs) this.#apart.delete(name);
    return call.names.some(({name}) => this.#apart.has(name));
  }

  #setApart(names: Iterable<string>, isGuilty: boolean): void {
    this.#hasSuspects = true;
    for (const name of names) {
      const known = this.#apart.get(name);
      this.#apart.delete(name);
      this.#apart.set(name, {
        untilMs: performance.now() + SUSPICION_MS,
        isGuilty: isGuilty || known?.isGuilty === true,
      });
      if (this.#apart.size > SUSPECTS_MAX) this.#apart.delete(this.#apart.keys().next().value!);
    }
  }

  /** Queues a query for the second process. @throws session.overloaded 503 */
  #try(call: QueryCall): void {
    if (this.#trials.length >= QUERY_QUEUE_MAX) throw overloaded('too many queries are waiting; try again shortly');
    this.#trials.push(call);
    this.#tryNext();
  }

  #tryNext(): void {
    if (this.#onTrial !== null || this.#isClosed) return;
    const call = this.#trials.shift();
    if (call === undefined) return;
    this.#onTrial = call;
    const next = () => {
      if (this.#onTrial !== call) return;
      this.#onTrial = null;
      this.#tryNext();
    };
    call.done.then(next, next);
    this.#processOf('apart').begin(call);
  }

  #takeSpare(): IsolateProcess | null {
    const spare = this.#spare;
    this.#spare = null;
    return spare?.isEnding === false ? spare : null;
  }

  #processOf(place: Place): IsolateProcess {
    const known = this.#processes[place];
    if (known?.isEnding === false) return known;
    const {databasePath, headSequence, start} = this.#parts;
    const process = this.#takeSpare() ?? new IsolateProcess(start);
    process.open({
      databasePath,
      headSequence,
      onEnd: (end, calls) => {
        if (this.#processes[place] === process) this.#processes[place] = null;
        this.#ended(place, end, calls);
      },
    });
    this.#processes[place] = process;
    return process;
  }

  #ended(place: Place, end: ProcessEnd, calls: readonly IsolateCall[]): void {
    const {cause, how, stderrTail} = end;
    this.#parts.onEnd(cause);
    if (cause === 'start') {
      this.#notStarted(place, end, calls);
      return;
    }
    this.#failedStarts[place] = 0;
    if (cause !== 'told') {
      const functions = [...new Set(calls.flatMap(({names}) => names.map(({name}) => shownFunction(name))))].slice(
        0,
        20,
      );
      this.#parts.log.warn('a process of isolates ended', {cause, how, place, functions, stderrTail});
    }
    for (const call of calls) call.crashes++;
    // No other call can have ended it.
    const wasAlone = place === 'apart' && calls.length === 1;
    const again: QueryCall[] = [];
    const actions: ActionCall[] = [];
    for (const call of calls) {
      if (call instanceof ActionCall) actions.push(call);
      else if (call instanceof QueryCall && call.crashes === 1 && !wasAlone && !this.#isClosed) again.push(call);
      else call.fail(unavailable('the process of the query ended when it was run; nothing was done'));
    }
    if (cause !== 'told' && place === 'apart') {
      const [only] = calls;
      if (wasAlone && only instanceof QueryCall && only.executions.length > 1) this.#search(only);
      else this.#blame(calls, true);
    }
    for (const call of actions) {
      call.fail(new ServiceError('session.outcome_unknown', "the action's process ended; it may have taken effect"));
    }
    if (again.length === 0) {
      if (cause !== 'told' && place === 'together') this.#blame(actions, false);
      return;
    }
    this.#setApart(new Set(again.flatMap(({names}) => names.map(({name}) => name))), false);
    if (this.#onTrial !== null && calls.includes(this.#onTrial)) this.#onTrial = null;
    this.#trials.unshift(...again);
    // If none of the queries explains the end, an action does.
    void Promise.allSettled(again.map(({done}) => done)).then(() => {
      if (place === 'together' && again.every(({crashes}) => crashes === 1)) this.#blame(actions, false);
    });
    this.#tryNext();
  }

  /**
   * Finds which of its queries ended the process, by running each alone. A caller that requests such a query can
   * request queries of others together with it.
   */
  #search(call: QueryCall): void {
    const each = call.executions.map(execution => new QueryCall([execution]));
    if (this.#isClosed || this.#trials.length + each.length > QUERY_QUEUE_MAX) {
      this.#blame([call], true);
      return;
    }
    this.#setApart(
      call.names.map(({name}) => name),
      false,
    );
    // They are known to be dangerous, so none is run twice.
    for (const one of each) one.crashes = 1;
    this.#trials.push(...each);
    void Promise.allSettled(each.map(async one => this.#reported(one, await one.done))).then(ends => {
      if (ends.every(({status}) => status === 'fulfilled')) this.#blame([call], true);
    });
    this.#tryNext();
  }

  /** @param isGuilty it happened in the second process, perhaps with no other call */
  #blame(calls: readonly IsolateCall[], isGuilty: boolean): void {
    const underWay = calls.flatMap(({names}) => names);
    const names = new Set(underWay.map(({name}) => name));
    this.#setApart(names, isGuilty && names.size === 1);
    for (const refusal of this.#quarantine.died(underWay, performance.now()).refused) {
      this.#parts.log.error('a function ended its process too often and is refused', refusal);
    }
  }

  /** The process began no call. */
  #notStarted(place: Place, {how, stderrTail}: ProcessEnd, calls: readonly IsolateCall[]): void {
    this.#parts.log.error('the process of the isolates could not be started', {how, stderrTail});
    const mayTry = ++this.#failedStarts[place] < ISOLATE_PROCESS_STARTS_MAX && !this.#isClosed;
    if (!mayTry) this.#failedStarts[place] = 0;
    for (const call of calls) {
      if (mayTry && call instanceof QueryCall) this.#processOf(place).begin(call);
      else call.fail(unavailable('the process that runs functions could not be started; the log says why'));
    }
  }
}

function quarantined(name: string, forMs: number): ServiceError {
  const seconds = Math.ceil(forMs / 1_000);
  return new ServiceError(
    'op.quarantined',
    `${shownFunction(name)} is refused for ${seconds} s, because its process ended each time while it ran; other calls go on`,
    {retry_after_seconds: seconds},
  );
}
