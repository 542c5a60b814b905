/**
 * A deployment in memory, behind a `WebSocket` of its own: it runs functions over one state and keeps the protocol of the function socket,
 * one transition a commit. Frames to clients can be held back and sockets cut, so that a test says what happens when.
 */
import type {ClientMessage, QueryChange} from '../../shared/protocol/function-socket/client-message.ts';
import type {QueryUpdate, ServerMessage, StateVersion} from '../../shared/protocol/function-socket/server-message.ts';
import {textDigest} from '../../shared/values/text-digest.ts';

type Args = Record<string, unknown>;
export type QueryCall<State> = {
  state: State;
  args: Args;
  /** The caller's token; null: nobody. */
  identity: string | null;
  /** Where the page ended when this subscription was first answered. */
  journal: string | undefined;
  setJournal(journal: string): void;
};
export type Functions<State> = {
  queries: Record<string, (call: QueryCall<State>) => unknown>;
  mutations?: Record<string, (state: State, args: Args) => unknown>;
  actions?: Record<string, (args: Args) => unknown>;
};

export class SimulatedDeployment<State> {
  readonly url = 'http://simulated.test/svc/app';
  readonly state: State;
  readonly functions: Functions<State>;
  /** What clients have sent. */
  readonly received: ClientMessage[] = [];
  /** What a client that authenticates must say. */
  acceptedTokens: ReadonlySet<string> | null = null;
  ts = 1;
  #sockets = new Set<SimulatedSocket<State>>();
  #isHeld = false;
  #held: (() => void)[] = [];

  constructor(state: State, functions: Functions<State>) {
    this.state = state;
    this.functions = functions;
  }

  /** For the option `webSocketConstructor`. */
  get WebSocket() {
    const deployment = this;
    return class {
      constructor(_url: string) {
        const socket = new SimulatedSocket<State>(deployment);
        deployment.#sockets.add(socket);
        queueMicrotask(() => socket.open());
        // biome-ignore lint/correctness/noConstructorReturn: what is made is the deployment's end of it, too.
        return socket;
      }
    };
  }

  receivedOf<Type extends ClientMessage['type']>(type: Type): Extract<ClientMessage, {type: Type}>[] {
    return this.received.filter((message): message is Extract<ClientMessage, {type: Type}> => message.type === type);
  }

  /** Queries that clients have asked for, in order: what was added to their sets. */
  get added(): string[] {
    return this.#changes('add').map(change => (change.type === 'add' ? change.path : ''));
  }

  get removed(): number {
    return this.#changes('remove').length;
  }

