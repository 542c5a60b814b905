/**
 * The mutations and actions of one session. Each mutation runs after the commit of the previous one; actions run
 * concurrently. Each call runs as the user that made it: while that identity is unverified the call waits, and if the
 * client turns out to be another user the call is refused.
 */

import {Buffer} from 'node:buffer';
import {randomBytes} from 'node:crypto';
import {overloaded, ServiceError} from '../../../../shared/errors.ts';
import {FRAME_BODY_BYTES_MAX} from '../../../../shared/limits.ts';
import type {ClientMessage} from '../../../../shared/protocol/function-socket/client-message.ts';
import type {CallResult} from '../../../runtime/call-result.ts';
import type {Call} from '../../functions.ts';
import {
  SOCKET_ACTIONS_MAX,
  SOCKET_ANSWERS_CHARS_MAX,
  SOCKET_ANSWERS_WAITING_CHARS,
  SOCKET_MUTATIONS_WAITING_MAX,
} from '../../limits.ts';
import {type CaughtParts, caughtError} from '../queries/caught.ts';
import type {Caller} from './caller.ts';
import type {ClientSocket} from './client-socket.ts';

export type MutationCall = Extract<ClientMessage, {type: 'mutation'}>;
type ActionCall = Extract<ClientMessage, {type: 'action'}>;

export type MutationOutcome = {result: CallResult /** The version that contains its effect. */; ts: number};

export type CallParts = CaughtParts & {
  /** Runs a function. @throws ServiceError when the service cannot run it now */
  call: (call: Call) => Promise<CallResult>;
  /** Runs a mutation, or finds its stored outcome. @throws ServiceError */
  mutate: (
    clientId: string,
    call: MutationCall,
    identity: string | null,
    requestId: string,
  ) => Promise<MutationOutcome>;
  /** The error message that clients get. */
  shown: (error: string, requestId: string) => string;
  isOpen: boolean;
};

/** The identity to run a call as; later: it is not verified yet; never: the client is another user now. */
export type RunsAs = {identity: string | null} | 'later' | 'never';

/** The session, as its calls see it. */
export interface Callers {
  clientId(): string;
  /** The caller of new calls. */
  caller(): Caller;
  /** The identity that a call of this caller runs as now. */
  runsAs(caller: Caller): RunsAs;
  /** Promises the client a transition to at least this version. */
  mustReach(ts: number): void;
  /** Its socket was closed. */
  end(): void;
}

const OVERLOADED = 1013;
const MADE_BY_ANOTHER = 'The call was made by another user than who is signed in now: it did not run';

type Waiting<Message> = {message: Message; bytes: number; caller: Caller};

export class SessionCalls {
  readonly #socket: ClientSocket;
  readonly #parts: CallParts;
  readonly #session: Callers;
  readonly #prefix = `ws-${randomBytes(4).toString('hex')}-`;
  #count = 0;
  #hasEnded = false;
  #mutations: Waiting<MutationCall>[] = [];
  /** Actions that arrived while responses waited for the network, or while the caller was unverified. */
  #actionsWaiting: Waiting<ActionCall>[] = [];
  /** The mutation under way, or the work that must precede the first one. */
  #underWay: Promise<void> | null = null;
  #lastMutation = -1;
  #actions = 0;
  #onIdle: () => void = () => undefined;

  constructor(socket: ClientSocket, parts: CallParts, session: Callers) {
    this.#socket = socket;
    this.#parts = parts;
    this.#session = session;
  }

  /** @throws ServiceError: the message breaks the protocol */
  add(message: MutationCall | ActionCall, bytes: number): void {
    const caller = this.#session.caller();
    if (message.type === 'action') {
      this.#actOrWait({message, bytes, caller});
      return;
    }
    this.#checkOrder(message);
    if (this.#mutations.length >= SOCKET_MUTATIONS_WAITING_MAX) {
      this.#socket.handled(bytes);
      this.#failed(message, overloaded('too many mutations of this client wait'));
      return;
    }
    this.#mutations.push({message, bytes, caller});
    this.#mutateNext();
  }

  /** Continues with waiting calls: the client's network has taken responses, or its identity is verified. */
  resume(): void {
    this.#mutateNext();
    const waiting = this.#actionsWaiting.splice(0);
    for (const next of waiting) this.#actOrWait(next);
  }

  /** Starts nothing before this has settled. */
  after(settled: Promise<void>): void {
    this.#underWay = settled.then(() => this.#goOn());
  }

