/**
 * The server's end of the function socket for tests of clients: WebSockets without a network, on which the test says what the server says.
 * Nothing happens by itself, so a test decides in which order things come.
 */
import type {ClientMessage, QueryChange} from '../../shared/protocol/function-socket/client-message.ts';
import type {
  QueryUpdate,
  Resumed,
  ServerMessage,
  StateVersion,
} from '../../shared/protocol/function-socket/server-message.ts';
import {textDigest} from '../../shared/values/text-digest.ts';
import {encodeDocument} from '../../shared/values/wire-value.ts';

type Sent<Type extends ClientMessage['type']> = Extract<ClientMessage, {type: Type}>;

/** One socket, both ends. */
export class ScriptedSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: {data: unknown}) => void) | null = null;
  onclose: ((event: {code: number; reason: string}) => void) | null = null;
  onerror: (() => void) | null = null;
  readonly url: string;
  readonly protocol: string;
  readonly received: ClientMessage[] = [];
  isClosedByClient = false;
  version: StateVersion = {query_set: 0, identity: 0, ts: 0};
  /** By their numbers, as the client has them in its set. */
  readonly queries = new Map<number, Extract<QueryChange, {type: 'add'}>>();
  /** As the client has said. */
  querySet = 0;
  identity = 0;

  constructor(url: string, protocol: string) {
    this.url = url;
    this.protocol = protocol;
  }

  send(text: string): void {
    const message = JSON.parse(text) as ClientMessage;
    this.received.push(message);
    if (message.type === 'authenticate' || message.type === 'clear_auth') {
      if (message.base_version !== this.identity) throw new Error('the identity changed from another version');
      this.identity = message.new_version;
    }
    if (message.type !== 'query_set') return;
    if (message.base_version !== this.querySet) throw new Error('the query set changed from another version');
    this.querySet = message.new_version;
    for (const change of message.changes) {
      if (change.type === 'add') this.queries.set(change.query_id, change);
      else if (!this.queries.delete(change.query_id)) throw new Error('a query was removed that is not there');
    }
  }

  close(): void {
    this.isClosedByClient = true;
  }

  /** The connection is there. */
  open(): this {
    this.onopen?.();
    return this;
  }

  say(message: ServerMessage): void {
    this.onmessage?.({data: JSON.stringify(message)});
  }

  hello(timeline = 'first'): this {
    this.say({
      type: 'hello',
      protocol: 'svc.functions.v1',
      server: {version: '0', build: 'test'},
      features: [],
      session: {id: 'session', serverNow: 0, timeline},
    });
    return this;
  }

  /** The tenant has another worker, which knows nothing of what the client has said on this socket. */
  resume(id: string, resumed: Resumed, timeline = 'first'): void {
    this.version = {query_set: 0, identity: 0, ts: 0};
    this.queries.clear();
    this.querySet = this.identity = 0;
    const session = {id, serverNow: 0, timeline, resumed};
    this.say({
      type: 'hello',
      protocol: 'svc.functions.v1',
      server: {version: '0', build: 'test'},
      features: [],
      session,
    });
  }

  /** To this moment, with all that the client has said so far. */
  transition(ts: number, changes: QueryUpdate[] = []): void {
    const to = {query_set: this.querySet, identity: this.identity, ts};
    this.say({type: 'transition', from: this.version, to, changes});
    this.version = to;
  }

  /** The network, or the server, ended it. */
  drop(code = 1006, reason = ''): void {
    this.onclose?.({code, reason});
  }

  sent<Type extends ClientMessage['type']>(type: Type): Sent<Type>[] {
    return this.received.filter((message): message is Sent<Type> => message.type === type);
  }

  /** The number under which the client has a query in its set. */
  idOf(path: string, args?: object): number {
    for (const [id, query] of this.queries) {
      if (query.path === path && (args === undefined || JSON.stringify(query.args) === JSON.stringify(args))) return id;
    }
    throw new Error(`${path} is not in the set`);
  }
}

export class ScriptedServer {
  readonly sockets: ScriptedSocket[] = [];
  readonly WebSocket: new (
    url: string,
    protocols?: string | string[],
  ) => ScriptedSocket;

  constructor() {
    const {sockets} = this;
    this.WebSocket = class extends ScriptedSocket {
      constructor(url: string, protocols?: string | string[]) {
        super(url, String(protocols));
        sockets.push(this);
      }
    };
  }

  get last(): ScriptedSocket {
    return this.sockets.at(-1)!;
  }

  /** The newest socket is there, and the server has greeted. */
  open(): ScriptedSocket {
    return this.last.open().hello();
  }
}

export function digestOf(value: unknown): string {
  return textDigest(encodeDocument(value));
}

/** A whole result, as the server sends it. */
export function result(queryId: number, value: unknown, facts: object = {}): QueryUpdate {
  return {query_id: queryId, digest: digestOf(value), value: JSON.parse(encodeDocument(value)), ...facts};
}

/** What was begun has come to where it waits for the server or a timer. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>(resolve => setImmediate(resolve));
}

/** Of a promise, without waiting for it. */
export async function stateOf(promise: Promise<unknown>): Promise<string> {
  const state = promise.then(
    value => `resolved ${JSON.stringify(value)}`,
    (error: Error) => `rejected ${error.message}`,
  );
  await settled();
  return await Promise.race([state, Promise.resolve('pending')]);
}
