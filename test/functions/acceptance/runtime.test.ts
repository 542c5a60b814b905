import {beforeAll, describe, expect, test} from 'vitest';
import {firstOf} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FILES = {
  'run.ts': `
    import {v} from 'svc/values';
    import {action, mutation, query} from './_generated/server';
    const atLoad = [Date.now(), Math.random()];
    export const clocks = query({args: {}, handler: () => [Date.now(), Date.now(), Math.random(), Math.random()]});
    export const loaded = query({args: {}, handler: () => atLoad});
    export const loadedInMutation = mutation({args: {}, handler: () => atLoad});
    export const loadedInAction = action({args: {}, handler: () => atLoad});
    export const fetches = mutation({args: {}, handler: async () => { await fetch('http://127.0.0.1:1/'); }});
    export const timers = mutation({args: {}, handler: async () => { setTimeout(() => {}, 1); }});
    export const imports = query({args: {}, handler: async () => { await import('./other'); }});
    export const importsInAction = action({args: {}, handler: async () => (await import('./other')).value});
    export const loops = query({args: {}, handler: () => { while (true) {} }});
    export const loopsInMutation = mutation({args: {}, handler: () => { while (true) {} }});
    export const microLoops = mutation({args: {}, handler: async () => { while (true) await null; }});
    export const never = query({args: {}, handler: () => new Promise(() => {})});
    export const eats = query({args: {}, handler: () => { const all = []; while (true) all.push(new Array(100_000).fill(1.5)); }});
    export const eatsInMutation = mutation({args: {}, handler: () => { const all = []; while (true) all.push(new Array(100_000).fill(1.5)); }});
    export const backtracks = query({args: {}, handler: () => /^(a+)+$/.test('a'.repeat(40) + 'b')});
    export const recurses = query({args: {}, handler: () => { const down = (): number => 1 + down(); return down(); }});
    export const fine = query({args: {}, handler: () => 'fine'});
    export const forgets = mutation({args: {}, handler: async ctx => { void ctx.db.insert('forgotten' as never, {n: 1} as never); }});
    export const forgotten = query({args: {}, handler: async ctx => ((await ctx.db.query('forgotten' as never).collect()) as unknown[]).length});
    export const forgetsBadGet = mutation({args: {}, handler: async ctx => {
      await ctx.db.insert('forgotten' as never, {n: 2} as never);
      void ctx.db.get('bad id' as never);
    }});
    export const logs = query({args: {}, handler: () => { for (let i = 0; i < 300; i++) console.log('x', {a: 1}); }});
    export const evals = query({args: {}, handler: () => { try { return (0, eval)('1'); } catch (error) { return String(error); } }});
    export const throwsAtLine = query({args: {}, handler: () => {
      throw new TypeError('with a line');
    }});
    const atLoadColor = process.env.COLOR ?? null;
    export const colorAtLoad = query({args: {}, handler: () => atLoadColor});
    export const colorAtLoadInMutation = mutation({args: {}, handler: () => atLoadColor});
    export const env = query({args: {name: v.string()}, handler: (_ctx, {name}) => process.env[name] ?? null});`,
  'other.ts': 'export const value = 42;',
  'a.test.ts': `throw new Error('tests are no modules')`,
  '.x.ts': `throw new Error('dotfiles are no modules')`,
  'b c.ts': `throw new Error('paths with spaces are no modules')`,
  'types.d.ts': 'export type T = number;',
  '_generated/z.ts': `export const z = 1; throw new Error('generated code is no module')`,
};

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

