import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {ActionLines} from '../../../worker/runtime/actions/action-lines.ts';
import {ActionHost} from './action-host.ts';

const APP = `
  const action = handler => ({_handler: handler});
  const REF = {[Symbol.for('svc.functionName')]: 'a/b:f'};
  const LIST = Object.assign(() => {}, {isSvcFunction: true});
  export const echo = action(async (_ctx, args) => args);
  export const nothing = action(async () => {});
  export const throws = action(async () => { throw new TypeError('boom'); });
  export const throwsLater = action(async () => { setTimeout(() => { throw new Error('in a timer'); }, 0); await new Promise(r => setTimeout(r, 1000)); });
  export const rejectsUnheard = action(async () => { void Promise.reject(new Error('unheard')); return 1; });
  export const never = action(() => new Promise(() => {}));
  export const loops = action(async () => { for (;;); });
  export const loopsInMicrotasks = action(async () => { for (;;) await null; });
  export const loopsAfterwards = action(async () => { void (async () => { for (;;) await null; })(); return 'done'; });
  export const eats = action(async () => { const all = []; for (;;) all.push(new Array(10000).fill(all.length)); });
  export const waits = action(async () => { await new Promise(r => setTimeout(r, 60000)); });
  export const big = action(async () => 'x'.repeat(17 * 1024 * 1024));
  export const calls = action(async (ctx) => [await ctx.runQuery(REF, {a: 1}), await ctx.runMutation('m:g'), await ctx.runAction(REF, {})]);
  export const callsWrongly = action(async (ctx, {how}) => {
    if (how === 'function') return ctx.runQuery(LIST);
    if (how === 'object') return ctx.runQuery({});
    if (how === 'args') return ctx.runQuery(REF, [1]);
    return ctx.runQuery(REF, {at: new Date()});
  });
  export const mutatesThenThrows = action(async (ctx) => { await ctx.runMutation(REF, {}); throw new Error('after'); });
  export const catches = action(async (ctx) => { try { await ctx.runMutation(REF); } catch (e) { return e.name + ': ' + e.message; } });
  export const parallel = action(async (ctx) => Promise.all([1, 2, 3].map(n => ctx.runQuery(REF, {n}))));
  export const tooMany = action(async (ctx) => {
    const all = await Promise.allSettled(Array.from({length: 1001}, () => ctx.runQuery(REF)));
    return all.filter(r => r.status === 'rejected').map(r => r.reason.message);
  });
  export const forgets = action(async (ctx) => { ctx.runMutation(REF); ctx.runQuery(REF); return 'early'; });
  export const schedules = action(async (ctx, {how}) => {
    const {scheduler} = ctx;
    switch (how) {
      case 'after': return scheduler.runAfter(5, REF, {a: 1});
      case 'at': return scheduler.runAt(new Date(Date.now() + 1000), REF);
      case 'past': return scheduler.runAt(1, REF);
      case 'negative': return scheduler.runAfter(-1, REF);
      case 'text': return scheduler.runAfter('5', REF);
      case 'infinite': return scheduler.runAfter(Infinity, REF);
      case 'ten years': return scheduler.runAfter(10 * 366 * 86400000, REF);
      case 'no time': return scheduler.runAt('now', REF);
      case 'cancel': return scheduler.cancel('job-1');
      case 'cancel nothing': return scheduler.cancel();
    }
  });
  export const members = action(async (ctx, {name}) => { ctx[name]; });
  export const identity = action(async (ctx) => ctx.auth.getUserIdentity());
  export const env = action(async () => [process.env.COLOUR ?? null, process.env.NONE ?? null]);
  export const order = action(async () => {
    const seen = [];
    setTimeout(() => seen.push('b'), 20);
    setTimeout(v => seen.push(v), 0, 'a');
    const stopped = setTimeout(() => seen.push('never'), 10);
    clearTimeout(stopped);
    let ticks = 0;
    await new Promise(resolve => { const id = setInterval(() => { if (++ticks === 3) { clearInterval(id); resolve(); } }, 15); });
    return [...seen, ticks];
  });
  export const logs = action(async (ctx) => { console.log('before'); await ctx.runQuery(REF); console.log('after'); });
  export const logsMuch = action(async () => { for (let i = 0; i < 300; i++) console.log(i); });
  export const imports = action(async (ctx) => {
    const load = globalThis[Symbol.for('svc.import')];
    const first = await load('other.js');
    const again = await load('other.js');
    const missing = await load('missing.js').catch(e => e.message);
    const broken = await load('broken.js').catch(e => e.message);
    const brokenAgain = await load('broken.js').catch(e => e.message);
    const imported = await load('dependency.js');
    await new Promise(r => setTimeout(r, 1));
    return [first.answer, first === again, missing, broken, brokenAgain, imported.half];
  });
  let uses = 0;
  let kept = null;
  export const counts = action(async () => ++uses);
  export const keeps = action(async (ctx) => { kept = ctx; });
  export const usesKept = action(async () => kept === null ? 'another isolate' : kept.runQuery(REF).catch(e => e.message));
`;
const MODULES = {
  app: APP,
  other: "import {half} from './dependency.js'; export const answer = half * 2;",
  dependency: 'export const half = 21;',
  broken: "throw new Error('broken at load');",
};

