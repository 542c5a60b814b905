/**
 * The unanswered operations of one action. Operations of the main thread are passed on; timers and the network are
 * handled here. Parameters come from the isolate and are checked as outside input.
 */

import type {Egress} from '../egress/connector.ts';
import {ACTION_MS_MAX, ACTION_TIMERS_MAX} from '../limits.ts';
import {ActionFetches} from './action-fetches.ts';
import {
  HTTP_OPERATIONS,
  type HttpOperation,
  isOneOf,
  MAIN_OPERATIONS,
  type MainOperation,
  refusal,
} from './action-message.ts';
import {ActionSockets} from './action-sockets.ts';
import {checkFetchCall, checkSocketCall, type Fields, fieldsOf, numberOf, textOf} from './operation-input.ts';
import {PendingOperations} from './pending-operations.ts';

export type MainCall = (
  call: number,
  operation: MainOperation | HttpOperation,
  parameters: string,
  bytes: Uint8Array | null,
) => void;

export type ActionOperationsParts = {
  /** Null: there is no network. */
  egress: Egress | null;
  ask: MainCall;
  settle: (call: number, answer: string, bytes: Uint8Array | null) => void;
  /** Resolves when the isolate has received it. */
  event: (name: string, detail: string, bytes: Uint8Array | null) => Promise<void>;
  load: (path: string) => Promise<string>;
};

type Answer = {text?: string; bytes?: Uint8Array | null /** Complete already. */; answer?: string};

/** Operations that need no answer: an action does not continue only for them. */
const UNHEARD = ['sleepCancel', 'fetchCancel', 'httpBodyCancel', 'wsClose'];

export class ActionOperations {
  readonly #parts: ActionOperationsParts;
  readonly #fetches: ActionFetches;
  readonly #sockets: ActionSockets;
  readonly #sleeping = new Map<number, NodeJS.Timeout>();
  /** Without those that sleep. */
  readonly #pending = new PendingOperations();

  constructor(parts: ActionOperationsParts) {
    this.#parts = parts;
    this.#fetches = new ActionFetches(parts.egress);
    this.#sockets = new ActionSockets(parts.egress, (event, bytes) => parts.event('ws', JSON.stringify(event), bytes));
  }

  /** Whether anything can still resume the action. */
  get arePending(): boolean {
    return this.#pending.size > 0 || this.#sleeping.size > 0 || this.#sockets.size > 0;
  }

  /** Names of the operations whose answers will be lost. */
  unawaited(): string[] {
    return this.#pending.unawaited();
  }

  /** @returns a host answer: `+` means that it has begun */
  start(call: number, operation: string, parameters: string, bytes: Uint8Array | null): string {
    if (operation === 'sleep') return this.#sleep(call, fieldsOf(parameters));
    // For messages on sockets, bytes are limited instead of calls.
    const refused = this.#pending.begin(call, operation, operation === 'wsSend');
    if (refused !== null) return refused;
    if (isOneOf(MAIN_OPERATIONS, operation) || isOneOf(HTTP_OPERATIONS, operation)) {
      this.#parts.ask(call, operation, parameters, bytes);
      return '+';
    }
    void this.#answer(call, operation, parameters, bytes);
    return '+';
  }

  settled(call: number): void {
    this.#pending.settled(call);
  }

  /** Called when the action is over. */
  close(): void {
    for (const timer of this.#sleeping.values()) clearTimeout(timer);
    this.#sleeping.clear();
    this.#pending.clear();
    this.#fetches.close();
    this.#sockets.closeAll();
  }

  #sleep(call: number, parameters: Fields): string {
    if (this.#sleeping.size >= ACTION_TIMERS_MAX) return refusal(`Too many timers (maximum ${ACTION_TIMERS_MAX})`);
    const ms = Math.min(numberOf(parameters, 'ms'), ACTION_MS_MAX);
    const timer = setTimeout(() => {
      this.#sleeping.delete(call);
      this.#parts.settle(call, '+', null);
    }, ms);
    this.#sleeping.set(call, timer);
    return '+';
  }

  async #answer(call: number, operation: string, parameters: string, bytes: Uint8Array | null): Promise<void> {
    let answer: string;
    let chunk: Uint8Array | null = null;
    try {
      const done = await this.#do(operation, fieldsOf(parameters), bytes);
      answer = done.answer ?? `+${done.text ?? ''}`;
      chunk = done.bytes ?? null;
    } catch (failure) {
      answer = refusalOf(failure);
    }
    if (UNHEARD.includes(operation)) this.settled(call);
    else this.#parts.settle(call, answer, chunk);
  }

  async #do(operation: string, parameters: Fields, bytes: Uint8Array | null): Promise<Answer> {
    const id = () => numberOf(parameters, 'id');
    switch (operation) {
      case 'sleepCancel':
        this.#wake(numberOf(parameters, 'call'));
        return {};
      case 'fetch':
        return {text: JSON.stringify(await this.#fetches.start(checkFetchCall(parameters), bytes))};
      case 'fetchBody':
        return {bytes: await this.#fetches.read(id())};
      case 'fetchSend':
        await this.#fetches.send(id(), parameters.done === true ? null : bytes);
        return {};
      case 'fetchCancel':
        this.#fetches.cancel(id());
        return {};
      case 'wsOpen':
        this.#sockets.open(checkSocketCall(parameters));
        return {};
      case 'wsSend':
        await this.#sockets.send(id(), bytes === null ? textOf(parameters, 'text') : null, bytes);
        return {};
      case 'wsClose':
        this.#sockets.close(
          id(),
          typeof parameters.code === 'number' ? parameters.code : undefined,
          textOf(parameters, 'reason'),
        );
        return {};
      case 'loadModule':
        return {answer: await this.#parts.load(textOf(parameters, 'path'))};
      default:
        throw new Error(`there is no operation ${operation}`);
    }
  }

  #wake(call: number): void {
    clearTimeout(this.#sleeping.get(call));
    this.#sleeping.delete(call);
  }
}

function refusalOf(failure: unknown): string {
  if (!(failure instanceof Error)) return refusal(String(failure));
  // The message of undici's error is for the author of the code. The stack is ours and stays here.
  return refusal(failure.message, failure.name);
}
