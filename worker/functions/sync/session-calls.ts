/**
 * The mutations and actions of one session. Mutations run one after another, each after the commit of the one before; actions beside each
 * other. While it is not known who calls, calls wait.
 */

import {Buffer} from 'node:buffer';
import {randomBytes} from 'node:crypto';
import {ServiceError} from '../../../shared/errors.ts';
import {
  FRAME_BODY_BYTES_MAX,
  SOCKET_ACTIONS_MAX,
  SOCKET_ANSWERS_CHARS_MAX,
  SOCKET_ANSWERS_WAITING_CHARS,
  SOCKET_MUTATIONS_WAITING_MAX,
} from '../../../shared/limits.ts';
import type {ClientMessage} from '../../../shared/protocol/function-socket/client-message.ts';
import type {CallResult} from '../call-result.ts';
import type {Call} from '../functions.ts';
import {type CaughtParts, caughtError} from './caught.ts';
import type {ClientSocket} from './client-socket.ts';

export type MutationCall = Extract<ClientMessage, {type: 'mutation'}>;
type ActionCall = Extract<ClientMessage, {type: 'action'}>;

export type MutationOutcome = {result: CallResult /** The moment that has its effect. */; ts: number};

export type CallParts = CaughtParts & {
  /** Runs a function. @throws ServiceError when the service cannot run it now */
  call: (call: Call) => Promise<CallResult>;
  /** Runs a mutation, or finds what it came to. @throws ServiceError */
  mutate: (
    clientId: string,
    call: MutationCall,
    identity: string | null,
    requestId: string,
  ) => Promise<MutationOutcome>;
  /** What clients are told of an error. */
  shown: (error: string, requestId: string) => string;
  isOpen: boolean;
};

/** The session, as its calls see it. */
export interface Callers {
  clientId(): string;
  /** JSON of who calls. */
  identity(): string | null;
  /** Blocks the calls if the token of who calls has ended. */
  checkToken(): void;
  /** A moment that the client has been told of, and is to be shown. */
  owes(ts: number): void;
  /** Its socket was closed. */
  end(): void;
}

const OVERLOADED = 1013;

type Waiting<Message> = {message: Message; bytes: number; identity: string | null};

export class SessionCalls {
  readonly #socket: ClientSocket;
  readonly #parts: CallParts;
  readonly #session: Callers;
  readonly #prefix = `ws-${randomBytes(4).toString('hex')}-`;
  #count = 0;
  #hasEnded = false;
  /** It is not known who calls. */
  #isBlocked = false;
  /** What came meanwhile. */
  #blocked: {message: MutationCall | ActionCall; bytes: number}[] = [];
  #mutations: Waiting<MutationCall>[] = [];
  /** Those that came while answers waited for the network. */
  #actionsWaiting: Waiting<ActionCall>[] = [];
  /** The mutation under way, or what has to come before the first. */
  #underWay: Promise<void> | null = null;
  #lastMutation = -1;
  #actions = 0;

  constructor(socket: ClientSocket, parts: CallParts, session: Callers) {
    this.#socket = socket;
    this.#parts = parts;
    this.#session = session;
  }

  /** @throws ServiceError: it breaks the protocol */
  add(message: MutationCall | ActionCall, bytes: number): void {
    if (message.type === 'mutation') this.#checkOrder(message);
    if (!this.#isBlocked) this.#session.checkToken();
    if (this.#isBlocked) this.#blocked.push({message, bytes});
    else this.#take(message, bytes);
  }

  block(): void {
    this.#isBlocked = true;
  }

  unblock(): void {
    this.#isBlocked = false;
    for (const {message, bytes} of this.#blocked.splice(0)) this.#take(message, bytes);
  }

  /** The client's network has taken answers that waited. */
  resume(): void {
    this.#mutateNext();
    const waiting = this.#actionsWaiting.splice(0);
    for (const next of waiting) this.#actOrWait(next);
  }

  /** Nothing is begun before this. */
  after(settled: Promise<void>): void {
    this.#underWay = settled.then(() => {
      this.#underWay = null;
      this.#mutateNext();
    });
  }

  /** A mutation is under way. */
  get isBusy(): boolean {
    return this.#underWay !== null;
  }

  /** Resolves when nothing is under way; nothing is begun any more if it has ended. */
  settled(): Promise<void> {
    return this.#underWay ?? Promise.resolve();
  }

  end(): void {
    this.#hasEnded = true;
    this.#mutations = [];
    this.#actionsWaiting = [];
    this.#blocked = [];
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

  #take(message: MutationCall | ActionCall, bytes: number): void {
    const identity = this.#session.identity();
    if (message.type === 'action') {
      this.#actOrWait({message, bytes, identity});
      return;
    }
    if (this.#mutations.length >= SOCKET_MUTATIONS_WAITING_MAX) {
      this.#socket.handled(bytes);
      this.#failed(message, new ServiceError('session.overloaded', 'too many mutations of this client wait'));
      return;
    }
    this.#mutations.push({message, bytes, identity});
    this.#mutateNext();
  }

  #mutateNext(): void {
    if (this.#hasEnded || this.#underWay !== null) return;
    if (this.#socket.waitingChars > SOCKET_ANSWERS_WAITING_CHARS) return; // `resume` goes on
    const next = this.#mutations.shift();
    if (next === undefined) return;
    this.#underWay = this.#mutate(next.message, next.identity).then(() => {
      this.#underWay = null;
      this.#socket.handled(next.bytes);
      this.#mutateNext();
    });
  }

  async #mutate(message: MutationCall, identity: string | null): Promise<void> {
    const requestId = this.#nextRequestId();
    try {
      const {result, ts} = await this.#parts.mutate(this.#session.clientId(), message, identity, requestId);
      this.#answer(message, result, requestId, ts);
      if (result.ok) this.#session.owes(ts);
    } catch (caught) {
      this.#failed(message, caughtError(this.#parts, 'call', caught, {path: message.path, request: requestId}));
    }
  }

  /** Its bytes are handled when it is answered: so whoever reads no answers cannot ask without end. */
  #actOrWait(next: Waiting<ActionCall>): void {
    if (this.#socket.waitingChars > SOCKET_ANSWERS_WAITING_CHARS) this.#actionsWaiting.push(next);
    else void this.#act(next.message, next.identity).finally(() => this.#socket.handled(next.bytes));
  }

  async #act(message: ActionCall, identity: string | null): Promise<void> {
    if (this.#actions >= SOCKET_ACTIONS_MAX) {
      this.#failed(message, new ServiceError('session.overloaded', 'too many actions of this client are under way'));
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

  /** The service refused it, and it did not run. */
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