  #changes(type: QueryChange['type']): QueryChange[] {
    return this.receivedOf('query_set').flatMap(({changes}) => changes.filter(change => change.type === type));
  }

  /** A write from elsewhere. */
  commit(change: (state: State) => void): void {
    change(this.state);
    this.ts++;
    for (const socket of this.#sockets) socket.move();
  }

  /** From now on frames to clients wait. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Delivers the oldest frames that wait; without a number all, and those to come. */
  release(count?: number): void {
    if (count === undefined) this.#isHeld = false;
    for (const deliver of this.#held.splice(0, count ?? this.#held.length)) deliver();
  }

  get heldFrames(): number {
    return this.#held.length;
  }

  deliver(frame: () => void): void {
    if (this.#isHeld) this.#held.push(frame);
    else queueMicrotask(frame);
  }

  /** The network is gone for a moment: what is under way is lost. */
  cut(): void {
    for (const socket of this.#sockets) socket.lose();
    this.#sockets.clear();
    this.#held = [];
  }

  forget(socket: SimulatedSocket<State>): void {
    this.#sockets.delete(socket);
  }
}

type Watched = {path: string; args: Args; journal: string | undefined; sent: string | undefined};

class SimulatedSocket<State> {
  onopen: (() => void) | null = null;
  onmessage: ((event: {data: string}) => void) | null = null;
  onclose: ((event: {code: number; reason: string}) => void) | null = null;
  onerror: (() => void) | null = null;
  readonly #deployment: SimulatedDeployment<State>;
  readonly #watched = new Map<number, Watched>();
  #version: StateVersion = {query_set: 0, identity: 0, ts: 0};
  #identity: string | null = null;
  #isOpen = true;

  constructor(deployment: SimulatedDeployment<State>) {
    this.#deployment = deployment;
  }

  open(): void {
    if (this.#isOpen) this.onopen?.();
  }

  lose(): void {
    this.#isOpen = false;
    this.onclose?.({code: 1006, reason: ''});
  }

  close(): void {
    this.#deployment.forget(this);
    if (this.#isOpen) queueMicrotask(() => this.onclose?.({code: 1000, reason: ''}));
    this.#isOpen = false;
  }

  send(text: string): void {
    const message = JSON.parse(text) as ClientMessage;
    this.#deployment.received.push(message);
    switch (message.type) {
      case 'client_hello':
        this.#say({
          type: 'hello',
          protocol: message.protocol,
          server: {version: '0', build: 'test'},
          features: [],
          session: {id: 's', serverNow: 0, timeline: 'line'},
        });
        return;
      case 'query_set':
        for (const change of message.changes) {
          if (change.type === 'remove') this.#watched.delete(change.query_id);
          else {
            const {query_id, path, args, journal, known} = change;
            this.#watched.set(query_id, {path, args: args as Args, journal, sent: known});
          }
        }
        this.move({query_set: message.new_version});
        return;
      case 'authenticate':
        if (this.#deployment.acceptedTokens?.has(message.token) === false) {
          const error = {code: 'auth.unauthorized', message: 'not this token'} as const;
          this.#say({type: 'auth_error', identity: message.new_version, error});
          return;
        }
        this.#identity = message.token;
        this.move({identity: message.new_version});
        return;
      case 'clear_auth':
        this.#identity = null;
        this.move({identity: message.new_version});
        return;
      case 'mutation':
        this.#mutate(message.request_id, message.path, message.args as Args);
        return;
      case 'action':
        this.#act(message.request_id, message.path, message.args as Args);
    }
  }

  #mutate(request_id: number, path: string, args: Args): void {
    try {
      const value = this.#deployment.functions.mutations![path]!(this.#deployment.state, args) ?? null;
      this.#say({type: 'mutation_result', request_id, ok: true, value, ts: this.#deployment.ts + 1});
      this.#deployment.commit(() => {});
    } catch (caught) {
      this.#say({type: 'mutation_result', request_id, ok: false, error: (caught as Error).message});
    }
  }

  #act(request_id: number, path: string, args: Args): void {
    const value = this.#deployment.functions.actions![path]!(args) ?? null;
    this.#say({type: 'action_result', request_id, ok: true, value});
  }

  /** To the newest moment. */
  move(version: Partial<StateVersion> = {}): void {
    const from = this.#version;
    this.#version = {...from, ...version, ts: this.#deployment.ts};
    const changes = [...this.#watched].flatMap(([id, watched]) => this.#update(id, watched));
    this.#say({type: 'transition', from, to: this.#version, changes});
  }

  #update(query_id: number, watched: Watched): QueryUpdate[] {
    const run = this.#deployment.functions.queries[watched.path];
    try {
      if (run === undefined) throw new Error(`Could not find public function for '${watched.path}'.`);
      const {args, journal} = watched;
      const setJournal = (to: string) => {
        watched.journal = to;
      };
      const value = run({state: this.#deployment.state, args, identity: this.#identity, journal, setJournal}) ?? null;
      const digest = textDigest(JSON.stringify(value));
      if (digest === watched.sent) return [];
      watched.sent = digest;
      const kept = watched.journal === undefined ? {} : {journal: watched.journal};
      return [{query_id, digest, value: structuredClone(value), ...kept}];
    } catch (caught) {
      const error = (caught as Error).message;
      if (error === watched.sent) return [];
      watched.sent = error;
      return [{query_id, error}];
    }
  }

  #say(message: ServerMessage): void {
    const data = JSON.stringify(message);
    this.#deployment.deliver(() => {
      if (this.#isOpen) this.onmessage?.({data});
    });
  }
}
