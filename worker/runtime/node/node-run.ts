/**
 * The worker's side of one call in a Node process. Its host calls use the same link to the main thread as those of an
 * isolate's action, its lines have the same limits, and it ends exactly once.
 */

import {storageFailure} from '../../../engine/storage/database.ts';
import {AssertionError} from '../../../shared/assert.ts';
import type {ServiceError} from '../../../shared/errors.ts';
import type {ActionLink} from '../actions/action-link.ts';
import {type ActionRequest, isOneOf, MAIN_OPERATIONS, refusal} from '../actions/action-message.ts';
import {checkedResult, failure, timedOut, UNAVAILABLE, unawaitedWarning} from '../actions/action-outcome.ts';
import {PendingOperations} from '../actions/pending-operations.ts';
import {ConsoleLines} from '../console-lines.ts';
import type {Outcome} from '../execution.ts';
import {ACTION_MS_MAX} from '../limits.ts';
import {errorIn, type Framed, type ToNode} from './node-message.ts';

/** The process that it runs in. */
export type RunHost = {send(message: ToNode, text?: string): void};

export class NodeRun {
  readonly action: number;
  readonly request: ActionRequest;
  readonly ended: Promise<Outcome>;
  readonly #link: ActionLink;
  readonly #log: ConsoleLines;
  readonly #pending = new PendingOperations();
  readonly #settle: (outcome: Outcome) => void;
  readonly #reject: (reason: ServiceError) => void;
  readonly #wall: NodeJS.Timeout;
  #host: RunHost | null = null;
  #isOver = false;

  /** @param onTimeOut the call timed out, and its code still runs in its process */
  constructor(action: number, request: ActionRequest, link: ActionLink, onTimeOut: () => void, msMax = ACTION_MS_MAX) {
    this.action = action;
    this.request = request;
    this.#link = link;
    this.#log = new ConsoleLines(line => link.lines.add(line));
    const {promise, resolve, reject} = Promise.withResolvers<Outcome>();
    this.ended = promise;
    this.#settle = resolve;
    this.#reject = reject;
    this.#wall = setTimeout(() => {
      this.fail(timedOut('duration', msMax));
      onTimeOut();
    }, msMax);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends it to a process. */
  begin(host: RunHost): void {
    const {module, name, caller, args} = this.request;
    this.#host = host;
    host.send({type: 'call', action: this.action, module, name, caller}, args);
  }

  /** The process has its own copy, so that large arguments are not held twice while the action waits. */
  begun(): void {
    this.request.args = '';
  }

  log(line: string): void {
    if (!this.#isOver) this.#log.add(line);
  }

  outcome(ok: boolean, text: string): void {
    if (this.#isOver) return;
    const warning = unawaitedWarning(this.#pending.unawaited());
    if (warning !== null) this.#log.add(warning);
    this.#finish(ok ? checkedResult(text) : {ok: false, error: errorIn(text)});
  }

  /** The caller no longer waits for it. */
  fail(message: string): void {
    this.#finish(failure(message));
  }

  /** The call could not be run, for a reason other than its code. */
  refuse(error: ServiceError): void {
    if (this.#isOver) return;
    this.#over();
    this.#reject(error);
  }

  /** A call of its ctx, answered later. The parameters come from user code. */
  async start({call, operation, text}: Framed<{call: number; operation: string}>): Promise<void> {
    if (this.#isOver) return;
    const refused = this.#pending.begin(call, operation);
    const answer = refused ?? (await this.#answerTo(operation, text));
    if (refused === null) this.#pending.settled(call);
    if (!this.#isOver) this.#host?.send({type: 'answer', action: this.action, call}, answer);
  }

  async #answerTo(operation: string, parameters: string): Promise<string> {
    if (!isOneOf(MAIN_OPERATIONS, operation)) return refusal(`there is no operation ${operation.slice(0, 40)}`);
    try {
      return await this.#link.call(operation, parameters);
    } catch (caught) {
      if (caught instanceof AssertionError || storageFailure(caught) === 'fatal') throw caught;
      return refusal(UNAVAILABLE);
    }
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return;
    this.#over();
    this.#settle(outcome);
  }

  #over(): void {
    this.#isOver = true;
    clearTimeout(this.#wall);
    this.#pending.clear();
  }
}
