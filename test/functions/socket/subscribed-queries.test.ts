/** What is held for many sockets, with runs that the test plays: nobody waits behind who has left, and nothing of them stays. */
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, expect, test, vi} from 'vitest';
import {LiveIndex} from '../../../engine/live/live-index.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {LIVE_RUN_AGAIN_MS, LIVE_RUNS_OF_ONE_MAX} from '../../../worker/functions/limits.ts';
import type {QueryRuns, Ran, Run} from '../../../worker/functions/sync/queries/query-runs.ts';
import {SubscribedQueries} from '../../../worker/functions/sync/queries/subscribed-queries.ts';
import type {Holder, SubscribedQuery} from '../../../worker/functions/sync/queries/subscribed-query.ts';

afterEach(() => vi.useRealTimers());

function newSubscribed(run: (run: Run) => Promise<Ran>): SubscribedQueries {
  const runs: Pick<QueryRuns, 'run' | 'runTogether'> = {
    run,
    runTogether: () => Promise.reject(new Error('nobody asks for it here')),
  };
  return new SubscribedQueries({
    index: new LiveIndex(),
    metrics: new WorkerMetrics(),
    log: {error: () => undefined},
    runs,
    shown: error => error,
    sequence: 5,
  });
}

function ran(value: unknown, identityUsed = false): Ran {
  return {
    result: {ok: true, value: JSON.stringify(value), lines: [], own: []},
    requestId: 'r',
    sequence: 5,
    readSet: {intervals: [], absentTables: []},
    identityUsed,
    endCursor: null,
    wasCached: false,
  };
}

const someone = (identity: string | null = null): Holder => ({identity, concern: () => undefined});
const asked = (i: number) => ({
  kind: 'query' as const,
  path: 'a:b',
  args: `{"i":${i}}`,
  journal: null,
  isInternal: false,
});
const textFor = (query: SubscribedQuery, identity: string | null) => {
  const result = query.answerFor(identity)?.result;
  return result === undefined ? null : result.ok ? result.text : `! ${result.error}`;
};

test('what is wanted is run although many that were wanted before are not any more', async () => {
  const ends: (() => void)[] = [];
  const subscribedQueries = newSubscribed(() => new Promise(resolve => ends.push(() => resolve(ran(1)))));
  const leaving = someone();
  const old = Array.from({length: 5 * LIVE_RUNS_OF_ONE_MAX}, (_, i) => subscribedQueries.hold(leaving, asked(i)));
  await nextTurn();
  expect(ends).toHaveLength(LIVE_RUNS_OF_ONE_MAX);
  for (const query of old) subscribedQueries.release(leaving, query);
  const query = subscribedQueries.hold(someone(), asked(-1));
  for (let turn = 0; turn < 4; turn++) {
    for (const end of ends.splice(0)) end();
    await nextTurn();
  }
  expect(textFor(query, null)).toBe('1');
});

test('a run that is refused for one identity changes nobody else, and is tried again', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  let isDamaged = true;
  const subscribedQueries = newSubscribed(async ({identity}) => {
    if (identity === '"b"' && isDamaged) throw new ServiceError('op.storage_damaged', 'a row is damaged');
    return ran(identity, true);
  });
  const query = subscribedQueries.hold(someone('"a"'), asked(0));
  await nextTurn();
  subscribedQueries.hold(someone('"b"'), asked(0));
  await nextTurn();
  await nextTurn();
  expect(textFor(query, '"a"')).toContain('a');
  expect(textFor(query, '"b"')).toMatch(/^! /);
  isDamaged = false;
  await vi.advanceTimersByTimeAsync(LIVE_RUN_AGAIN_MS);
  await nextTurn();
  await nextTurn();
  expect(textFor(query, '"b"')).toContain('b');
});

test('runs that are refused for many identities are each tried again at their own times', async () => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  const users = 50;
  let runs = 0;
  let isDamaged = false;
  const subscribedQueries = newSubscribed(async ({identity}) => {
    runs++;
    if (isDamaged) throw new ServiceError('op.storage_damaged', 'a row is damaged');
    return ran(identity, true);
  });
  subscribedQueries.hold(someone('"first"'), asked(0));
  await nextTurn();
  isDamaged = true;
  for (let i = 0; i < users; i++) subscribedQueries.hold(someone(`"${i}"`), asked(0));
  const turns = async () => {
    for (let turn = 0; turn < 10; turn++) await nextTurn();
  };
  await turns();
  for (let round = 1, waitMs = LIVE_RUN_AGAIN_MS; round <= 4; round++, waitMs *= 2) {
    expect(runs).toBe(1 + round * users);
    await vi.advanceTimersByTimeAsync(waitMs);
    await turns();
  }
});

test('of identities that have left little stays', async () => {
  const subscribedQueries = newSubscribed(async ({identity}) => ran(identity, true));
  const query = subscribedQueries.hold(someone('"stays"'), asked(0));
  for (let i = 0; i < 200; i++) {
    const guest = someone(`"${i}"`);
    subscribedQueries.hold(guest, asked(0));
    await nextTurn();
    await nextTurn();
    subscribedQueries.release(guest, query);
  }
  expect([...query.answers()].length).toBeLessThan(20);
  expect(textFor(query, '"stays"')).toContain('stays');
});

test('a run for one of many users concerns that user alone', async () => {
  const users = 500;
  let concerned = 0;
  const subscribedQueries = newSubscribed(async ({identity}) => ran(identity, true));
  const holders = Array.from(
    {length: users},
    (_, i): Holder => ({identity: `"${i}"`, concern: () => void concerned++}),
  );
  const query = holders.map(holder => subscribedQueries.hold(holder, asked(0))).at(-1)!;
  while ([...query.answers()].length < users) await nextTurn();
  // All are notified once when the function turns out to use the identity.
  expect(concerned).toBeLessThan(3 * users);
  expect(textFor(query, '"7"')).toBe('"\\"7\\""');
});
