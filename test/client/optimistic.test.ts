/** 9.5, "Optimistic updates". */
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import type {OptimisticLocalStore} from '../../sdk/client/optimistic-updates.ts';
import type {SyncClient} from '../../sdk/client/sync-client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {scripted, scriptedEngine} from './clients.ts';
import {result, type ScriptedSocket, settled, stateOf} from './scripted-server.ts';

type Message = {_id: string; text: string};
const list = makeFunctionReference<'query', {channel: string}, Message[]>('messages:list');
const send = makeFunctionReference<'mutation', {text: string}>('messages:send');

beforeEach(() => void vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'Date']}));
afterEach(() => void vi.useRealTimers());

const args = {channel: 'a'};
const append = (store: OptimisticLocalStore, {text}: {text: string}) => {
  const before = store.getQuery(list, args);
  if (before !== undefined) store.setQuery(list, args, [...before, {_id: 'mine', text}]);
};

async function watching() {
  const {server, client, said} = scripted();
  const frames: string[][] = [];
  const subscription = client.onUpdate(list, args, value => frames.push(value.map(({text}) => text)));
  await settled();
  const socket = server.open();
  const id = socket.idOf('messages:list');
  const show = (ts: number, ...texts: string[]) =>
    socket.transition(ts, [
      result(
        id,
        texts.map(text => ({_id: `id ${text}`, text})),
      ),
    ]);
  show(1, 'x');
  return {server, client, said, subscription, socket, id, show, frames};
}

describe('an optimistic update', () => {
  test('59: is shown at once, stays on top of new results, and goes with the one that includes the mutation', async () => {
    const {client, socket, show, frames} = await watching();
    const mutation = client.mutation(send, {text: 'm'}, {optimisticUpdate: append});
    expect(frames).toEqual([['x'], ['x', 'm']]);
    show(2, 'x', 'y');
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 3});
    expect(frames.slice(2)).toEqual([['x', 'y', 'm']]);
    show(3, 'x', 'y', 'm');
    // The texts are the same, the document is another: one frame in which it is there once.
    expect(frames.slice(3)).toEqual([['x', 'y', 'm']]);
    await mutation;
    expect(frames).toHaveLength(4);
  });

  test('59: disappears when the mutation fails', async () => {
    const {client, socket, frames} = await watching();
    const mutation = client.mutation(send, {text: 'm'}, {optimisticUpdate: append});
    const outcome = stateOf(mutation);
    socket.say({type: 'mutation_result', request_id: 0, ok: false, error: 'no'});
    expect(frames).toEqual([['x'], ['x', 'm'], ['x']]);
    expect(await outcome).toContain('rejected');
  });

  test('several run in the order of their calls, each on what those before it left', async () => {
    const {client, socket, show, frames} = await watching();
    for (const text of ['m', 'n']) void client.mutation(send, {text}, {optimisticUpdate: append});
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 2});
    show(2, 'x', 'm');
    expect(frames).toEqual([['x'], ['x', 'm'], ['x', 'm', 'n'], ['x', 'm', 'n']]);
  });

  test('survives the connection, and is never shown beside its own effect', async () => {
    const {server, client, socket, id, frames} = await watching();
    const mutation = client.mutation(send, {text: 'm'}, {optimisticUpdate: append});
    socket.drop();
    expect(frames.at(-1)).toEqual(['x', 'm']);
    vi.advanceTimersByTime(2_000);
    const next = server.open();
    // It was committed before the connection broke: the first result has it, the answer comes behind.
    next.transition(5, [
      result(id, [
        {_id: 'id x', text: 'x'},
        {_id: 'id m', text: 'm'},
      ]),
    ]);
    expect(frames.at(-1)).toEqual(['x', 'm']);
    next.say({type: 'mutation_result', request_id: 0, ok: true, value: null, ts: 4});
    await mutation;
    expect(frames).toEqual([['x'], ['x', 'm'], ['x', 'm']]);
  });

  test('that waits for a repeated mutation holds up to 100 transitions', async () => {
    const {server, client, socket, id} = await watching();
    void client.mutation(send, {text: 'm'}, {optimisticUpdate: append});
    socket.drop();
    vi.advanceTimersByTime(2_000);
    const next = server.open();
    const told: number[] = [];
    client.onUpdate(list, args, value => told.push(value.length));
    await settled();
    told.length = 0;
    for (let n = 0; n < 100; n++) next.transition(5 + n, [result(id, Array(n).fill({_id: 'd', text: 't'}))]);
    expect(told).toEqual([]);
    next.transition(105, [result(id, [])]);
    expect(told).toEqual([1]);
  });

  test('sees all queries of a function, and can set what is loaded, what is not, and that it is loading', async () => {
    const {client, subscription} = await watching();
    client.onUpdate(list, {channel: 'b'}, () => {});
    const seen: unknown[] = [];
    void client.mutation(
      send,
      {text: 'm'},
      {
        optimisticUpdate: store => {
          seen.push(store.getAllQueries(list), store.getQuery(list, {channel: 'b'}));
          store.setQuery(list, {channel: 'b'}, [{_id: 'b', text: 'b'}]);
          store.setQuery(list, args, undefined);
          seen.push(store.getQuery(list, {channel: 'b'}), store.getQuery(list, args), store.getAllQueries(list));
        },
      },
    );
    const b = [{_id: 'b', text: 'b'}];
    expect(seen).toEqual([
      [
        {args, value: [{_id: 'id x', text: 'x'}]},
        {args: {channel: 'b'}, value: undefined},
      ],
      undefined,
      b,
      undefined,
      [
        {args, value: undefined},
        {args: {channel: 'b'}, value: b},
      ],
    ]);
    expect(subscription.getCurrentValue()).toBeUndefined();
  });

  test('gets the arguments as they were at the call', async () => {
    const {client, show} = await watching();
    const given = {text: 'before'};
    const seen: unknown[] = [];
    void client.mutation(send, given, {optimisticUpdate: (_, received) => void seen.push(received.text)});
    given.text = 'after';
    show(2, 'y');
    expect(seen).toEqual(['before', 'before']);
  });

  test('that throws at the call: the mutation is not sent, and nothing is shown', async () => {
    const {client, socket, frames} = await watching();
    const mutation = client.mutation(
      send,
      {text: 'm'},
      {
        optimisticUpdate: (store, given) => {
          append(store, given);
          throw new Error('mine');
        },
      },
    );
    await expect(mutation).rejects.toThrow('mine');
    expect([frames, socket.sent('mutation'), client.connectionState().hasInflightRequests]).toEqual([
      [['x']],
      [],
      false,
    ]);
  });

  test('that throws when it runs again is dropped; its mutation goes on', async () => {
    const {client, socket, show, said, frames} = await watching();
    let runs = 0;
    const mutation = client.mutation(
      send,
      {text: 'm'},
      {
        optimisticUpdate: (store, given) => {
          append(store, given);
          if (++runs > 1) throw new Error('mine');
        },
      },
    );
    show(2, 'y');
    expect(frames.at(-1)).toEqual(['y']);
    expect(said.join()).toContain('An optimistic update failed when it ran again, and is dropped: mine');
    show(3, 'z');
    expect(runs).toBe(2);
    socket.say({type: 'mutation_result', request_id: 0, ok: true, value: 1, ts: 3});
    expect(await mutation).toBe(1);
  });

  test('that returns a promise is warned about', async () => {
    const {client, said} = await watching();
    void client.mutation(send, {text: 'm'}, {optimisticUpdate: async () => {}});
    expect(said.join()).toContain('An optimistic update returned a promise');
  });

  test('leaves values alone that are frozen, and shares with them what is equal', async () => {
    const {client, subscription, show} = await watching();
    void client.mutation(
      send,
      {text: 'm'},
      {
        optimisticUpdate: store => {
          const [first] = store.getQuery(list, args) ?? [];
          const added = Object.freeze({_id: 'mine', text: 'm'});
          store.setQuery(list, args, Object.freeze([{...first!}, added]) as Message[]);
        },
      },
    );
    const before = subscription.getCurrentValue()!;
    expect(before.map(({text}) => text)).toEqual(['x', 'm']);
    show(2, 'x');
    expect(subscription.getCurrentValue()).toBe(before);
  });
});