let host: ActionHost;
beforeAll(() => {
  host = new ActionHost(MODULES);
});
afterAll(() => host.close());
afterEach(() => {
  host.calls = [];
  host.lines = new ActionLines();
  host.answer = () => '+null';
});

describe('an action', () => {
  test('takes and returns values; undefined becomes null', async () => {
    expect(await host.value('echo', {a: [1, 'x', null]})).toEqual({a: [1, 'x', null]});
    expect(await host.value('nothing')).toBe(null);
  });

  test('that throws fails with the error, its name and the stack of its module', async () => {
    const outcome = await host.run('throws');
    expect(outcome).toMatchObject({
      ok: false,
      error: {name: 'TypeError', message: 'boom', stack: expect.stringContaining('app.js:')},
    });
  });

  test.each([
    ['throwsLater', 'in a timer'],
    ['rejectsUnheard', 'unheard'],
    ['never', 'Returned promise will never resolve'],
    ['big', 'Function app:big return value is too large'],
  ])('%s fails: %s', async (name, message) => {
    expect(await host.failure(name)).toBe(message);
  });

  test('calls functions by reference or path, and gets their values', async () => {
    host.answer = ({operation}) => `+${JSON.stringify([operation])}`;
    expect(await host.value('calls')).toEqual([['runQuery'], ['runMutation'], ['runAction']]);
    expect(host.calls.map(({parameters}) => JSON.parse(parameters))).toEqual([
      {path: 'a/b:f', args: '{"a":1}'},
      {path: 'm:g', args: '{}'},
      {path: 'a/b:f', args: '{}'},
    ]);
  });

  test.each([
    ['function', 'a registered function is not a functionReference'],
    ['object', 'is not a functionReference'],
    ['args', 'must be an object'],
    ['date', '.at'],
  ])('a wrong call (%s) is refused before anything is called', async (how, message) => {
    expect(await host.failure('callsWrongly', {how})).toContain(message);
    expect(host.calls).toEqual([]);
  });

  test('[47] a mutation it called stands when it throws afterwards', async () => {
    expect(await host.failure('mutatesThenThrows')).toBe('after');
    expect(host.calls).toHaveLength(1);
  });

  test('catches the error of a function it called as a plain error', async () => {
    host.answer = () => '-{"name":"Error","message":"Uncaught Error: boom"}';
    expect(await host.value('catches')).toBe('Error: Uncaught Error: boom');
  });

  test('gets the error of a fault of the service without particulars', async () => {
    host.answer = () => Promise.reject(new Error('secret'));
    expect(await host.value('catches')).toBe("Error: Your request couldn't be completed. Try again later.");
  });

  test('runs calls at the same time', async () => {
    const waiting: (() => void)[] = [];
    host.answer = () =>
      new Promise(resolve => {
        waiting.push(() => resolve('+1'));
        if (waiting.length === 3) for (const go of waiting) go();
      });
    expect(await host.value('parallel')).toEqual([1, 1, 1]);
  });

  test('has at most 1,000 operations under way', async () => {
    expect(await host.value('tooMany')).toEqual([
      expect.stringContaining('Too many concurrent operations (maximum 1000)'),
    ]);
    expect(host.calls).toHaveLength(1000);
  });

  test('is warned of operations it did not await', async () => {
    host.answer = () => new Promise(() => undefined);
    expect(await host.value('forgets')).toBe('early');
    expect(host.lines.all).toEqual([
      '[WARN] 2 unawaited operations: [runMutation, runQuery]. Async operations should be awaited or they might not run.',
    ]);
  });

  test('[42] schedules: what it asked for is with the service at once', async () => {
    host.answer = () => '+job-1';
    expect(await host.value('schedules', {how: 'after'})).toBe('job-1');
    expect(await host.value('schedules', {how: 'at'})).toBe('job-1');
    expect(await host.value('schedules', {how: 'cancel'})).toBe(null);
    const [after, at, cancel] = host.calls;
    expect(after).toEqual({operation: 'schedule', parameters: '{"path":"a/b:f","args":"{\\"a\\":1}","delayMs":5}'});
    expect(JSON.parse(at!.parameters)).toEqual({path: 'a/b:f', args: '{}', runAtMs: expect.any(Number)});
    expect(cancel).toEqual({operation: 'cancel', parameters: 'job-1'});
  });

  test.each([
    ['past', '5 years in the past'],
    ['negative', 'must be non-negative'],
    ['text', 'must be a number'],
    ['infinite', 'must be a finite number'],
    ['ten years', '5 years in the future'],
    ['no time', 'The invoke time must be a Date or a timestamp'],
    ['cancel nothing', "Must provide arg 1 'id' to 'cancel'"],
  ])('[43] scheduling %s is refused, and nothing is scheduled', async (how, message) => {
    expect(await host.failure('schedules', {how})).toContain(message);
    expect(host.calls).toEqual([]);
  });

  test.each([
    ['db', 'ctx.db is not available in actions; use ctx.runQuery/ctx.runMutation'],
    ['storage', 'ctx.storage is not supported'],
    ['vectorSearch', 'ctx.vectorSearch is not supported'],
    ['meta', 'ctx.meta is not supported'],
  ])('[48] ctx.%s fails by name', async (name, message) => {
    expect(await host.failure('members', {name})).toBe(message);
  });

  test('knows who called it and its environment', async () => {
    expect(await host.value('identity')).toBe(null);
    expect(await host.value('identity', {}, {caller: {identity: '{"subject":"u"}'}})).toEqual({subject: 'u'});
    expect(await host.failure('identity', {}, {caller: {invalid: 'why'}})).toBe(
      'Could not verify the Authorization header: why',
    );
    expect(await host.value('env', {}, {env: {COLOUR: 'red'}})).toEqual(['red', null]);
  });

  test('has timers, in the order of their times', async () => {
    expect(await host.value('order')).toEqual(['a', 'b', 3]);
  });

  test('writes its lines in order with those of the functions it calls', async () => {
    host.answer = () => {
      host.lines.addNested(['nested']);
      return '+null';
    };
    await host.value('logs');
    expect(host.lines.all).toEqual(["[LOG] 'before'", 'nested', "[LOG] 'after'"]);
  });

  test('writes 256 lines, the last of which says that there were more', async () => {
    await host.value('logsMuch');
    expect(host.lines.all).toHaveLength(256);
    expect(host.lines.all.at(-1)).toBe('[ERROR] Log overflow (maximum 256). Remaining log lines omitted.');
  });

  test('imports deployed modules, and goes on as an action afterwards', async () => {
    const broken = 'broken at load';
    expect(await host.value('imports')).toEqual([42, true, "Cannot find module 'missing.js'", broken, broken, 21]);
  });

  test('uses the isolate of the one before it, but not its ctx', async () => {
    const first = (await host.value('counts')) as number;
    expect(await host.value('counts')).toBe(first + 1);
    await host.value('keeps');
    expect(await host.value('usesKept')).toBe('a ctx was used after its action had ended');
  });

  test('fails when it is cancelled', async () => {
    const abort = new AbortController();
    const running = host.run('waits', {}, {}, abort.signal);
    abort.abort();
    expect(await running).toMatchObject({ok: false, error: {message: 'The action was cancelled'}});
  });

  test('is refused when too many are under way', async () => {
    const abort = new AbortController();
    host.answer = () => new Promise(() => undefined);
    const running = Array.from({length: 128}, () => host.run('waits', {}, {}, abort.signal));
    await expect(host.run('nothing')).rejects.toMatchObject({code: 'session.overloaded'});
    abort.abort();
    await Promise.all(running);
    expect(host.pool.underWay).toBe(0);
  });
});

