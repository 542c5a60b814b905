/** The caches of several routers and their worker, in any order of frames, pauses, kills and time. */
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {rounds} from '../harness/nightly.ts';
import {DOCUMENTS, LONGEST_MS, Model, QUERIES} from './cached-documents.model.ts';

beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
});
afterEach(() => {
  vi.useRealTimers();
});

const router = fc.nat(2);
const doc = fc.nat(DOCUMENTS - 1);
const query = fc.nat(QUERIES - 1);
const KINDS = ['documents', 'catalog', 'code'] as const;

/**
 * Small steps, between which anything can happen, and large ones, so that documents are cached and routers stand still
 * while others go on.
 */
const step = fc.oneof(
  {weight: 3, arbitrary: fc.tuple(fc.constant('arrives' as const), router, doc)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('calls' as const), router, query)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('takes' as const), router)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('routerReads' as const), router)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('workerReads' as const), router)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('commit' as const), doc, fc.option(router))},
  {weight: 3, arbitrary: fc.constant(['synced' as const] as const)},
  {weight: 8, arbitrary: fc.constant(['rest' as const] as const)},
  {weight: 12, arbitrary: fc.tuple(fc.constant('warm' as const), router, doc)},
  {weight: 12, arbitrary: fc.tuple(fc.constant('warmCalls' as const), router, query)},
  {weight: 12, arbitrary: fc.tuple(fc.constant('write' as const), doc, fc.option(router))},
  {
    weight: 6,
    arbitrary: fc.tuple(
      fc.constant('slow' as const),
      fc.constantFrom(...KINDS.keys()),
      doc,
      fc.option(router),
      router,
      query,
    ),
  },
  {weight: 6, arbitrary: fc.tuple(fc.constant('pause' as const), router)},
  {weight: 6, arbitrary: fc.tuple(fc.constant('goOn' as const), router)},
  {weight: 6, arbitrary: fc.tuple(fc.constant('time' as const), fc.constantFrom(1, 10, 300, 399, 401, 799, 801))},
  {weight: 2, arbitrary: fc.tuple(fc.constant('catalog' as const), router)},
  {weight: 2, arbitrary: fc.tuple(fc.constant('code' as const), router)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('resultEnds' as const), query)},
  {weight: 1, arbitrary: fc.constant(['damage' as const] as const)},
  {weight: 2, arbitrary: fc.constant(['killWorker' as const] as const)},
  {weight: 1, arbitrary: fc.tuple(fc.constant('killRouter' as const), router)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('refuse' as const), router)},
  {weight: 3, arbitrary: fc.tuple(fc.constant('connect' as const), router)},
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function take(model: Model, [type, ...values]: Step): void {
  const [first, second, ...more] = values as [number, number, ...number[]];
  switch (type) {
    case 'arrives':
      model.getArrives(first, second);
      return;
    case 'calls':
      model.callArrives(first, second);
      return;
    case 'takes':
      model.routerTakes(first);
      return;
    case 'routerReads':
      model.routerReads(first);
      return;
    case 'workerReads':
      model.workerReads(first);
      return;
    case 'commit':
      model.commit([first], second, 'documents');
      return;
    case 'synced':
      model.synced();
      return;
    case 'rest':
      model.rest();
      return;
    case 'warm':
      for (let times = 0; times < 3; times++) {
        model.getArrives(first, second);
        model.rest();
      }
      return;
    case 'warmCalls':
      for (let times = 0; times < 3; times++) {
        model.callArrives(first, second);
        model.rest();
      }
      return;
    case 'slow': {
      // Calls arrive between COMMIT and the sync; and one when others have learned of it, at a router that has not.
      const [by, reader, asked] = more as [number, number, number];
      model.commit([second], by, KINDS[first]!);
      for (let times = 0; times < 3; times++) {
        model.callArrives(reader, asked);
        model.rest();
      }
      model.pause(reader);
      model.synced();
      model.rest();
      model.callArrives(reader, asked);
      model.goOn(reader);
      return;
    }
    case 'resultEnds':
      model.resultEnds(first);
      return;
    case 'write':
    case 'catalog':
    case 'code':
      model.commit([first], type === 'write' ? second : first, type === 'write' ? 'documents' : type);
      model.synced();
      model.rest();
      return;
    case 'pause':
      model.pause(first);
      return;
    case 'goOn':
      model.goOn(first);
      return;
    case 'time':
      vi.advanceTimersByTime(first);
      return;
    case 'damage':
      model.damageFound();
      return;
    case 'killWorker':
      model.killWorker();
      return;
    case 'killRouter':
      model.killRouter(first);
      return;
    case 'refuse':
      model.workerRefuses(first);
      return;
    case 'connect':
      model.connectIfAnnounced(first);
      return;
  }
}

describe.each([
  ['one router, of a tenant without code', 1, false],
  ['one router, of a tenant whose code tells others', 1, true],
  ['three routers', 3, true],
])('%s', (_, routers, confirms) => {
  test('no read is older than what was known when it arrived, and no commit waits for ever', () => {
    let cachedAnswers = 0;
    let cachedResults = 0;
    let waits = 0;
    fc.assert(
      fc.property(fc.array(step, {minLength: 10, maxLength: 80, size: 'max'}), steps => {
        const model = new Model(routers, confirms);
        for (const one of steps) take(model, one);
        model.synced();
        vi.advanceTimersByTime(LONGEST_MS);
        expect(model.isWaiting).toBe(false);
        for (let at = 0; at < routers; at++) {
          model.goOn(at);
          model.connectIfAnnounced(at);
        }
        model.rest();
        cachedAnswers += model.cachedAnswers;
        cachedResults += model.cachedResults;
        waits += model.waits;
        expect(model.stale).toEqual([]);
      }),
      {numRuns: rounds({commit: 2_000, nightly: 50_000})},
    );
    expect(cachedAnswers).toBeGreaterThan(0);
    expect(cachedResults).toBeGreaterThan(0);
    expect(waits > 0).toBe(confirms);
  }, 120_000);
});
