/** What counts as the time of a query or mutation, and what happens when it is used up. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {firstOf, nightly} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {App} from '../app.ts';
import {handler, TestRunner} from './runner.ts';

const TIMED_OUT = 'Function execution timed out (maximum duration: 1s)';

describe('the CPU decides, not the clock', () => {
  const LOOP = handler('loop', 'for (;;);');

  test('a loop that had a second of CPU time is timed out', () => {
    const clocks = {wallMs: () => performance.now(), cpuMs: () => performance.now()};
    const {outcome, starved} = new TestRunner({'a.js': LOOP}, {clocks}).run('a:loop');
    expect(outcome).toMatchObject({ok: false, error: {message: TIMED_OUT}});
    expect(starved).toBeNull();
  });

  nightly.test(
    'one that got a tenth of a CPU may be run again with more of the clock, until its callers have waited enough',
    () => {
      const clocks = {wallMs: () => performance.now(), cpuMs: () => performance.now() / 10};
      const runner = new TestRunner({'a.js': LOOP}, {wallMsMax: 2_500, clocks});
      expect(runner.run('a:loop').starved).toBe('again');
      const {starved, had} = runner.run('a:loop');
      expect(starved).toBe('over');
      expect(had!.wallMs).toBeGreaterThan(9 * had!.cpuMs);
    },
  );

  test('host calls end it when the CPU time is used up, by the function or its host', () => {
    let cpuMs = 0;
    let wallMs = 0;
    const clocks = {wallMs: () => (wallMs += 100), cpuMs: () => (cpuMs += 100)};
    const body = "for (let i = 0; i < 4000; i++) try { await ctx.db.get('x'); } catch {} return 'never'";
    const {outcome} = new TestRunner({'a.js': handler('asks', body)}, {clocks}).run('a:asks');
    expect(outcome).toMatchObject({ok: false, error: {message: TIMED_OUT}});
  });

  test('a function that needed most of its second is warned', () => {
    let cpuMs = 0;
    let wallMs = 0;
    const clocks = {wallMs: () => (wallMs += 500), cpuMs: () => (cpuMs += 900)};
    const slow = new TestRunner({'a.js': handler('fine', 'return 1')}, {clocks}).run('a:fine');
    expect(slow.lines).toEqual([expect.stringMatching(/^\[WARN\] Function execution took a long time \(\d+ ms/)]);
    expect(new TestRunner({'a.js': handler('fine', 'return 1')}).run('a:fine').lines).toEqual([]);
  });
});

nightly.describe('loading', () => {
  test('the limit is for a module and all it imports together', () => {
    const spin = 'const spin = n => { for (let i = 0, x = 0; i < n; i++) x += i % 7; };';
    const files: Record<string, string> = {'a.js': handler('f', 'return 1')};
    // Each part alone is below the limit on any machine that has the others below it, too.
    for (let i = 0; i < 400; i++) {
      files['a.js'] = `import './part-${i}.js';\n${files['a.js']}`;
      files[`part-${i}.js`] = `${spin} spin(1e8); export {};`;
    }
    const {outcome} = new TestRunner(files).run('a:f');
    expect(outcome).toMatchObject({ok: false, error: {message: TIMED_OUT}});
  }, 60_000);
});

describe("work of the host counts like the function's own", () => {
  let service: Service;
  let app: App;
  beforeAll(async () => {
    service = await Service.start();
    app = await App.deploy(service, FILES);
    for (let i = 0; i < 3; i++) await app.mutation('work:fill', {});
  });
  afterAll(() => service.stop());

  test.each(
    firstOf(3, [
      ['key derivation', 'derives', 'iterations of PBKDF2 in one function'],
      ['filters without end', 'filters', TIMED_OUT],
      ['a filter of 60,000 terms', 'hugeFilter', 'The filters of a query are too large'],
      ['ids of 15 MB', 'hugeIds', TIMED_OUT],
      ['refused calls without end', 'asksForEver', TIMED_OUT],
    ]),
  )(
    '%s: a query and a mutation fail, and their worker lives',
    async (_title, name, error) => {
      const worker = await service.workerOf(app.tenant);
      expect(await app.queryError(`work:${name}Query`, {})).toContain(error);
      expect(await app.mutationError(`work:${name}Mutation`, {})).toContain(error);
      expect(await app.query('work:fine', {})).toBe('fine');
      expect(await service.workerOf(app.tenant)).toBe(worker);
      // On a busy machine a call is refused for want of its CPU time, and sent again, up to ten times.
    },
    240_000,
  );
});

const BODIES: Record<string, string> = {
  derives: `
    const key = await crypto.subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits']);
    for (let i = 0; i < 20; i++)
      await crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-256', salt: new Uint8Array(8), iterations: 300_000}, key, 256);`,
  filters: `
    for (;;) await ctx.db.query('many').filter((q: any) => q.and(...Array.from({length: 900}, () => q.neq(q.field('a'), 'b')))).collect()
      .catch(() => {});`,
  hugeFilter: `
    await ctx.db.query('many').filter((q: any) => q.and(...Array.from({length: 60_000}, () => q.neq(q.field('a'), 'b')))).collect();`,
  hugeIds:
    "const huge = 'x'.repeat(15_000_000); for (let i = 0; ; i++) await ctx.db.get((huge + i) as never).catch(() => {});",
  asksForEver: "for (;;) await ctx.db.get('x' as never).catch(() => {});",
};
const FILES = {
  'work.ts': `
    import {mutation, query} from './_generated/server';
    export const fine = query({args: {}, handler: () => 'fine'});
    export const fill = mutation({args: {}, handler: async (ctx: any) => { for (let n = 0; n < 1_000; n++) await ctx.db.insert('many', {n}); }});
    ${Object.entries(BODIES)
      .flatMap(([name, body]) =>
        (['query', 'mutation'] as const).map(
          kind =>
            `export const ${name}${kind === 'query' ? 'Query' : 'Mutation'} = ${kind}({args: {}, handler: async (ctx: any) => {${body}\n}});`,
        ),
      )
      .join('\n')}`,
};
