/** When a result may be kept or shared, whatever is committed between a run's snapshot and its end. */
import {describe, expect, test} from 'vitest';
import {type Change, Commit, CommittedEvent, Side} from '../../../engine/commit/commit.ts';
import {LiveIndex} from '../../../engine/live/live-index.ts';
import {ANY_TABLE, BY_CREATION, BY_ID, creationPlace, oneByte} from '../../../engine/reads/read-set.ts';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {Results} from '../../../worker/functions/results/results.ts';
import type {Execution} from '../../../worker/runtime/execution.ts';
import type {QueryRun} from '../../../worker/runtime/queries/packed-run.ts';

type Answer = {ok: true; value: string; lines: string[]} | {ok: false; lines: string[]};
type Waiting = {execution: Execution; end: (run: Partial<QueryRun>) => Promise<void>; fail: (error: Error) => void};

const ENV = {};

/** Results over threads that end their runs on request. */
class Cached {
  readonly waiting: Waiting[] = [];
  readonly #index = new LiveIndex();
  readonly #results: Results<Answer>;
  #sequence = 10;
  env = ENV;

  constructor() {
    this.#results = new Results<Answer>({
      index: this.#index,
      metrics: new WorkerMetrics(),
      sequence: this.#sequence,
      isCurrent: env => env === this.env,
      run: execution =>
        new Promise((resolve, reject) => {
          this.waiting.push({
            execution,
            end: async run => {
              resolve(runOf(run));
              await new Promise(setImmediate);
            },
            fail: reject,
          });
        }),
    });
  }

  /** As a caller: what is kept, or a run. */
  call(execution: Partial<Execution> = {}): Promise<Answer> {
    const whole = executionOf(execution, this.env);
    const cached = this.find(execution);
    if (cached !== null) return Promise.resolve(cached);
    return this.#results.run(whole, ({outcome, lines}) =>
      outcome.ok ? {ok: true, value: outcome.value, lines} : {ok: false, lines},
    );
  }

  find(execution: Partial<Execution> = {}): Answer | null {
    return this.#results.find(executionOf(execution, this.env));
  }

  /** A write to these documents of table 1. */
  commit(docs: number[] = [], events: CommittedEvent[] = [], hasNewCatalog = false): void {
    this.#sequence += docs.length + events.length;
    const commit = new Commit(this.#sequence, 0, docs.map(changeOf), events, [], hasNewCatalog);
    this.#index.committed(commit);
    this.#results.committed(commit);
  }
}

function executionOf(given: Partial<Execution>, env: Execution['env']): Execution {
  return {
    deployment: {id: 1, timestampMs: 0, seed: ''},
    path: 'a:f',
    module: 'a',
    name: 'f',
    paginated: false,
    args: '{}',
    caller: {identity: null},
    env,
    nowMs: 0,
    seed: '',
    endCursor: null,
    ...given,
  };
}

/** Reads documents 1 to 9 of table 1, and one by id. */
function runOf(given: Partial<QueryRun>): QueryRun {
  return {
    outcome: {ok: true, value: '1'},
    lines: [],
    identityUsed: false,
    isMomentary: false,
    starved: null,
    sequence: 10,
    endCursor: null,
    readSet: {
      intervals: [
        {table: 1, index: BY_CREATION, lower: oneByte(creationPlace(1)), upper: oneByte(creationPlace(10))},
        {table: ANY_TABLE, index: BY_ID, lower: 'd77', upper: 'd77\0'},
      ],
      absentTables: ['later'],
    },
    ...given,
  };
}

function changeOf(doc: number): Change {
  const row = {doc, id: `d${doc}`, created: doc, updated: doc, body: '{}', flags: 0};
  const table = {number: 1, name: doc === 99 ? 'later' : 't'};
  return {sequence: 1, table, doc, id: row.id, indexes: [], before: null, after: new Side(row), isDamaged: false};
}

const event = (type: CommittedEvent['type']) => new CommittedEvent(type, `{"type":"${type}"}`);

describe('a result is kept', () => {
  test('until a commit touches what it read', async () => {
    for (const [doc, isTouched] of [
      [5, true],
      [9, true],
      [10, false],
      [77, true],
      [78, false],
      [99, true],
    ] as const) {
      const cached = new Cached();
      const call = cached.call();
      await cached.waiting[0]!.end({});
      expect(cached.find()).toEqual(await call);
      cached.commit([doc]);
      expect([doc, cached.find() === null]).toEqual([doc, isTouched]);
    }
  });

  test.each<[string, Partial<QueryRun>]>([
    ['failed', {outcome: {ok: false, error: {name: 'Error', message: 'no', stack: null}}, readSet: null}],
    ['wrote a line', {lines: ['[LOG] hi']}],
    ['looked at the time or at random numbers', {isMomentary: true, readSet: null}],
    ['is too large', {outcome: {ok: true, value: 'x'.repeat(2 ** 20)}}],
    [
      'read in too many places',
      {
        readSet: {
          intervals: Array.from({length: 300}, (_, n) => ({table: 1, index: 0, lower: `${n}`, upper: `${n}\0`})),
          absentTables: [],
        },
      },
    ],
    ['saw what is not committed for everybody yet', {sequence: 11}],
  ])('but not when the function %s', async (_, run) => {
    const cached = new Cached();
    void cached.call();
    await cached.waiting[0]!.end(run);
    expect(cached.find()).toBeNull();
  });

  test.each<[string, (cached: Cached) => void]>([
    ['its deployment', cached => cached.commit([], [event('deployment.activated')])],
    ['a variable', cached => cached.commit([], [event('environment.set')])],
    ['a schema', cached => cached.commit([], [event('schema.set')])],
    ['an index, without a record', cached => cached.commit([], [], true)],
  ])('no longer when %s changes, also if it was under way', async (_, change) => {
    const cached = new Cached();
    void cached.call();
    await cached.waiting[0]!.end({});
    expect(cached.find()).not.toBeNull();
    void cached.call({args: '{"other":1}'});
    change(cached);
    await cached.waiting[1]!.end({sequence: 11});
    expect([cached.find(), cached.find({args: '{"other":1}'})]).toEqual([null, null]);
  });

  test('not when it ran with variables that are no longer those of now', async () => {
    const cached = new Cached();
    void cached.call();
    cached.env = {};
    await cached.waiting[0]!.end({});
    expect(cached.find()).toBeNull();
  });
});