/** The naive model: the server's results, and on them every update that is pending, run anew whenever it is asked. */
const PATHS = ['q:a', 'q:b'];
type State = (number[] | undefined)[];
type Update = {target: number; kind: 'append' | 'copy' | 'loading'; n: number};

function run(state: State, {target, kind, n}: Update): State {
  const next = [...state];
  const [mine, other] = [state[target], state[1 - target]];
  if (kind === 'append' && mine !== undefined) next[target] = [...mine, n];
  if (kind === 'copy') next[target] = other === undefined ? [n] : [...other, n];
  if (kind === 'loading') next[target] = undefined;
  return next;
}

type Pending = {update: Update; outcome: 'none' | 'lost' | number};

class World {
  readonly server;
  readonly engine: SyncClient;
  readonly tokens: string[];
  socket!: ScriptedSocket;
  ts = 1;
  /** Of what is shown. */
  reachedTs = 1;
  state: State = [[], []];
  /** By number. */
  readonly pending = new Map<number, Pending>();
  calls = 0;
  /** Transitions wait until repeated mutations with updates are answered. */
  held: {ts: number; state: State}[] = [];
  readonly #told: Set<string>[] = [];

  constructor() {
    const {server, engine} = scriptedEngine();
    this.server = server;
    this.engine = engine;
    this.tokens = PATHS.map(path => engine.subscribe(path).token);
    engine.onChange(changed => {
      // No listener gets half a change: what is shown is what the model shows after it, which `check` compares.
      this.#told.push(new Set(changed));
    });
  }

  async start(): Promise<void> {
    await settled();
    this.socket = this.server.open();
    this.say(1, this.state, PATHS);
  }

  say(ts: number, state: State, paths: string[]): void {
    this.socket.transition(
      ts,
      paths.map(path => result(this.socket.idOf(path), state[PATHS.indexOf(path)])),
    );
  }

