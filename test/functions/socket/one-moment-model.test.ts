/**
 * Every transition is of one moment, whatever order runs begin, read, end and are refused in: held against a model that knows what each query
 * answers at each version. Runs, commits, refusals, changes of user and time pass as fast-check says.
 */
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {ServiceError} from '../../../shared/errors.ts';
import {LIVE_RUN_AGAIN_MS_MAX} from '../../../worker/functions/limits.ts';
import type {Ran, Run} from '../../../worker/functions/sync/queries/query-runs.ts';
import {rounds} from '../../harness/nightly.ts';
import {Played, PlayedClient, ran, reads} from './played.ts';

const TRIALS = rounds({commit: 120, nightly: 1_200});
const KEYS = ['a', 'b', 'c'] as const;
/** What each query reads. `who` answers differently for each user while `a` was written an odd number of times. */
const QUERIES: Record<string, readonly string[]> = {
  'm:a': ['a'],
  'm:ab': ['a', 'b'],
  'm:c': ['c'],
  'm:who': ['a', 'c'],
};
const PATHS = Object.keys(QUERIES);
const CODES = ['session.overloaded', 'session.worker_unavailable', 'op.storage_damaged'] as const;

type RunStep =
  | {type: 'read'; run: number}
  | {type: 'end'; run: number}
  | {type: 'refuse'; run: number; code: (typeof CODES)[number]};
type ClientStep = {type: 'watch' | 'leave' | 'user' | 'saw'; client: number; n: number};
type Step =
  | {type: 'write'; key: (typeof KEYS)[number]}
  | {type: 'turns'; n: number}
  | {type: 'time'}
  | RunStep
  | ClientStep;

const step: fc.Arbitrary<Step> = fc.oneof(
  {weight: 6, arbitrary: fc.record({type: fc.constant('write' as const), key: fc.constantFrom(...KEYS)})},
  {weight: 4, arbitrary: fc.record({type: fc.constant('read' as const), run: fc.nat(5)})},
  {weight: 10, arbitrary: fc.record({type: fc.constant('end' as const), run: fc.nat(5)})},
  {
    weight: 2,
    arbitrary: fc.record({type: fc.constant('refuse' as const), run: fc.nat(5), code: fc.constantFrom(...CODES)}),
  },
  {weight: 8, arbitrary: fc.record({type: fc.constant('turns' as const), n: fc.integer({min: 1, max: 3})})},
  {weight: 1, arbitrary: fc.constant({type: 'time' as const})},
  {
    weight: 2,
    arbitrary: fc.record({type: fc.constantFrom('watch', 'leave', 'user', 'saw'), client: fc.nat(2), n: fc.nat(3)}),
  },
) as fc.Arbitrary<Step>;

/** Runs of one snapshot. `moment`: null until it is opened. */
type Pending = {runs: readonly Run[]; moment: number | null; end: () => void; refuse: (error: ServiceError) => void};

