/** Entries of an action into its isolate: one for the start and one for each answer, so a long action has many. */
import {expect, test} from 'vitest';
import {Realm} from '../../../worker/runtime/isolate/realm.ts';

test('they leave no time-outs, which isolated-vm keeps for as long as an action may take', async () => {
  const options: unknown[] = [];
  const entered = {
    apply: (_receiver: unknown, _given: unknown, how?: object) => {
      options.push(how);
      return Promise.resolve();
    },
  };
  const kernel = {start: entered, settle: entered, event: entered} as never;
  const realm = new Realm({} as never, {} as never, kernel, {timestampMs: 0, seed: '', read: () => ''});
  const call = {module: 'a.js', name: 'f', kind: 'action', paginated: false, args: '{}'} as const;
  await realm.run({...call, n: 1, nowMs: 0, seed: ''});
  await realm.settle(1, '+null', null);
  await realm.event('message', '{}', null);
  expect(options).toEqual([undefined, {arguments: {copy: true}}, {arguments: {copy: true}}]);
});
