/** What actions take of their worker's memory, and what becomes of them when it runs short. */
import {afterEach, beforeEach, expect, test} from 'vitest';
import {FUNCTIONS_PROCESS_BYTES_END, FUNCTIONS_PROCESS_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {until} from '../../harness/until.ts';
import {ActionHost} from './action-host.ts';

const APP = `
  const action = handler => ({_handler: handler});
  const REF = {[Symbol.for('svc.functionName')]: 'a/b:f'};
  export const holds = action(async (ctx, {items}) => {
    const all = new Array(items).fill(1.5);
    await ctx.runQuery(REF, {});
    return all.length;
  });
  export const fails = action(async () => { throw new Error('it fails'); });
  export const computes = action(async (ctx) => { await ctx.runQuery(REF, {}); for (;;); });
`;

let host: ActionHost;
beforeEach(() => {
  host = new ActionHost({app: APP});
});
afterEach(() => host.close());

/** As if the process took so much at one look, and little before and after. */
function takeOnce(bytes: number): void {
  let looks = 0;
  host.bytesNow = () => (looks++ === 0 ? bytes : 0);
}

test('the action that takes most is ended with its own error, and the others go on', async () => {
  const answered = Promise.withResolvers<string>();
  host.answer = () => answered.promise;
  const small = [host.value('holds', {items: 1}), host.value('holds', {items: 2})];
  const large = host.failure('holds', {items: 3e6});
  await until('all to wait', () => host.calls.length === 3);
  takeOnce(FUNCTIONS_PROCESS_BYTES_END + 1);
  expect(await large).toBe('JavaScript execution ran out of memory');
  answered.resolve('+null');
  expect(await Promise.all(small)).toEqual([1, 2]);
});

test('one that computes counts as more than one that waits with little', async () => {
  const answered = Promise.withResolvers<string>();
  const waits = Promise.withResolvers<string>();
  host.answer = () => (host.calls.length === 1 ? waits.promise : answered.promise);
  const waiting = host.value('holds', {items: 1});
  await until('the first to wait', () => host.calls.length === 1);
  const computing = host.failure('computes');
  await until('the second to wait', () => host.calls.length === 2);
  answered.resolve('+null');
  takeOnce(FUNCTIONS_PROCESS_BYTES_END + 1);
  expect(await computing).toBe('JavaScript execution ran out of memory');
  waits.resolve('+null');
  expect(await waiting).toBe(1);
});

test('no more start while memory is scarce', async () => {
  host.bytesNow = () => FUNCTIONS_PROCESS_BYTES_MAX + 1;
  await expect(host.run('holds', {items: 1})).rejects.toMatchObject({code: 'session.overloaded'});
  expect(host.calls).toEqual([]);
});

test('a pool that is closed with actions under way, failed and done ends its threads in order', async () => {
  host.answer = () => '+null';
  await Promise.all([host.value('holds', {items: 1e6}), host.failure('fails'), host.value('holds', {items: 1e5})]);
  host.answer = () => new Promise(() => undefined);
  const underWay = Array.from({length: 8}, () => host.failure('holds', {items: 1e6}));
  await until('all to wait', () => host.calls.length === 10);
  await host.pool.close();
  for (const message of await Promise.all(underWay)) expect(message).toMatch(/couldn't be completed/);
});
