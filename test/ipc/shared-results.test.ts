/** Results of query functions that routers may cache, and reports of the calls that they answered. */
import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import {Commit, CommittedEvent} from '../../engine/commit/commit.ts';
import {CALL_NAME_CHARS_MAX, CALLS_REPORT_BYTES_MAX} from '../../shared/limits.ts';
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import {type CachedNames, RouterCaches} from '../../worker/ipc/router-caches.ts';
import {callName, type KeptResult, reportedIn} from '../../worker/ipc/shared-results.ts';

const settings = {confirms: true, now: () => performance.now()};

function newKept(more: Partial<KeptResult> = {}): KeptResult {
  const readSet = {intervals: [], absentTables: []};
  return {readSet, name: callName('query', 'a:b'), isKept: true, onEnd: null, ...more};
}

function newRouter() {
  const dropped: CachedNames[] = [];
  return {dropped, dropCached: (names: CachedNames) => void dropped.push(names)};
}

describe('a router may cache a result', () => {
  test('that is kept, under one number for all routers', () => {
    const caches = new RouterCaches(settings);
    const kept = newKept();
    expect([caches.allowResult(newRouter(), kept), caches.allowResult(newRouter(), kept)]).toEqual([1, 1]);
    expect(caches.allowResult(newRouter(), newKept())).toBe(2);
  });

  test.each<[string, Partial<KeptResult>]>([
    ['is kept no longer', {isKept: false}],
    ['has too long a name', {name: 'x'.repeat(CALL_NAME_CHARS_MAX + 1)}],
  ])('but not one that %s', (_, more) => {
    expect(new RouterCaches(settings).allowResult(newRouter(), newKept(more))).toBeNull();
  });

  test('but none on a host of a cluster', () => {
    expect(new RouterCaches({...settings, isOff: true}).allowResult(newRouter(), newKept())).toBeNull();
  });

  test('until the worker keeps it no longer', () => {
    const caches = new RouterCaches(settings);
    const [router, kept] = [newRouter(), newKept()];
    caches.allowResult(router, kept);
    kept.onEnd!();
    expect(router.dropped).toEqual([[1]]);
  });
});

test.each<[JournalEvent['type'], boolean]>([
  ['deployment.activated', true],
  ['environment.set', true],
  ['environment.deleted', true],
  ['schema.set', true],
  ['schema.deleted', true],
  ['settings.changed', true],
  ['job.scheduled' as JournalEvent['type'], false],
])('the event %s drops all results: %s', (type, drops) => {
  const caches = new RouterCaches(settings);
  const [router, kept] = [newRouter(), newKept()];
  caches.allowResult(router, kept);
  const commit = new Commit(1, 0, [], [new CommittedEvent(type, '{}')], []);
  expect(caches.committing(commit, () => undefined)).toBe(drops);
  expect(router.dropped).toEqual(drops ? [null] : []);
  expect(caches.allowResult(router, kept) === null).toBe(drops);
  caches.released(router, false);
});

describe('a report of calls', () => {
  const read = (report: unknown) => reportedIn(Buffer.from(JSON.stringify(report)));

  test('names each call', () => {
    expect(read([[5, callName('paginatedQuery', 'a b:c'), 'r']])).toEqual([
      {atMs: 5, kind: 'paginatedQuery', path: 'a b:c', requestId: 'r'},
    ]);
  });

  test.each<[string, unknown]>([
    ['no list', {}],
    ['no call', [5]],
    ['no time', [['5', 'query a:b', 'r']]],
    ['no name', [[5, 1, 'r']]],
    ['another kind', [[5, 'mutation a:b', 'r']]],
    ['no request', [[5, 'query a:b', null]]],
    ['too much', [[5, 'query a:b', 'r'.repeat(CALLS_REPORT_BYTES_MAX)]]],
  ])('with %s is malformed', (_, report) => {
    expect(() => read(report)).toThrow(/report|list/);
  });

  test('that is no JSON is malformed', () => {
    expect(() => reportedIn(Buffer.from('['))).toThrow('not JSON');
  });
});
