import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {rounds} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FILES = {
  'jobs.ts': `
    import {v} from 'svc/values';
    import {api, internal} from './_generated/api';
    import {action, internalMutation, mutation, query} from './_generated/server';
    export const note = internalMutation({args: {text: v.string()}, handler: async (ctx, {text}) => {
      const parents = (await ctx.db.query('parents' as never).collect()) as unknown[];
      await ctx.db.insert('notes' as never, {text, parents: parents.length, user: await ctx.auth.getUserIdentity()} as never);
    }});
    export const notes = query({args: {text: v.string()}, handler: async (ctx, {text}) =>
      ((await ctx.db.query('notes' as never).collect()) as any[]).filter(note => note.text === text)});
    export const everything = query({args: {}, handler: async ctx => ({
      parents: ((await ctx.db.query('parents' as never).collect()) as any[]).map(parent => parent.text as string),
      notes: ((await ctx.db.query('notes' as never).collect()) as any[]).map(note => note.text as string),
    })});
    export const schedules = mutation({args: {text: v.string(), fails: v.boolean()}, handler: async (ctx, {text, fails}) => {
      await ctx.db.insert('parents' as never, {text} as never);
      const id = await ctx.scheduler.runAfter(0, internal.jobs.note, {text});
      if (fails) throw new Error('after scheduling');
      return id;
    }});
    export const actionSchedules = action({args: {text: v.string()}, handler: async (ctx, {text}) => {
      await ctx.scheduler.runAfter(0, internal.jobs.note, {text});
      throw new Error('after scheduling');
    }});
    export const anAction = action({args: {}, handler: () => 1});
    export const wrong = mutation({args: {}, handler: async ctx => {
      const found: string[] = [];
      const attempt = async (run: () => unknown) => { try { await run(); found.push('ok'); } catch (e) { found.push((e as Error).message); } };
      const s = ctx.scheduler as any;
      await attempt(() => s.runAfter(0, api.jobs.anAction, {}));
      await attempt(() => s.runAfter(-1, internal.jobs.note, {text: 'x'}));
      await attempt(() => s.runAfter('5', internal.jobs.note, {text: 'x'}));
      await attempt(() => s.runAfter(10 * 365 * 86_400_000, internal.jobs.note, {text: 'x'}));
      await attempt(() => s.runAfter(0, 'nowhere:f', {}));
      await attempt(() => s.runAfter(0, 'jobs:nothing', {}));
      return found;
    }});
    export const later = mutation({args: {text: v.string(), ms: v.number()}, handler: (ctx, {text, ms}) => ctx.scheduler.runAfter(ms, internal.jobs.note, {text})});
    export const never = mutation({args: {text: v.string(), ms: v.number()}, handler: async (ctx, {text, ms}) => {
      await ctx.scheduler.cancel(await ctx.scheduler.runAfter(ms, internal.jobs.note, {text}));
    }});
    export const cancel = mutation({args: {id: v.string()}, handler: async (ctx, {id}) => { await ctx.scheduler.cancel(id as never); }});
    export const throws = internalMutation({args: {}, handler: async ctx => {
      await ctx.db.insert('notes' as never, {text: 'thrown'} as never);
      throw new Error('the job is bad');
    }});
    export const scheduleThrowing = mutation({args: {}, handler: ctx => ctx.scheduler.runAfter(0, internal.jobs.throws, {})});
    export const callsThenThrows = action({args: {text: v.string()}, handler: async (ctx, {text}) => {
      await ctx.runMutation(internal.jobs.note, {text});
      throw new Error('after the mutation');
    }});
    export const unsupported = action({args: {}, handler: async ctx => {
      const found: string[] = [];
      const attempt = async (run: () => unknown) => { try { await run(); found.push('ok'); } catch (e) { found.push((e as Error).message); } };
      const c = ctx as any;
      await attempt(() => c.db);
      await attempt(() => c.storage);
      return found;
    }});
    export const unsupportedInMutation = mutation({args: {}, handler: async ctx => {
      const found: string[] = [];
      const attempt = async (run: () => unknown) => { try { await run(); found.push('ok'); } catch (e) { found.push((e as Error).message); } };
      const c = ctx as any;
      await attempt(() => c.runQuery(api.jobs.notes, {text: ''}));
      await attempt(() => c.db.replace('x', {}));
      await attempt(() => c.storage.getUrl('x'));
      await attempt(() => c.db.system.query('_storage'));
      return found;
    }});
    export const sees = action({args: {text: v.string()}, handler: async (ctx, {text}) => {
      await ctx.runMutation(internal.jobs.note, {text});
      return ((await ctx.runQuery(api.jobs.notes, {text})) as unknown[]).length;
    }});`,
};