describe('a commit between the snapshot of a run and its end', () => {
  test.each<[string, number[], number, boolean]>([
    ['that touches nothing of it', [20], 10, true],
    ['that touches it', [5], 10, false],
    ['that touches it and is in the snapshot', [5], 11, true],
    ['of which one touches it behind the snapshot', [20, 5], 10, false],
    ['that makes a table which was missing', [99], 10, false],
    ['of too many documents to be held against it', Array.from({length: 1_001}, (_, n) => 20 + n), 10, false],
  ])('%s: kept or not', async (_, docs, sequence, isCached) => {
    const cached = new Cached();
    void cached.call();
    cached.commit(docs);
    await cached.waiting[0]!.end({sequence});
    expect(cached.find() !== null).toBe(isCached);
  });

  test('is known however long before other runs began', async () => {
    const cached = new Cached();
    void cached.call({args: '{"n":1}'});
    cached.commit([5]);
    void cached.call({args: '{"n":2}'});
    cached.commit([20]);
    await cached.waiting[1]!.end({sequence: 11});
    await cached.waiting[0]!.end({sequence: 10});
    expect([cached.find({args: '{"n":1}'}), cached.find({args: '{"n":2}'}) === null]).toEqual([null, false]);
  });
});

describe('who is given a result', () => {
  const ada = {caller: {identity: '"ada"'}};
  const bob = {caller: {identity: '"bob"'}};

  test('everybody, if the identity was not looked at; else that identity alone', async () => {
    const cached = new Cached();
    void cached.call(ada);
    await cached.waiting[0]!.end({});
    expect([cached.find(bob), cached.find()]).not.toContain(null);
    cached.commit([5]);
    // With other data the function looks.
    void cached.call(ada);
    await cached.waiting[1]!.end({sequence: 11, identityUsed: true});
    expect([cached.find(ada) === null, cached.find(bob), cached.find()]).toEqual([false, null, null]);
  });

  test('other arguments and functions have results of their own, however long', async () => {
    const cached = new Cached();
    const long = 'x'.repeat(2_000);
    void cached.call({args: `"${long}1"`});
    await cached.waiting[0]!.end({});
    expect(cached.find({args: `"${long}1"`})).not.toBeNull();
    expect([cached.find({args: `"${long}2"`}), cached.find({path: 'a:g', args: `"${long}1"`})]).toEqual([null, null]);
  });

  test('equal calls of one moment share a run; one after a commit does not', async () => {
    const cached = new Cached();
    const first = cached.call();
    const second = cached.call();
    expect(cached.waiting).toHaveLength(1);
    cached.commit([5]);
    const third = cached.call();
    expect(cached.waiting).toHaveLength(2);
    await cached.waiting[0]!.end({outcome: {ok: true, value: '"old"'}});
    await cached.waiting[1]!.end({outcome: {ok: true, value: '"new"'}, sequence: 11});
    const values = (await Promise.all([first, second, third])).map(answer => answer.ok && answer.value);
    expect(values).toEqual(['"old"', '"old"', '"new"']);
    expect(cached.find()).toMatchObject({value: '"new"'});
  });

  test('different identities do not share a run', () => {
    const cached = new Cached();
    void cached.call(ada);
    void cached.call(bob);
    expect(cached.waiting).toHaveLength(2);
  });

  test('what cannot be repeated is not shared: each has its own', async () => {
    const cached = new Cached();
    const first = cached.call();
    const second = cached.call();
    await cached.waiting[0]!.end({isMomentary: true, readSet: null, outcome: {ok: true, value: '1'}});
    await cached.waiting[1]!.end({isMomentary: true, readSet: null, outcome: {ok: true, value: '2'}});
    expect([await first, await second]).toMatchObject([{value: '1'}, {value: '2'}]);
    // Known by now: nobody waits for another.
    void cached.call();
    void cached.call();
    expect(cached.waiting).toHaveLength(4);
  });

  test('a run that the service could not do fails alone', async () => {
    const cached = new Cached();
    const first = cached.call();
    const second = cached.call();
    cached.waiting[0]!.fail(new Error('no thread'));
    await expect(first).rejects.toThrow('no thread');
    await new Promise(setImmediate);
    await cached.waiting[1]!.end({});
    expect(await second).toMatchObject({value: '1'});
  });
});

test('results that were used least recently leave when all take too much', async () => {
  const cached = new Cached();
  const value = `"${'x'.repeat(900_000)}"`;
  for (let n = 0; n < 20; n++) {
    void cached.call({args: `${n}`});
    await cached.waiting[n]!.end({outcome: {ok: true, value}});
    expect(cached.find({args: '0'})).not.toBeNull();
  }
  const left = Array.from({length: 20}, (_, n) => n).filter(n => cached.find({args: `${n}`}) !== null);
  expect(left).toEqual([0, ...Array.from({length: 17}, (_, n) => n + 3)]);
});
