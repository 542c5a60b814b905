/** Node processes that end: by their code, by a limit, with their worker, and by somebody's hand. */
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {firstOf} from '../../harness/nightly.ts';
import {allProcesses, commandLine, isAlive} from '../../harness/processes.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {onNode} from './node-app.ts';

const CRASHES = `"use node";
  import {action} from './_generated/server';
  import {api} from './_generated/api';
  export const pid = action(async () => process.pid);
  export const inCallback = action(() => new Promise(() => { setTimeout(() => { throw new RangeError('late boom'); }, 1); }));
  export const rejects = action(async () => { void Promise.reject(new Error('nobody listens')); await new Promise(r => setTimeout(r, 20)); return 'done'; });
  export const exits = action(() => { process.exit(3); });
  export const aborts = action(() => { process.abort(); });
  export const fills = action(() => { const held: string[][] = []; for (;;) held.push(new Array(100_000).fill('x')); });
  export const fillsBuffers = action(async () => { const held: Buffer[] = []; for (;;) { held.push(Buffer.alloc(16 * 1024 * 1024, 1)); await new Promise(r => setImmediate(r)); } });
  export const loops = action(() => { for (;;); });
  export const waits = action(async ctx => { await ctx.runMutation(api.marks.set, {pid: process.pid}); await new Promise(() => { setInterval(() => {}, 1000); }); });
  export const loopsMarked = action(async ctx => { await ctx.runMutation(api.marks.set, {pid: process.pid}); for (;;); });
  export const forges = action(() => { (process as any).getBuiltinModule('node:fs').writeSync(3, Buffer.alloc(64, 255)); return new Promise(() => {}); });
`;
const MARKS = `
  import {query, mutation} from './_generated/server';
  export const set = mutation(async (ctx, {pid}) => { await ctx.db.insert('marks', {pid}); });
  export const get = query(async ctx => (await ctx.db.query('marks').order('desc').first())?.pid ?? null);
`;

let service: Service;
let app: App;
beforeAll(async () => {
  service = await Service.start();
  app = await App.deploy(service, {...onNode('22'), 'crash.ts': CRASHES, 'marks.ts': MARKS});
});
afterAll(() => service.stop());

/** The process that the action notes, as soon as it has. */
async function marked(action: string): Promise<{pid: number; ended: Promise<string>}> {
  const before = await app.query('marks:get', {});
  const ended = app.reply('action', action, {}).then(
    ({errorMessage}) => errorMessage ?? 'succeeded',
    (error: Error) => error.message,
  );
  const pid = await until('the action to run', async () => {
    const now = (await app.query('marks:get', {})) as number | null;
    return now !== before && now !== null ? now : null;
  });
  return {pid, ended};
}

describe('the call fails, and the next one works', () => {
  const ends = [
    ['an error in a callback', 'inCallback', 'Uncaught RangeError: late boom'],
    ['process.exit', 'exits', 'The Node process ended (exit code 3)'],
    ['process.abort', 'aborts', 'The Node process ended (SIGABRT)'],
    ['buffers that grow', 'fillsBuffers', 'JavaScript execution ran out of memory'],
    ['bytes on its pipe that mean nothing', 'forges', 'The Node process violated the protocol'],
    ['a heap that grows', 'fills', 'JavaScript execution ran out of memory'],
  ] as const;
  test.each(firstOf(5, ends))('%s', async (_name, action, message) => {
    expect(await app.actionError(`crash:${action}`, {})).toContain(message);
    expect(await app.action('crash:pid', {})).toEqual(expect.any(Number));
  });

  test('kill -9 of its process', async () => {
    const {pid, ended} = await marked('crash:waits');
    process.kill(pid, 'SIGKILL');
    expect(await ended).toContain('The Node process ended (SIGKILL)');
    expect(await app.action('crash:pid', {})).not.toBe(pid);
  });

  test('a promise that is rejected and that nobody waits for is a line in the log', async () => {
    const {value, logLines} = await app.reply('action', 'crash:rejects', {});
    expect(value).toBe('done');
    expect(logLines!.join()).toContain('nobody listens');
  });
});

test('others of its process go on when an error in a callback fails a call', async () => {
  const {pid, ended} = await marked('crash:waits');
  expect(await app.actionError('crash:inCallback', {})).toContain('late boom');
  expect(isAlive(pid)).toBe(true);
  process.kill(pid, 'SIGKILL');
  await ended;
});

test('a call that computes without end holds up no other', async () => {
  const {pid, ended} = await marked('crash:loopsMarked');
  expect(await app.action('crash:pid', {})).not.toBe(pid);
  process.kill(pid, 'SIGKILL');
  expect(await ended).toContain('The Node process ended (SIGKILL)');
});

test('calls share a process, which stays for the next', async () => {
  const pids = await Promise.all(Array.from({length: 8}, () => app.action('crash:pid', {})));
  expect(new Set(pids).size).toBe(1);
  expect(await app.action('crash:pid', {})).toBe(pids[0]);
  const {text} = await service.get('/metrics');
  expect(text).toMatch(/^svc_node_processes [1-9]/m);
  expect(text).toMatch(/^svc_node_process_ends_total\{cause="crash"\} \d/m);
});

test.each(firstOf(1, ['crash:loopsMarked', 'crash:waits']))(
  'kill -9 of the worker leaves no process behind: %s',
  async action => {
    const {pid} = await marked(action);
    process.kill(await service.workerOf(app.tenant), 'SIGKILL');
    await until('the Node process to end', () => !isAlive(pid));
    expect(
      await until('the tenant to serve', async () => await app.action('crash:pid', {}).catch(() => null)),
    ).not.toBe(pid);
  },
);

test('an end in order leaves no process behind', async () => {
  await app.action('crash:pid', {});
  await service.end('SIGTERM');
  const left = allProcesses().filter(pid => commandLine(pid).includes(`allow-fs-read=${service.data}/tenants`));
  expect(left).toEqual([]);
  await service.run();
});
