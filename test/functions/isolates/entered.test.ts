/** What a query or mutation sends into its isolate with each call. */
import {expect, test} from 'vitest';
import {Realm} from '../../../worker/runtime/isolate/realm.ts';

test('a function is named once in a realm, and is a number in each call', () => {
  const named: unknown[] = [];
  const called: unknown[] = [];
  const kernel = {
    enter: {applySync: (_receiver: unknown, name: unknown[]) => named.push(name) - 1},
    run: {applySync: (_receiver: unknown, [entry, n]: unknown[]) => called.push([entry, n]) > 0},
  } as never;
  const realm = new Realm({} as never, {} as never, kernel, {timestampMs: 0, seed: '', read: () => ''});
  const call = {module: 'a.js', kind: 'query', paginated: false, args: '{}', nowMs: 0, seed: ''} as const;
  for (const [n, name] of ['f', 'g', 'f', 'f'].entries()) realm.runSync({...call, name, n}, 1_000);
  realm.runSync({...call, name: 'f', kind: 'mutation', n: 4}, 1_000);
  expect(called).toEqual([
    [0, 0],
    [1, 1],
    [0, 2],
    [0, 3],
    [2, 4],
  ]);
  expect(named).toEqual([
    ['a.js', 'f', 'query', false],
    ['a.js', 'g', 'query', false],
    ['a.js', 'f', 'mutation', false],
  ]);
});