  #goOn(): void {
    this.#underWay = null;
    this.#mutateNext();
    if (this.isIdle) this.#onIdle();
  }

  /** Nothing is under way. */
  get isIdle(): boolean {
    return this.#underWay === null && this.#actions === 0;
  }

  /** @param callback called each time that the last call is answered */
  whenIdle(callback: () => void): void {
    this.#onIdle = callback;
  }

  /** A mutation is under way. */
  get isBusy(): boolean {
    return this.#underWay !== null;
  }

  /** Resolves when nothing is under way. If the session has ended, nothing starts afterwards. */
  settled(): Promise<void> {
    return this.#underWay ?? Promise.resolve();
  }

  end(): void {
    this.#hasEnded = true;
    this.#mutations = [];
    this.#actionsWaiting = [];
  }

  #checkOrder({request_id: requestId, settled_below: settledBelow}: MutationCall): void {
    if (requestId <= this.#lastMutation) {
      throw new ServiceError('protocol.out_of_step', `mutation ${requestId} comes after ${this.#lastMutation}`);
    }
    if (requestId < settledBelow) {
      throw new ServiceError('protocol.out_of_step', `mutation ${requestId} is settled, as all below ${settledBelow}`);
    }
    this.#lastMutation = requestId;
  }

  #mutateNext(): void {
    if (this.#hasEnded || this.#underWay !== null) return;
    if (this.#socket.waitingChars > SOCKET_ANSWERS_WAITING_CHARS) return; // `resume` goes on
    for (let next = this.#mutations[0]; next !== undefined; next = this.#mutations[0]) {
      const {message, bytes} = next;
      const as = this.#session.runsAs(next.caller);
      if (as === 'later') return; // `resume` goes on
      this.#mutations.shift();
      if (as === 'never') {
        this.#ofAnother(message, bytes);
        continue;
      }
      this.#underWay = this.#mutate(message, as.identity).then(() => {
        this.#socket.handled(bytes);
        this.#goOn();
      });
      return;
    }
  }

  async #mutate(message: MutationCall, identity: string | null): Promise<void> {
    const requestId = this.#nextRequestId();
    try {
      const {result, ts} = await this.#parts.mutate(this.#session.clientId(), message, identity, requestId);
      this.#answer(message, result, requestId, ts);
      if (result.ok) this.#session.mustReach(ts);
    } catch (caught) {
      this.#failed(message, caughtError(this.#parts, 'call', caught, {path: message.path, request: requestId}));
    }
  }

  /**
   * The action's bytes count until it is answered, so a client that reads no responses cannot send calls without limit.
   */
  #actOrWait(next: Waiting<ActionCall>): void {
    const {message, bytes, caller} = next;
    const hasRoom = this.#socket.waitingChars <= SOCKET_ANSWERS_WAITING_CHARS;
    const as = hasRoom ? this.#session.runsAs(caller) : 'later';
    if (as === 'later') this.#actionsWaiting.push(next);
    else if (as === 'never') this.#ofAnother(message, bytes);
    else void this.#act(message, as.identity).finally(() => this.#socket.handled(bytes));
  }

  async #act(message: ActionCall, identity: string | null): Promise<void> {
    if (this.#actions >= SOCKET_ACTIONS_MAX) {
      this.#failed(message, overloaded('too many actions of this client are under way'));
      return;
    }
    const requestId = this.#nextRequestId();
    this.#actions++;
    try {
      const {path, args} = message;
      const call: Call = {path, args, kind: 'action', origin: 'client', caller: {identity}, requestId};
      this.#answer(message, await this.#parts.call(call), requestId, null);
    } catch (caught) {
      this.#failed(message, caughtError(this.#parts, 'call', caught, {path: message.path, request: requestId}));
    } finally {
      this.#actions--;
      if (this.isIdle) this.#onIdle();
    }
  }

  #answer(
    {type, request_id}: MutationCall | ActionCall,
    result: CallResult,
    requestId: string,
    ts: number | null,
  ): void {
    const {isOpen, shown} = this.#parts;
    const lines = isOpen && result.lines.length > 0 ? `,"log_lines":${JSON.stringify(result.lines)}` : '';
    const head = `{"type":"${type}_result","request_id":${request_id}`;
    const moment = ts === null ? '' : `,"ts":${ts}`;
    const text = result.ok
      ? `${head},"ok":true,"value":${result.value}${moment}${lines}}`
      : `${head},"ok":false,"error":${JSON.stringify(shown(result.error, requestId))}${lines}}`;
    if (this.#socket.waitingChars + text.length > SOCKET_ANSWERS_CHARS_MAX) {
      this.#socket.close(OVERLOADED, 'session.overloaded');
      this.#session.end();
    } else if (fits(text)) this.#socket.send(text);
    else this.#socket.send(`${head},"ok":false,"error":"What the function returned is too long to be sent"}`);
  }

  #ofAnother(message: MutationCall | ActionCall, bytes: number): void {
    this.#socket.handled(bytes);
    this.#failed(message, new ServiceError('auth.unauthorized', MADE_BY_ANOTHER));
  }

  /** The service refused the call, and it did not run. */
  #failed({type, request_id}: MutationCall | ActionCall, {code, message: error}: ServiceError): void {
    this.#socket.send(JSON.stringify({type: `${type}_result`, request_id, ok: false, error, code}));
  }

  #nextRequestId(): string {
    return this.#prefix + (++this.#count).toString(36);
  }
}

function fits(text: string): boolean {
  return text.length * 3 <= FRAME_BODY_BYTES_MAX || Buffer.byteLength(text) <= FRAME_BODY_BYTES_MAX;
}