  shown(): State {
    let state = this.state;
    for (const {update} of this.pending.values()) state = run(state, update);
    return state;
  }

  local(): State {
    return this.tokens.map(token => {
      const found = this.engine.localResult(token);
      return found?.ok ? (found.value as number[]) : undefined;
    });
  }

  /** Does it, and compares what is shown and what listeners got. */
  step(action: () => void): void {
    const before = this.tokens.map(token => this.engine.localResult(token));
    const beforeValues = this.local();
    this.#told.length = 0;
    action();
    const after = this.tokens.map(token => this.engine.localResult(token));
    expect(this.local()).toEqual(this.shown());
    const told = new Set(this.#told.flatMap(one => [...one]));
    for (const [i, token] of this.tokens.entries()) {
      const isEqual = JSON.stringify(beforeValues[i]) === JSON.stringify(this.local()[i]);
      if (this.#told.length <= 1) {
        expect(after[i] === before[i]).toBe(isEqual);
        expect(told.has(token)).toBe(!isEqual);
      } else if (!isEqual) expect(told.has(token)).toBe(true);
    }
  }

  get isHolding(): boolean {
    return [...this.pending.values()].some(({outcome}) => outcome === 'lost');
  }

  call(update: Update): void {
    const number = this.calls++;
    const answer = this.engine.mutation(
      'm:n',
      {number},
      {
        optimisticUpdate: store => {
          const queries = PATHS.map(path => makeFunctionReference<'query', Record<string, never>, number[]>(path));
          const state = queries.map(query => store.getQuery(query));
          store.setQuery(queries[update.target]!, {}, run(state, update)[update.target]);
        },
      },
    );
    answer.catch(() => {});
    this.pending.set(number, {update, outcome: 'none'});
  }

  transition(state: State): void {
    this.ts++;
    const paths = PATHS.filter((_, i) => state[i] !== undefined);
    const full = state.map((value, i) => value ?? (this.held.at(-1)?.state ?? this.state)[i]);
    if (this.isHolding) this.held.push({ts: this.ts, state: full});
    else this.reach(this.ts, full);
    this.say(this.ts, full, paths);
  }

  reach(ts: number, state: State): void {
    this.reachedTs = ts;
    this.state = state;
    for (const [number, {outcome}] of this.pending)
      if (typeof outcome === 'number' && outcome <= ts) this.pending.delete(number);
  }

  /** @param ahead how far the commit is ahead of what is shown; null: it failed */
  answer(ahead: number | null): void {
    const open = [...this.pending].find(([, {outcome}]) => typeof outcome !== 'number');
    if (open === undefined) return;
    const [number, pending] = open;
    if (ahead === null) this.pending.delete(number);
    else {
      pending.outcome = this.ts + ahead;
      if (pending.outcome <= this.reachedTs) this.pending.delete(number);
    }
    while (!this.isHolding && this.held.length > 0) {
      const {ts, state} = this.held.shift()!;
      this.reach(ts, state);
    }
    this.socket.say(
      ahead === null
        ? {type: 'mutation_result', request_id: number, ok: false, error: 'no'}
        : {type: 'mutation_result', request_id: number, ok: true, value: null, ts: this.ts + ahead},
    );
  }

  reconnect(): void {
    for (const pending of this.pending.values()) if (pending.outcome === 'none') pending.outcome = 'lost';
    const state = this.held.at(-1)?.state ?? this.state;
    this.held = [];
    this.socket.drop();
    const sockets = this.server.sockets.length;
    while (this.server.sockets.length === sockets) vi.advanceTimersByTime(100);
    this.socket = this.server.open();
    const outcomes = [...this.pending.values()].map(({outcome}) => (typeof outcome === 'number' ? outcome : 0));
    // As a server does: not before what the client has seen.
    this.ts = Math.max(this.ts, ...outcomes) - 1;
    this.transition(state);
  }
}

const updates = fc.record({
  target: fc.constantFrom(0, 1),
  kind: fc.constantFrom('append' as const, 'append' as const, 'copy' as const, 'loading' as const),
  n: fc.integer({min: 0, max: 3}),
});
const values = fc.option(fc.array(fc.integer({min: 0, max: 3}), {maxLength: 3}), {nil: undefined});
const steps = fc.oneof(
  {weight: 4, arbitrary: updates.map(update => (world: World) => world.call(update))},
  {weight: 4, arbitrary: fc.tuple(values, values).map(state => (world: World) => world.transition(state))},
  {weight: 4, arbitrary: fc.integer({min: -2, max: 2}).map(ahead => (world: World) => world.answer(ahead))},
  {weight: 1, arbitrary: fc.constant((world: World) => world.answer(null))},
  {weight: 1, arbitrary: fc.constant((world: World) => world.reconnect())},
);

describe('optimistic updates and a naive model', () => {
  test('show the same after whatever happened, told once, by the same references where nothing changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, {maxLength: 30}), async actions => {
        const world = new World();
        await world.start();
        for (const action of actions) world.step(() => action(world));
        void world.engine.close();
      }),
      {numRuns: 300},
    );
  });
});