describe('the default runtime', () => {
  test('[64] time stands still in a query, randomness does not; at load both are constant', async () => {
    const [a, b] = (await Promise.all([app.query('run:clocks', {}), app.query('run:clocks', {})])) as number[][];
    for (const [now, again, random, other] of [a!, b!]) {
      expect(again).toBe(now);
      expect(other).not.toBe(random);
    }
    expect(a![2]).not.toBe(b![2]);
    await until('the time of another call', async () => ((await app.query('run:clocks', {})) as number[])[0] !== a![0]);
    const loaded = await app.query('run:loaded', {});
    expect(await app.query('run:loaded', {})).toEqual(loaded);
    expect(await app.mutation('run:loadedInMutation', {})).toEqual(loaded);
    expect(await app.action('run:loadedInAction', {})).toEqual(loaded);
  });

  test('[65] what a query or mutation cannot do says so', async () => {
    expect(await app.mutationError('run:fetches', {})).toContain("Can't use fetch() in queries and mutations");
    expect(await app.mutationError('run:timers', {})).toContain("Can't use setTimeout in queries and mutations");
    expect(await app.queryError('run:imports', {})).toContain('dynamic module import unsupported');
    expect(await app.action('run:importsInAction', {})).toBe(42);
    expect(await app.query('run:evals', {})).toContain('Code generation from strings disallowed');
  });

  test('[65] a loop is stopped, and other functions go on meanwhile', async () => {
    const answers: string[] = [];
    const looping = app.queryError('run:loops', {}).then(error => answers.push(error));
    const others = Array.from({length: 5}, async () => answers.push((await app.query('run:fine', {})) as string));
    await Promise.all([looping, ...others]);
    expect(answers.slice(0, 5)).toEqual(Array(5).fill('fine'));
    expect(answers[5]).toContain('Function execution timed out (maximum duration: 1s)');
  });

  test.each(
    firstOf(4, [
      ['query', 'run:never', 'Returned promise will never resolve'],
      ['query', 'run:eats', 'ran out of memory'],
      ['mutation', 'run:eatsInMutation', 'ran out of memory'],
      ['query', 'run:recurses', 'Maximum call stack size exceeded'],
      ['mutation', 'run:loopsInMutation', 'timed out'],
      ['mutation', 'run:microLoops', 'timed out'],
      ['query', 'run:backtracks', 'timed out'],
    ] as const),
  )('runaway code ends alone: %s %s', async (kind, path, error) => {
    const worker = await service.workerOf(app.tenant);
    const reply = await app.reply(kind, path, {});
    expect(reply).toMatchObject({status: 'error', errorMessage: expect.stringContaining(error)});
    expect(await app.query('run:fine', {})).toBe('fine');
    expect(await service.workerOf(app.tenant)).toBe(worker);
  });

  test('[66] what was not awaited still counts, for good and ill', async () => {
    await app.mutation('run:forgets', {});
    expect(await app.query('run:forgotten', {})).toBe(1);
    expect(await app.mutationError('run:forgetsBadGet', {})).toContain('Unable to decode ID');
    expect(await app.query('run:forgotten', {})).toBe(1);
  });

  test('[66] a log has 256 lines in all and says when there were more', async () => {
    const {logLines} = await app.reply('query', 'run:logs', {});
    expect(logLines![0]).toMatch(/^\[LOG\] 'x' \{\s+a: 1\s+\}$/);
    expect(logLines).toHaveLength(256);
    expect(logLines!.at(-1)).toBe('[ERROR] Log overflow (maximum 256). Remaining log lines omitted.');
  });

  test('[69] what is no module is not deployed', async () => {
    const {functions} = (await app.admin('GET', '/functions')).body as {functions: {module: string}[]};
    expect(new Set(functions.map(entry => entry.module))).toEqual(new Set(['run']));
  });

  test('a stack names the source', async () => {
    const error = await app.queryError('run:throwsAtLine', {});
    const line = FILES['run.ts'].split('\n').findIndex(text => text.includes("'with a line'")) + 1;
    expect(error).toMatch(/^\[Request ID: .+\] Server Error\nUncaught TypeError: with a line\n/);
    expect(error).toContain(`    at handler (../svc/run.ts:${line}:`);
  });

  test('an environment variable is there with the next call', async () => {
    expect(await app.query('run:env', {name: 'COLOR'})).toBeNull();
    expect((await app.admin('PUT', '/env/COLOR', {value: 'blue'})).status).toBe(204);
    expect(await app.query('run:env', {name: 'COLOR'})).toBe('blue');
    expect(await app.query('run:colorAtLoad', {})).toBe('blue');
    expect(await app.mutation('run:colorAtLoadInMutation', {})).toBe('blue');
    expect((await app.admin('DELETE', '/env/COLOR')).status).toBe(204);
    expect(await app.query('run:env', {name: 'COLOR'})).toBeNull();
  });
});