let service: Service;
let app: App;
beforeAll(async () => {
  service = await Service.start();
  app = await App.deploy(service, FILES);
});
afterAll(() => service.stop());

type Note = {text: string; parents: number; user: unknown};
const notes = (text: string) => app.query('jobs:notes', {text}) as Promise<Note[]>;
const noted = (text: string) =>
  until(`a note ${text}`, async () => {
    const found = await notes(text);
    return found.length > 0 ? found : null;
  });
const result = (id: string) =>
  until(`the result of ${id}`, async () => {
    const reply = await app.admin('GET', `/schedule/history/${id}`);
    return reply.status === 200
      ? ((reply.body as {result: unknown}).result as {outcome: string; error: string | null})
      : null;
  });

describe('the scheduler', () => {
  test('[41] a job exists exactly if its mutation commits, and sees what it wrote', async () => {
    expect(await app.mutationError('jobs:schedules', {text: 'never', fails: true})).toContain('after scheduling');
    const id = (await app.mutation('jobs:schedules', {text: 'once', fails: false})) as string;
    const found = await noted('once');
    expect(found).toHaveLength(1);
    expect(found[0]!.parents).toBeGreaterThan(0);
    expect(await result(id)).toMatchObject({outcome: 'completed', error: null});
    // Whatever would run again, or although it was rolled back, would have done so before a job that is due after it.
    await result((await app.mutation('jobs:later', {text: 'behind it', ms: 50})) as string);
    expect(await notes('once')).toHaveLength(1);
    expect(await notes('never')).toEqual([]);
  });

  test('[42] what an action scheduled runs although the action failed', async () => {
    expect(await app.actionError('jobs:actionSchedules', {text: 'from an action'})).toContain('after scheduling');
    expect(await noted('from an action')).toHaveLength(1);
  });

  test('[43] what cannot be scheduled is refused at the call', async () => {
    const errors = (await app.mutation('jobs:wrong', {})) as string[];
    expect(errors[0]).toContain('Only mutations can be scheduled');
    expect(errors[1]).toContain('non-negative');
    expect(errors[2]).toContain('must be a number');
    expect(errors[3]).toContain('5 years');
    expect(errors[4]).toContain('Attempted to schedule function at nonexistent path: nowhere:f');
    expect(errors[5]).toContain('no exported function nothing found in the file');
    expect((await app.admin('GET', '/schedule')).body).toEqual({jobs: []});
  });

  test('[44] a cancelled job never runs; cancelling again changes nothing', async () => {
    await app.mutation('jobs:never', {text: 'cancelled', ms: 0});
    const id = (await app.mutation('jobs:later', {text: 'cancelled', ms: 3_600_000})) as string;
    expect((await app.admin('GET', '/schedule')).body).toMatchObject({jobs: [{id}]});
    await app.mutation('jobs:cancel', {id});
    await app.mutation('jobs:cancel', {id});
    expect((await app.admin('GET', '/schedule')).body).toEqual({jobs: []});
    const after = (await app.mutation('jobs:later', {text: 'after it', ms: 0})) as string;
    await result(after);
    expect(await notes('cancelled')).toEqual([]);
    expect(await app.mutationError('jobs:cancel', {id: 'no id'})).toContain("Invalid argument 'id'");
  });

  test('[45] a job whose mutation throws has failed, once', async () => {
    const id = (await app.mutation('jobs:scheduleThrowing', {})) as string;
    expect(await result(id)).toMatchObject({outcome: 'failed', error: expect.stringContaining('the job is bad')});
    expect(await notes('thrown')).toEqual([]);
  });

  test('[45] jobs run exactly once although everything is killed in between', async () => {
    const texts = Array.from({length: 40}, (_, i) => `killed ${i}`);
    for (const text of texts) await app.mutation('jobs:later', {text, ms: 20});
    await service.killAll();
    await service.run();
    const counts = await until('all of them to have run', async () => {
      const found = await Promise.all(texts.map(async text => (await notes(text)).length));
      return found.every(count => count > 0) ? found : null;
    });
    expect(counts).toEqual(texts.map(() => 1));
  });

  test('[45] whatever moment the worker is killed at, an effect and its job are there once or not at all', async () => {
    const acknowledged = new Set<string>();
    const attempted: string[] = [];
    for (let round = 0; round < rounds({commit: 2, nightly: 4}); round++) {
      let isOver = false;
      const load = Array.from({length: 6}, async (_, client) => {
        for (let i = 0; !isOver; i++) {
          const text = `moment ${round} ${client} ${i}`;
          attempted.push(text);
          const args = {text, fails: false};
          const reply = await app.svc('POST', '/mutation', {path: 'jobs:schedules', args});
          if ((reply.body as {status?: string}).status === 'success') acknowledged.add(text);
          else expect([503, 200]).toContain(reply.status);
        }
      });
      const before = acknowledged.size;
      while (acknowledged.size < before + 12) await new Promise(resolve => setImmediate(resolve));
      process.kill(await service.workerOf(app.tenant), 'SIGKILL');
      isOver = true;
      await Promise.all(load);
    }
    const {parents, notes: made} = await until('every job of the mutations that are there to have run', async () => {
      // A query that the killed worker had is refused: the next one is asked again.
      const reply = await app.svc('POST', '/query', {path: 'jobs:everything', args: {}});
      if (reply.status === 503) return null;
      const all = (reply.body as {value: {parents: string[]; notes: string[]}}).value;
      const own = (texts: string[]) => texts.filter(text => text.startsWith('moment ')).sort();
      const found = {parents: own(all.parents), notes: own(all.notes)};
      const there = new Set(found.notes);
      return found.parents.every(text => there.has(text)) ? found : null;
    });
    // What is there is there once, as the mutation's own write and as its job's; all that was acknowledged is among it.
    expect(made).toEqual(parents);
    expect(new Set(parents).size).toBe(parents.length);
    const there = new Set(parents);
    expect([...acknowledged].filter(text => !there.has(text))).toEqual([]);
    expect(parents.filter(text => !attempted.includes(text))).toEqual([]);
  });

  test('a failed job has its function’s own words', async () => {
    const id = (await app.mutation('jobs:scheduleThrowing', {})) as string;
    expect((await result(id)).error).toMatch(/^Uncaught Error: the job is bad\n {4}at handler \(\.\.\/svc\/jobs\.ts:/);
  });

  test('function jobs and native jobs are one list', async () => {
    const id = (await app.mutation('jobs:later', {text: 'listed', ms: 60_000})) as string;
    const {jobs} = (await app.admin('GET', '/schedule')).body as {jobs: {id: string; mutation: object}[]};
    expect(jobs).toMatchObject([{id, mutation: {type: 'function', path: 'jobs:note', args: {text: 'listed'}}}]);
    expect((await app.admin('DELETE', `/schedule/${id}`)).status).toBe(204);
  });

  test('[47] what an action wrote by a mutation stays although the action fails', async () => {
    expect(await app.actionError('jobs:callsThenThrows', {text: 'stays'})).toContain('after the mutation');
    expect(await notes('stays')).toHaveLength(1);
  });

  test('an action sees what its mutation wrote', async () => {
    expect(await app.action('jobs:sees', {text: 'seen'})).toBe(1);
  });

  test('[48] what a context does not have fails by name', async () => {
    const [db, storage] = (await app.action('jobs:unsupported', {})) as string[];
    expect(db).toContain('ctx.db is not available in actions');
    expect(storage).toContain('ctx.storage is not supported');
    const [run, replace, files, system] = (await app.mutation('jobs:unsupportedInMutation', {})) as string[];
    expect(run).toContain('ctx.runQuery is not available in a mutation');
    expect(replace).toContain('db.replace is not supported');
    expect(files).toContain('ctx.storage is not supported');
    expect(system).toContain('db.system is not supported');
  });
});

const jobIdOf = (reply: {body: unknown}) => (reply.body as {jobId: string}).jobId;

describe('scheduling over HTTP', () => {
  const post = (path: string, body: unknown, headers = {}) => app.svc('POST', path, body, headers);

  test('run_after and run_at answer with a job id; only public mutations, unless the admin asks', async () => {
    const later = {path: 'jobs:later', args: {text: 'over http', ms: 0}};
    const after = await post('/schedule/run_after', {...later, delayMs: 0});
    expect(after).toMatchObject({status: 200, body: {jobId: expect.any(String)}});
    await result(jobIdOf(after));
    expect(await noted('over http')).toHaveLength(1);
    const at = await post('/schedule/run_at', {...later, timestampMs: Date.now() + 60_000});
    expect((await app.svc('DELETE', `/schedule/${jobIdOf(at)}`)).status).toBe(204);
    expect((await app.svc('DELETE', `/schedule/${jobIdOf(at)}`)).status).toBe(404);
    const internal = {path: 'jobs:note', args: {text: 'by the admin'}, delayMs: 0};
    expect((await post('/schedule/run_after', internal)).status).toBe(400);
    expect((await post('/schedule/run_after', internal, {'x-svc-admin-token': service.adminToken})).status).toBe(200);
    expect(await noted('by the admin')).toHaveLength(1);
    expect((await post('/schedule/run_after', {path: 'jobs:notes', args: {}, delayMs: 0})).status).toBe(400);
    expect((await post('/schedule/run_after', {...later, delayMs: -1})).status).toBe(400);
  });
});
