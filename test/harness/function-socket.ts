/**
 * A client of the function socket, as the protocol's page describes one: it follows transitions, and fails the test that uses it when one
 * does not begin where it is, when a delta does not give what its digest says, or when something comes that has no place.
 */
import type {
  QueryUpdate,
  ServerMessage,
  StateVersion,
  TextDelta,
  Transition,
} from '../../shared/protocol/function-socket/server-message.ts';
import {FUNCTION_PROTOCOL} from '../../shared/protocol/function-socket/version.ts';
import {textDigest} from '../../shared/values/text-digest.ts';
import type {Service} from './service.ts';

/** What the client shows of a query. */
export type Shown = {value: unknown; text: string; digest: string; journal?: string} | {error: string};
type Hello = Extract<ServerMessage, {type: 'hello'}>;
export type MutationResult = Extract<ServerMessage, {type: 'mutation_result'}>;
export type ActionResult = Extract<ServerMessage, {type: 'action_result'}>;
type Waiting = {isThere: () => boolean; resolve: () => void; reject: (error: Error) => void};

const START: StateVersion = {query_set: 0, identity: 0, ts: 0};
let clients = 0;

export class FunctionSocket {
  readonly #ws: WebSocket;
  /** Everything that came, but for pings. */
  readonly messages: ServerMessage[] = [];
  readonly transitions: Transition[] = [];
  /** Called with each state that it shows. */
  onState: (shown: ReadonlyMap<number, Shown>, version: StateVersion) => void = () => undefined;
  version = START;
  readonly shown = new Map<number, Shown>();
  readonly results = new Map<number, MutationResult | ActionResult>();
  readonly closed: Promise<{code: number; reason: string}>;
  pings = 0;
  /** What came of a delta. */
  deltas = 0;
  querySet = 0;
  identity = 0;
  #parts: string[] = [];
  #lastRequest = 0;
  #lastQuery = 0;
  readonly #waiting = new Set<Waiting>();
  #broken: Error | null = null;
  #isClosed = false;

  private constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.addEventListener('message', event => this.#take(JSON.parse(String(event.data)) as ServerMessage));
    this.closed = new Promise(resolve => {
      ws.addEventListener('close', ({code, reason}) => {
        this.#isClosed = true;
        this.#poll();
        resolve({code, reason});
      });
    });
  }

  /** Upgraded. */
  static async open(service: Service, tenant: string): Promise<FunctionSocket> {
    const ws = new WebSocket(`${service.url.replace('http', 'ws')}/svc/${tenant}/ws`, FUNCTION_PROTOCOL);
    const socket = new FunctionSocket(ws);
    await new Promise<void>((resolve, reject) => {
      ws.addEventListener('open', () => resolve());
      ws.addEventListener('error', () => reject(new Error('the upgrade failed')));
    });
    return socket;
  }

  /** Past the handshake. */
  static async established(service: Service, tenant: string, hello: object = {}): Promise<FunctionSocket> {
    const socket = await FunctionSocket.open(service, tenant);
    socket.hello(hello);
    return socket;
  }

  hello(fields: object = {}): void {
    this.send({
      type: 'client_hello',
      protocol: FUNCTION_PROTOCOL,
      client_id: FunctionSocket.newClient(),
      connection_count: 0,
      ...fields,
    });
  }

  static newClient(): string {
    return `test-client-${process.pid}-${++clients}-${Math.random().toString(36).slice(2)}`;
  }

  send(message: object | string): void {
    this.#ws.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#ws.send(bytes);
  }

