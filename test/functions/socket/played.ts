/** The function socket's side of a worker, without the rest of it: queries run, tokens are verified and calls are made as the test plays it. */

import {Commit} from '../../../engine/commit/commit.ts';
import {LiveIndex} from '../../../engine/live/live-index.ts';
import {ANY_TABLE, BY_ID, type PackedReadSet} from '../../../engine/reads/read-set.ts';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import type {Resumed, ServerMessage, Transition} from '../../../shared/protocol/function-socket/server-message.ts';
import {FUNCTION_PROTOCOL} from '../../../shared/protocol/function-socket/version.ts';
import type {Ran, Run} from '../../../worker/functions/sync/queries/query-runs.ts';
import type {SubscribedQueriesParts} from '../../../worker/functions/sync/queries/subscribed-queries.ts';
import {Sync, type SyncParts} from '../../../worker/functions/sync/sync.ts';
import type {SocketLink} from '../../../worker/ipc/router-link.ts';

/** Reads of documents by their ids. */
export function reads(...ids: string[]): PackedReadSet {
  return {intervals: ids.map(id => ({table: ANY_TABLE, index: BY_ID, lower: id, upper: `${id}\0`})), absentTables: []};
}

type Facts = Partial<Pick<Ran, 'identityUsed' | 'endCursor' | 'readSet' | 'sequence'>>;

/** A run that came to this value. */
export function ran(value: unknown, facts: Facts = {}): Ran {
  const result = {ok: true as const, value: JSON.stringify(value), lines: [], own: []};
  const rest = {sequence: 0, readSet: reads(), identityUsed: false, endCursor: null, wasCached: false, ...facts};
  return {result, requestId: 'r', ...rest};
}

export class Played {
  readonly index = new LiveIndex();
  readonly metrics = new WorkerMetrics();
  /** What was logged as an error. */
  readonly logged: Record<string, unknown>[] = [];
  /** Called with each commit, in addition to the index. */
  stage: {committed(commit: Commit): void} = {committed: () => undefined};
  sequence = 0;
  now: () => number = Date.now;
  run: (run: Run) => Ran | Promise<Ran> = () => {
    throw new Error('nobody runs it');
  };
  runTogether: SubscribedQueriesParts['runs']['runTogether'] = () => Promise.reject(new Error('nobody asks for it'));
  verify: SyncParts['verify'] = () => Promise.reject(new Error('nobody verifies it'));
  call: SyncParts['call'] = () => Promise.reject(new Error('nobody calls it'));
  mutate: SyncParts['mutate'] = () => Promise.reject(new Error('nobody calls it'));

  subscribedParts(): SubscribedQueriesParts {
    return {
      index: this.index,
      metrics: this.metrics,
      log: {error: (message, fields) => void this.logged.push({message, ...fields})},
      runs: {run: async asked => await this.run(asked), runTogether: asked => this.runTogether(asked)},
      shown: error => error,
      sequence: this.sequence,
    };
  }

  sync(limits: Pick<SyncParts, 'subscribedMax' | 'socketsMax'> = {}): Sync {
    const sync = new Sync({
      ...limits,
      ...this.subscribedParts(),
      call: call => this.call(call),
      mutate: (...mutation) => this.mutate(...mutation),
      verify: token => this.verify(token),
      isOpen: true,
      allowedOrigins: () => null,
      timeline: 'one',
      clock: () => this.now(),
    });
    this.stage = sync;
    return sync;
  }

  /** A document of this id is written. */
  write(id: string): void {
    this.sequence++;
    const table = {number: 1, name: 't'};
    const change = {
      sequence: this.sequence,
      table,
      doc: 1,
      id,
      indexes: [],
      before: null,
      after: null,
      isDamaged: false,
    };
    const commit = new Commit(this.sequence, 0, [change], [], [{record: '{}', digest: ''}]);
    this.index.committed(commit);
    this.stage.committed(commit);
  }

  /** Of a metric's series, the one with this label. */
  counted(metric: string, label: string): number {
    const series = this.metrics.report().find(({name}) => name === metric);
    return series?.values.find(({labels}) => Object.values(labels).includes(label))?.value ?? 0;
  }
}

/** One client of it: what it was sent, and what it says. */
export class PlayedClient {
  readonly messages: ServerMessage[] = [];
  closed: {code: number; reason: string} | null = null;
  handledBytes = 0;
  canResume = false;
  querySet = 0;
  identity = 0;
  readonly link: SocketLink = {
    socketMessage: (_, message) => {
      this.#take(JSON.parse(message) as ServerMessage);
      // Its network takes everything.
      queueMicrotask(() => this.#sync.credited(this.link, 1, Buffer.byteLength(message)));
    },
    socketCredit: (_, bytes) => {
      this.handledBytes += bytes;
    },
    socketResumes: () => {
      this.canResume = true;
    },
    closeSocket: (_, code, reason) => {
      this.closed = {code, reason};
    },
  };
  readonly clientId: string;
  readonly #sync: Sync;
  #parts = '';

  /** @param resumed its socket was open at another worker before, and it has not greeted this one */
  constructor(
    sync: Sync,
    clientId = `client-${Math.random().toString(36).slice(2).padEnd(16, '0')}`,
    resumed: Resumed | null = null,
  ) {
    this.#sync = sync;
    this.clientId = clientId;
    sync.opened(this.link, 1, '', resumed);
    if (resumed === null) this.greet();
  }

  greet(fields: object = {}): void {
    const hello = {type: 'client_hello', protocol: FUNCTION_PROTOCOL, client_id: this.clientId, connection_count: 0};
    this.say({...hello, ...fields});
  }

  /** Its socket moves to another worker. */
  moves(): void {
    this.#sync.leaves(this.link, 1);
  }

  say(message: object): void {
    this.#sync.message(this.link, 1, Buffer.from(JSON.stringify(message)), false);
  }

  /** Adds these, numbered from `first`. */
  watch(paths: readonly string[], first = 1, more: object = {}): void {
    const changes = paths.map((path, n) => ({type: 'add', query_id: first + n, path, args: {}, ...more}));
    this.say({type: 'query_set', base_version: this.querySet, new_version: ++this.querySet, changes});
  }

  remove(...ids: number[]): void {
    const changes = ids.map(query_id => ({type: 'remove', query_id}));
    this.say({type: 'query_set', base_version: this.querySet, new_version: ++this.querySet, changes});
  }

  /** Says that it shows something of this version that came another way. */
  saw(ts: number, timeline = 'one'): void {
    const versions = {base_version: this.querySet, new_version: ++this.querySet};
    this.say({type: 'query_set', ...versions, changes: [], seen: {timeline, ts}});
  }

  authenticate(token: string): void {
    this.say({type: 'authenticate', token, base_version: this.identity, new_version: ++this.identity});
  }

  #take(message: ServerMessage): void {
    if (message.type !== 'transition_part') {
      this.messages.push(message);
      return;
    }
    this.#parts += message.text;
    if (message.index < message.count - 1) return;
    this.messages.push(JSON.parse(this.#parts) as ServerMessage);
    this.#parts = '';
  }

  get transitions(): Transition[] {
    return this.messages.filter((one): one is Transition => one.type === 'transition');
  }

  /** What it shows of this query: its value, or `! ` and its error. */
  shown(queryId: number): unknown {
    const updates = this.transitions.flatMap(({changes}) => changes).filter(({query_id}) => query_id === queryId);
    const last = updates.at(-1);
    if (last === undefined) return undefined;
    return 'error' in last ? `! ${last.error}` : 'value' in last ? last.value : undefined;
  }

  leave(): void {
    this.#sync.released(this.link);
  }
}
