/** What a query that takes long costs those that came with it: measured by the order of answers, not by the clock. */
import {beforeAll, describe, expect, test} from 'vitest';
import {nightly, rounds} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {
    'q.ts': `
      import {v} from 'svc/values';
      import {query} from './_generated/server';
      export const cheap = query({args: {n: v.number()}, handler: (_ctx, {n}) => n});
      export const loop = query({args: {}, handler: () => { for (;;); }});
      export const otherLoop = query({args: {}, handler: () => { for (;;); }});
      export const sometimes = query({args: {loops: v.boolean()}, handler: (_ctx, {loops}) => { while (loops); return 'done'; }});`,
  });
});

const cheap = (count: number) => Array.from({length: count}, (_, n) => () => app.query('q:cheap', {n}));

/** Sends all in one turn; the names in the order of their answers. */
async function order(calls: [string, () => Promise<unknown>][]): Promise<string[]> {
  const names: string[] = [];
  await Promise.all(calls.map(([name, call]) => call().then(() => names.push(name))));
  return names;
}

describe('cheap queries are answered before a query in a loop that was sent with them', () => {
  const cases: [title: string, loops: number][] = [
    ['one loop', 1],
    ['as many loops as there are threads, of one function', 4],
    ['more loops than threads, of one function', 8],
  ];
  for (const [title, loops] of cases) nightly.test(title, () => behind(loops));

  async function behind(loops: number): Promise<void> {
    await app.query('q:cheap', {n: 0});
    await app.queryError('q:loop', {});
    const calls: [string, () => Promise<unknown>][] = [
      ...Array.from(
        {length: loops},
        () => ['loop', () => app.queryError('q:loop', {})] as [string, () => Promise<string>],
      ),
      ...cheap(20).map(call => ['cheap', call] as [string, () => Promise<unknown>]),
    ];
    const names = await order(calls);
    expect(names.slice(0, 20)).toEqual(Array(20).fill('cheap'));
    expect(names).toHaveLength(20 + loops);
  }

  nightly.test('loops of a function that never was slow, before and behind them in one batch', async () => {
    const loop: [string, () => Promise<unknown>] = ['loop', () => app.queryError('q:otherLoop', {})];
    await app.query('q:cheap', {n: 0});
    const some = cheap(10).map(call => ['cheap', call] as [string, () => Promise<unknown>]);
    const names = await order([...some, loop, ...some]);
    expect(names).toEqual([...Array(20).fill('cheap'), 'loop']);
  });

  test('every query has its own answer, whichever thread gave it', async () => {
    const loops = Array.from({length: rounds({commit: 1, nightly: 3})}, () =>
      app.queryError('q:sometimes', {loops: true}),
    );
    const values = await Promise.all(cheap(300).map(call => call()));
    expect(values).toEqual(Array.from({length: 300}, (_, n) => n));
    expect(await app.query('q:sometimes', {loops: false})).toBe('done');
    for (const error of await Promise.all(loops)) expect(error).toContain('Function execution timed out');
  });
});
