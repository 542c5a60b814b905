/** Calls that wait for the process of the isolates: their request messages, and the handling of their answers. */
import {hash} from 'node:crypto';
import {errorOfThread} from '../../../engine/storage/damage.ts';
import {ServiceError} from '../../../shared/errors.ts';
import type {UserCall} from '../../../shared/ipc/control.ts';
import type {ActionAnswers} from '../actions/action-link.ts';
import type {ActionRequest} from '../actions/action-message.ts';
import {ConsoleLines} from '../console-lines.ts';
import type {Execution, Outcome} from '../execution.ts';
import {ACTION_CALLS_MAX} from '../guest/limits.ts';
import {isJson} from '../process/is-json.ts';
import type {QueryRun, SentOutcome, SentRun} from '../queries/packed-run.ts';
import type {FromIsolates, ToIsolates} from './isolate-message.ts';
import type {QueryFrames} from './query-frames.ts';

export type Send = (message: ToIsolates, tail?: string | Uint8Array) => void;
/** The ways to send something to the process. */
export type Sender = {send: Send; queries: Pick<QueryFrames, 'add'>};
type Answer = Extract<FromIsolates, {id: number}>;

export type IsolateCall = {
  readonly kind: 'queries' | 'action';
  readonly env: Execution['env'];
  /** The calls and functions to which a crash is attributed. */
  readonly names: readonly UserCall[];
  /** Processes that crashed while they ran it. */
  crashes: number;
  send(id: number, sender: Sender): void;
  /** A query was run. @returns false: not an answer to this call */
  ran(at: number, run: SentRun, value: string): boolean;
  /** @returns false: not an answer to this call */
  received(message: Answer, tail: Buffer, send: Send): boolean;
  /** Whether no caller waits for it any longer. */
  readonly isOver: boolean;
  fail(error: ServiceError): void;
};

/** One query, or several that read one snapshot. */
export class QueryCall implements IsolateCall {
  readonly kind = 'queries';
  readonly executions: readonly Execution[];
  crashes = 0;
  isOver = false;
  readonly #done = Promise.withResolvers<QueryRun[]>();
  #runs: QueryRun[] = [];

  constructor(executions: readonly Execution[]) {
    this.executions = executions;
  }

  get done(): Promise<QueryRun[]> {
    return this.#done.promise;
  }

  get env(): Execution['env'] {
    return this.executions.at(-1)!.env;
  }

  get names(): UserCall[] {
    return this.executions.map(({path, args}) => ({name: path, key: keyOf(path, args)}));
  }

  send(id: number, {queries}: Sender): void {
    this.#runs = [];
    const count = this.executions.length;
    for (const [at, execution] of this.executions.entries()) queries.add([id, at, count], execution);
  }

  received(message: Answer): boolean {
    if (message.type !== 'refused') return false;
    this.fail(errorOf(message));
    return true;
  }

  ran(at: number, {outcome, ...run}: SentRun, value: string): boolean {
    if (at !== this.#runs.length) return false;
    this.#runs.push({...run, outcome: outcome.ok ? {ok: true, value} : outcome});
    if (this.#runs.length < this.executions.length) return true;
    this.isOver = true;
    this.#done.resolve(this.#runs);
    return true;
  }

  fail(error: ServiceError): void {
    this.isOver = true;
    this.#done.reject(error);
  }
}

export class ActionCall implements IsolateCall {
  readonly kind = 'action';
  readonly env: Execution['env'];
  readonly names: readonly UserCall[];
  crashes = 0;
  isOver = false;
  readonly #request: ActionRequest;
  readonly #answers: ActionAnswers;
  readonly #log: ConsoleLines;
  readonly #done = Promise.withResolvers<Outcome>();
  /** Unanswered calls of the action. */
  #openRequests = 0;

  constructor(request: ActionRequest, answers: ActionAnswers) {
    const {module, name, kind, args, env} = request;
    const path = kind === 'httpAction' ? `HTTP action ${name}` : `${module}:${name}`;
    this.env = env;
    this.names = [{name: path, key: keyOf(path, args)}];
    this.#request = request;
    this.#answers = answers;
    this.#log = new ConsoleLines(line => answers.log(line));
  }

  get done(): Promise<Outcome> {
    return this.#done.promise;
  }

  send(id: number, {send}: Sender): void {
    const {env: _, args, ...request} = this.#request;
    send({type: 'action', id, request}, args);
    // It is never sent again, so large arguments are not held while it waits.
    this.#request.args = '';
  }

  ran(): boolean {
    return false;
  }

  received(message: Answer, tail: Buffer, send: Send): boolean {
    switch (message.type) {
      case 'log':
        this.#log.add(message.line);
        return true;
      case 'call':
        // The isolate's own limit allows this many.
        if (this.#openRequests > 2 * ACTION_CALLS_MAX) return false;
        void this.#answer(message, tail, send);
        return true;
      case 'outcome':
        if (message.outcome.ok && !isJson(tail.toString())) return false;
        this.isOver = true;
        this.#done.resolve(outcomeOf(message.outcome, tail));
        return true;
      case 'refused':
        this.fail(errorOf(message));
        return true;
      default:
        return false;
    }
  }

  fail(error: ServiceError): void {
    this.isOver = true;
    this.#done.reject(error);
  }

  async #answer(message: FromIsolates & {type: 'call'}, tail: Buffer, send: Send): Promise<void> {
    const {id, call, operation, parameters} = message;
    this.#openRequests++;
    const {answer, bytes} =
      parameters === null
        ? await this.#answers.answer(operation, tail.toString(), null)
        : await this.#answers.answer(operation, parameters, new Uint8Array(tail));
    this.#openRequests--;
    if (this.isOver) return;
    if (bytes === null) send({type: 'answer', id, call, answer: null}, answer);
    else send({type: 'answer', id, call, answer}, bytes);
  }
}

function outcomeOf(outcome: SentOutcome, tail: Buffer): Outcome {
  return outcome.ok ? {ok: true, value: tail.toString()} : outcome;
}

function errorOf({error, reason}: FromIsolates & {type: 'refused'}): ServiceError {
  const reported = errorOfThread(error);
  return reason === null
    ? reported
    : new ServiceError(reported.code, reported.message, reported.detail, {cause: new Error(reason)});
}

function keyOf(path: string, args: string): string {
  return hash('sha256', `${path}\0${args}`, 'base64');
}