  /** @returns the numbers of the queries added */
  queries(added: {path: string; args?: object; journal?: string; known?: string}[], removed: number[] = []): number[] {
    const ids = added.map(() => ++this.#lastQuery);
    this.send({
      type: 'query_set',
      base_version: this.querySet,
      new_version: ++this.querySet,
      changes: [
        ...removed.map(query_id => ({type: 'remove', query_id})),
        ...added.map(({path, args = {}, ...rest}, i) => ({type: 'add', query_id: ids[i], path, args, ...rest})),
      ],
    });
    for (const id of removed) this.shown.delete(id);
    return ids;
  }

  /** Adds one, and resolves when it is shown. */
  async query(path: string, args: object = {}): Promise<number> {
    const [id] = this.queries([{path, args}]);
    await this.until(() => this.shown.has(id!));
    return id!;
  }

  authenticate(token: string): void {
    this.send({type: 'authenticate', token, base_version: this.identity, new_version: ++this.identity});
  }

  clearAuth(): void {
    this.send({type: 'clear_auth', base_version: this.identity, new_version: ++this.identity});
  }

  sendMutation(path: string, args: object, requestId = ++this.#lastRequest, settledBelow = 0): number {
    this.send({type: 'mutation', request_id: requestId, path, args, settled_below: settledBelow});
    return requestId;
  }

  /** Resolves when it is answered and, if it succeeded, shown. @throws when it failed */
  async mutation(path: string, args: object = {}): Promise<unknown> {
    const result = await this.result(this.sendMutation(path, args));
    if (!result.ok) throw new Error(result.error);
    const {ts} = result as MutationResult & {ok: true};
    await this.until(() => this.version.ts >= ts);
    return result.value;
  }

  sendAction(path: string, args: object): number {
    const requestId = ++this.#lastRequest;
    this.send({type: 'action', request_id: requestId, path, args});
    return requestId;
  }

  async action(path: string, args: object = {}): Promise<MutationResult | ActionResult> {
    return await this.result(this.sendAction(path, args));
  }

  async result(requestId: number): Promise<MutationResult | ActionResult> {
    await this.until(() => this.results.has(requestId));
    return this.results.get(requestId)!;
  }

  value(query: number): unknown {
    const shown = this.shown.get(query);
    if (shown === undefined) throw new Error(`query ${query} is not shown`);
    if ('error' in shown) throw new Error(shown.error);
    return shown.value;
  }

  error(query: number): string {
    const shown = this.shown.get(query);
    if (shown === undefined || !('error' in shown)) throw new Error(`query ${query} has no error`);
    return shown.error;
  }

  /** What a client that reconnects says of a query that it still shows. */
  known(query: number): {journal?: string; known?: string} {
    const shown = this.shown.get(query);
    if (shown === undefined || 'error' in shown) return {};
    return {known: shown.digest, ...(shown.journal === undefined ? {} : {journal: shown.journal})};
  }

  async message<T extends ServerMessage['type']>(type: T): Promise<Extract<ServerMessage, {type: T}>> {
    await this.until(() => this.messages.some(message => message.type === type));
    return this.messages.find(message => message.type === type) as Extract<ServerMessage, {type: T}>;
  }

  helloOfServer(): Promise<Hello> {
    return this.message('hello');
  }

  /** Resolves when it is so, looked at after each message. */
  until(isThere: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({isThere, resolve, reject});
      this.#poll();
    });
  }

  close(): void {
    this.#ws.close();
  }

  #poll(): void {
    for (const waiting of this.#waiting) {
      const isThere = waiting.isThere();
      if (!isThere && this.#broken === null && !this.#isClosed) continue;
      this.#waiting.delete(waiting);
      if (isThere) waiting.resolve();
      else waiting.reject(this.#broken ?? new Error(`the socket was closed: ${JSON.stringify(this.messages.at(-1))}`));
    }
  }

  #take(message: ServerMessage): void {
    try {
      this.#handle(message);
    } catch (caught) {
      this.#broken ??= caught as Error;
    }
    this.#poll();
  }

  #handle(message: ServerMessage): void {
    if (message.type === 'ping') {
      this.pings++;
      return;
    }
    if (this.#parts.length > 0 && message.type !== 'transition_part') throw new Error(`${message.type} between parts`);
    this.messages.push(message);
    switch (message.type) {
      case 'transition':
        this.#move(message);
        return;
      case 'transition_part':
        if (message.index !== this.#parts.length) throw new Error(`part ${message.index} after ${this.#parts.length}`);
        this.#parts.push(message.text);
        if (this.#parts.length === message.count) this.#move(JSON.parse(this.#parts.splice(0).join('')) as Transition);
        return;
      case 'mutation_result':
      case 'action_result':
        if (this.results.has(message.request_id)) throw new Error(`${message.request_id} is answered twice`);
        this.results.set(message.request_id, message);
        return;
      default:
        return;
    }
  }

  #move(transition: Transition): void {
    const {from, to, changes} = transition;
    if (JSON.stringify(from) !== JSON.stringify(this.version)) {
      throw new Error(`a transition from ${JSON.stringify(from)} at ${JSON.stringify(this.version)}`);
    }
    if (to.ts < from.ts) throw new Error(`a transition back from ${from.ts} to ${to.ts}`);
    this.transitions.push(transition);
    this.version = to;
    for (const change of changes) this.#show(change);
    this.onState(this.shown, to);
  }

  #show(update: QueryUpdate): void {
    const {query_id: id} = update;
    if ('error' in update) {
      this.shown.set(id, {error: update.error});
      return;
    }
    const {digest, journal} = update;
    const rest = journal === undefined ? {} : {journal};
    if ('unchanged' in update) {
      this.shown.set(id, {value: undefined, text: '', digest, ...rest});
      return;
    }
    const before = this.shown.get(id);
    let text: string;
    if ('delta' in update) {
      if (before === undefined || 'error' in before) throw new Error(`a delta of query ${id}, which is not shown`);
      text = applied(before.text, update.delta);
      if (textDigest(text) !== digest) throw new Error(`a delta of query ${id} does not fit its digest`);
      this.deltas++;
    } else text = JSON.stringify(update.value);
    this.shown.set(id, {value: JSON.parse(text), text, digest, ...rest});
  }
}

function applied(text: string, delta: TextDelta): string {
  let result = '';
  let at = 0;
  for (const [start, removed, inserted] of delta) {
    result += text.slice(at, start) + inserted;
    at = start + removed;
  }
  return result + text.slice(at);
}
