/** A mutation takes a savepoint only when something needs its changes in the file before it has succeeded. */
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {insertFunctionJob, runJob} from '../../../engine/scheduler/jobs.ts';
import {SERVER} from '../deployments/tenant-deployments.ts';
import {MutationCalls} from './mutation-calls.ts';

const SOURCE = `${SERVER}
  const all = ctx => ctx.db.query('t').collect();
  export const insert = mutation({handler: (ctx, {n}) => ctx.db.insert('t', {n})});
  export const move = mutation({handler: async (ctx, {from, to}) => {
    const [a, b] = [await ctx.db.get(from), await ctx.db.get(to)];
    await ctx.db.patch(from, {n: a.n - 1});
    await ctx.db.patch(to, {n: b.n + 1});
    await ctx.db.delete(await ctx.db.insert('t', {n: 0}));
    return [await ctx.db.get(from), await ctx.db.get(to)].map(({n}) => n);
  }});
  export const fails = mutation({handler: async (ctx, {n}) => {
    await ctx.db.insert('t', {n});
    throw new Error('no');
  }});
  export const failsLater = mutation({handler: async (ctx, {n}) => {
    const id = await ctx.db.insert('t', {n});
    const seen = (await all(ctx)).map(({n}) => n);
    await ctx.db.delete(id);
    throw new Error('saw ' + seen.join(' '));
  }});
  export const numbers = mutation({handler: async ctx => (await all(ctx)).map(({n}) => n)});`;

let calls: MutationCalls;

beforeEach(async () => {
  calls = new MutationCalls();
  await calls.tenant.deploy({'m.ts': SOURCE});
});

afterEach(() => {
  calls.close();
  vi.restoreAllMocks();
});

async function returned(path: string, args: unknown = {}): Promise<unknown> {
  const result = await calls.call(path, args);
  if (!result.ok) throw new Error(result.error);
  return JSON.parse(result.value);
}

test('changes by id take none, and a failure leaves nothing of them', async () => {
  const ids = [await returned('m:insert', {n: 1}), await returned('m:insert', {n: 2})];
  const taken = vi.spyOn(calls.tenant.writer.statements.savepoint, 'run');
  const results = await Promise.all([
    calls.call('m:move', {from: ids[0], to: ids[1]}),
    calls.call('m:fails', {n: 9}),
    calls.call('m:insert', {n: 4}),
  ]);
  expect(results.map(({ok}) => ok)).toEqual([true, false, true]);
  expect(results[0]).toMatchObject({value: '[0,3]'});
  expect(taken).not.toHaveBeenCalled();
  expect(await returned('m:numbers')).toEqual([0, 3, 4]);
  expect(calls.tenant.journal()).not.toContain('"n":9');
});

test('a query sees the changes before it, and a failure after it rolls them back', async () => {
  await returned('m:insert', {n: 1});
  const taken = vi.spyOn(calls.tenant.writer.statements.savepoint, 'run');
  const [failed, inserted] = await Promise.all([calls.call('m:failsLater', {n: 2}), calls.call('m:insert', {n: 3})]);
  expect(failed).toMatchObject({ok: false, error: expect.stringContaining('saw 1 2')});
  expect(inserted).toMatchObject({ok: true});
  expect(taken).toHaveBeenCalledTimes(1);
  expect(await returned('m:numbers')).toEqual([1, 3]);
  expect(calls.tenant.journal()).not.toContain('"n":2');
});

test('jobs that change by id take none, and one that fails leaves its result and nothing else', async () => {
  await returned('m:insert', {n: 1});
  const {functions, tenant} = calls;
  const {groups, writer} = tenant;
  const taken = vi.spyOn(writer.statements.savepoint, 'run');
  const scheduled = ['m:insert', 'm:fails', 'm:insert'].map((path, i) =>
    groups.perform(w => insertFunctionJob(w, 0, {path, args: `{"n":${i + 2}}`, runAtMs: 0}, {id: 'r', jobs: 1})),
  );
  const jobs = await Promise.all(scheduled);
  taken.mockClear(); // requests that schedule have one each
  const run = (id: string) =>
    groups.perform(w => runJob(w, 1, id, (...job) => functions.runJob(...job)), undefined, true);
  expect((await Promise.all(jobs.map(run))).map(ran => (ran as {failed: boolean}).failed)).toEqual([
    false,
    true,
    false,
  ]);
  expect(taken).not.toHaveBeenCalled();
  expect(await returned('m:numbers')).toEqual([1, 2, 4]);
  expect(writer.db.prepare('SELECT id, outcome FROM job_results ORDER BY n').raw().all()).toEqual([
    [jobs[0], 'completed'],
    [jobs[1], 'failed'],
    [jobs[2], 'completed'],
  ]);
  expect(writer.pendingJobs.jobs).toBe(0);
});