describe('limits of an action', () => {
  let small: ActionHost;
  beforeAll(() => {
    small = new ActionHost(MODULES, {actionMsMax: 1_000, actionCpuMsMax: 300});
  });
  afterAll(() => small.close());

  test.each([
    ['loops', 'maximum CPU time: 0.3s'],
    ['loopsInMicrotasks', 'maximum CPU time: 0.3s'],
    ['waits', 'maximum duration: 1s'],
  ])('%s ends: %s', async (name, message) => {
    expect(await small.failure(name)).toContain(message);
  });

  // With its own share of time: collecting garbage takes some of it.
  test('eats ends: JavaScript execution ran out of memory', async () => {
    expect(await host.failure('eats')).toContain('JavaScript execution ran out of memory');
  });

  test('[65] a loop does not hold up other actions of the thread', async () => {
    const abort = new AbortController();
    const looping = Array.from({length: 7}, () => host.run('loops', {}, {}, abort.signal));
    expect(await host.value('echo', {n: 1})).toEqual({n: 1});
    expect(host.pool.underWay).toBe(7);
    abort.abort();
    await Promise.all(looping);
  });

  test('one that has its result and runs on is ended, and has its result', async () => {
    expect(await small.value('loopsAfterwards')).toBe('done');
  });

  test('after a failure the next one runs as ever', async () => {
    await small.failure('eats');
    expect(await small.value('echo', {a: 1})).toEqual({a: 1});
  });
});

describe('closing the pool', () => {
  test('ends what is under way, loops too, and refuses what comes', async () => {
    const closing = new ActionHost(MODULES);
    const running = ['loops', 'loopsInMicrotasks', 'waits', 'eats'].map(name => closing.run(name));
    await closing.value('echo');
    await closing.close();
    for (const outcome of await Promise.all(running)) expect(outcome.ok).toBe(false);
    await expect(closing.run('echo')).rejects.toMatchObject({code: 'session.worker_unavailable'});
  });
});