class Model {
  readonly played = new Played();
  readonly pending: Pending[] = [];
  /** The versions that wrote each key. */
  readonly #writes = new Map<string, number[]>(KEYS.map(key => [key, []]));
  readonly #clients: {
    client: PlayedClient;
    watched: Map<number, string>;
    seen: number;
    /** What it said to have seen, and what there was when it asked: from which query set on nothing older may come. */
    floor: {querySet: number; ts: number};
    /** The same for its newest user. */
    userFloor: {identity: number; ts: number};
    state: Map<number, unknown>;
    user: string | null;
  }[];
  #nextQuery = 1;
  transitions = 0;

  constructor() {
    this.played.verify = async token => ({identity: JSON.stringify(token), expMs: Number.POSITIVE_INFINITY});
    this.played.run = run => this.#begin([run]).then(({rans}) => rans[0]!);
    this.played.runTogether = runs => this.#begin(runs);
    const sync = this.played.sync();
    this.#clients = Array.from({length: 3}, () => {
      const floors = {floor: {querySet: 0, ts: 0}, userFloor: {identity: 0, ts: 0}};
      return {client: new PlayedClient(sync), watched: new Map(), seen: 0, ...floors, state: new Map(), user: null};
    });
    for (let client = 0; client < 3; client++) for (const n of PATHS.keys()) this.#watch(client, n);
  }

  #at(path: string, moment: number, identity: string | null): {value: unknown; identityUsed: boolean} {
    const counts = QUERIES[path]!.map(key => this.#writes.get(key)!.filter(version => version <= moment).length);
    const identityUsed = path === 'm:who' && counts[0]! % 2 === 1;
    return {value: identityUsed ? [...counts, identity] : counts, identityUsed};
  }

  #begin(runs: readonly Run[]): Promise<{rans: Ran[]; sequence: number}> {
    return new Promise((resolve, reject) => {
      const one: Pending = {
        runs,
        moment: null,
        end: () => {
          one.moment ??= this.played.sequence;
          const sequence = one.moment;
          const rans = runs.map(({path, identity}) => {
            const {value, identityUsed} = this.#at(path, sequence, identity);
            return ran(value, {identityUsed, sequence, readSet: reads(...QUERIES[path]!)});
          });
          resolve({rans, sequence});
        },
        refuse: reject,
      };
      this.pending.push(one);
    });
  }

  #watch(of: number, n: number): void {
    const asking = this.#clients[of]!;
    asking.watched.set(this.#nextQuery, PATHS[n]!);
    asking.client.watch([PATHS[n]!], this.#nextQuery++);
    asking.floor = {querySet: asking.client.querySet, ts: this.played.sequence};
  }

  async take(one: Step): Promise<void> {
    switch (one.type) {
      case 'write':
        this.#writes.get(one.key)!.push(this.played.sequence + 1);
        this.played.write(one.key);
        break;
      case 'turns':
        for (let n = 0; n < one.n; n++) await nextTurn();
        break;
      case 'time':
        await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS_MAX);
        break;
      case 'read':
      case 'end':
      case 'refuse':
        this.#runStep(one);
        break;
      default:
        this.#clientStep(one);
    }
    this.check();
  }

  #runStep(one: RunStep): void {
    const pending = this.pending[one.run % Math.max(1, this.pending.length)];
    if (pending === undefined) return;
    if (one.type === 'read') {
      pending.moment ??= this.played.sequence;
      return;
    }
    this.pending.splice(this.pending.indexOf(pending), 1);
    if (one.type === 'end') pending.end();
    else pending.refuse(new ServiceError(one.code, 'refused'));
  }

  #clientStep({type, client: number, n}: ClientStep): void {
    const of = this.#clients[number]!;
    if (type === 'watch') this.#watch(number, n);
    else if (type === 'user') {
      of.user = `user-${n % 2}`;
      of.client.authenticate(of.user);
      of.userFloor = {identity: of.client.identity, ts: this.played.sequence};
    } else if (type === 'saw') {
      of.client.saw(this.played.sequence);
      of.floor = {querySet: of.client.querySet, ts: this.played.sequence};
    } else {
      const id = [...of.watched.keys()][n];
      if (id === undefined) return;
      of.watched.delete(id);
      of.client.remove(id);
    }
  }

  /** Everything that each client shows holds at the version of its newest transition. */
  check(): void {
    for (const of of this.#clients) {
      const {client, watched, state} = of;
      for (const {to, changes} of client.transitions.slice(of.seen)) {
        of.seen++;
        this.transitions++;
        if (to.query_set >= of.floor.querySet) expect(to.ts).toBeGreaterThanOrEqual(of.floor.ts);
        if (to.identity >= of.userFloor.identity) expect(to.ts).toBeGreaterThanOrEqual(of.userFloor.ts);
        for (const change of changes)
          state.set(change.query_id, 'error' in change ? null : (change as {value: unknown}).value);
        const shown = [...state].filter(([id, value]) => watched.has(id) && value !== null);
        for (const [id, value] of shown) {
          const path = watched.get(id)!;
          const who = Array.isArray(value) ? value[QUERIES[path]!.length] : undefined;
          expect({path, ts: to.ts, value}).toEqual({
            path,
            ts: to.ts,
            value: this.#at(path, to.ts, who as string).value,
          });
          // Its user may have changed since, but what it shows is one user's.
          if (who !== undefined) expect([null, '"user-0"', '"user-1"']).toContain(who);
        }
      }
    }
  }

  /** Left in peace, all clients are shown the newest version. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < 40; turn++) {
      for (const one of this.pending.splice(0)) one.end();
      await nextTurn();
      await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS_MAX);
      this.check();
    }
    for (const {state, watched, user} of this.#clients) {
      for (const [id, path] of watched) {
        const identity = user === null ? null : JSON.stringify(user);
        expect(state.get(id)).toEqual(this.#at(path, this.played.sequence, identity).value);
      }
    }
    for (const {client} of this.#clients) client.leave();
  }
}

beforeEach(() => void vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']}));
afterEach(() => void vi.useRealTimers());

/** Runs that end one after the other, those first that began first. */
const ends = (n: number): Step[] => Array.from({length: n}, () => ({type: 'end', run: 0}));
const write = (key: (typeof KEYS)[number]): Step => ({type: 'write', key});
const turns = (n: number): Step => ({type: 'turns', n});
/** One gather counts on the answer of `m:a` that another has found; then a run that is refused puts an error in its place, and `a` is written. */
const REPLACED: Step[] = [
  ...[turns(1), ...ends(2), {type: 'read', run: 0} as const, write('c'), ...ends(2), write('a'), turns(1), ...ends(1)],
  ...[{type: 'watch', client: 0, n: 0} as const, {type: 'leave', client: 0, n: 1} as const, ...ends(2), write('a')],
  ...[turns(1), turns(1), write('a'), {type: 'refuse', run: 0, code: 'op.storage_damaged'} as const],
  ...[{type: 'refuse', run: 0, code: 'session.overloaded'} as const, turns(2)],
  ...[{type: 'refuse', run: 0, code: 'session.overloaded'} as const, write('a'), ...ends(2)],
  ...[write('a'), write('a'), write('a'), turns(1)],
];

const time: Step = {type: 'time'};
const user = (client: number, n: number): Step => ({type: 'user', client, n});
/** A client names the same user again, while the runs for it are from before two writes. */
const SAME_USER: Step[] = [
  ...[time, ...ends(3), time, turns(1), ...ends(1), turns(1), user(2, 3), write('a'), ...ends(1)],
  ...[{type: 'read', run: 0} as const, {type: 'refuse', run: 0, code: 'session.overloaded'} as const, ...ends(3)],
  ...[write('a'), user(2, 1), turns(1), {type: 'read', run: 0} as const, time, ...ends(1), write('a'), turns(1)],
];

test('every transition is of one moment, and the last one is the newest', async () => {
  let transitions = 0;
  const property = fc.asyncProperty(fc.array(step, {minLength: 20, maxLength: 200}), async steps => {
    const model = new Model();
    for (const one of steps) await model.take(one);
    await model.rest();
    transitions += model.transitions;
  });
  await fc.assert(property, {numRuns: TRIALS, examples: [[REPLACED], [SAME_USER]]});
  expect(transitions).toBeGreaterThan(TRIALS);
});
