/** All executions that one request led to: nested calls, jobs, and the jobs of those. */
import {mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {requestText} from '../../../cli/logs.ts';
import {callTree, linesOfTree} from '../../../shared/call-tree.ts';
import {createLogger} from '../../../shared/log.ts';
import type {LogEntry} from '../../../shared/protocol/functions.ts';
import {TRACE_JOBS_MAX} from '../../../worker/runtime/limits.ts';
import {ExecutionLog, executionFiles, type UnnumberedEntry} from '../../../worker/runtime/log/execution-log.ts';
import {FailureLines} from '../../../worker/runtime/log/failure-lines.ts';
import {EVERY_ENTRY} from '../../../worker/runtime/log/log-entries.ts';
import {callSpan} from '../../../worker/runtime/log/span.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {FakeServer} from '../cli/fake-server.ts';

const FILES = {
  'shop.ts': `
    import {action, mutation, query} from './_generated/server';
    export const count = query(ctx => ctx.db.query('orders').collect().then(all => all.length));
    export const add = mutation((ctx, {n}) => { console.log('adding', n); return ctx.db.insert('orders', {n}); });
    export const remind = mutation(async (ctx, {left}) => {
      if (left > 0) await ctx.scheduler.runAfter(0, 'shop:remind', {left: left - 1});
    });
    export const pay = action(() => { throw new Error('card refused'); });
    export const checkout = action(async (ctx, {left}) => {
      await ctx.runQuery('shop:count', {});
      await ctx.runMutation('shop:add', {n: 1});
      await ctx.runAction('shop:pay', {}).catch(() => undefined);
      await ctx.scheduler.runAfter(0, 'shop:remind', {left});
    });`,
  'http.ts': `
    import {httpRouter} from 'svc/server';
    import {httpAction} from './_generated/server';
    const http = httpRouter();
    http.route({path: '/order', method: 'POST', handler: httpAction(async (ctx, request) => {
      await ctx.runAction('shop:checkout', await request.json());
      return new Response('ok');
    })});
    export default http;`,
};
const service = await sharedService();

async function read(app: App, query: string): Promise<LogEntry[]> {
  const {text} = await app.admin('GET', `/logs?${query}`);
  const lines = text.split('\n').filter(Boolean);
  return lines.map(line => JSON.parse(line) as LogEntry);
}

const shape = (entries: LogEntry[]) =>
  linesOfTree(callTree(entries)).map(({node: {entry}, depth}) => `${'-'.repeat(depth)}${entry?.path}`);

test('a request of an HTTP action has its nested calls and its jobs in one trace, each under its caller', async () => {
  const app = await App.deploy(service, FILES);
  await app.svc('POST', '/http/order', {left: 1}, {'x-request-id': 'order-1'});
  const trace = await until('both jobs', async () => {
    const found = await read(app, 'trace_id=order-1');
    return found.length === 7 ? found : null;
  });
  expect(shape(trace)).toEqual([
    'POST /order',
    '-shop:checkout',
    '--shop:count',
    '--shop:add',
    '--shop:pay',
    '--shop:remind',
    '---shop:remind',
  ]);
  // Calls have the id of their request, and jobs their own.
  const jobs = trace.filter(({caller}) => caller === 'job').map(({request_id}) => request_id);
  expect(new Set(trace.map(({request_id}) => request_id))).toEqual(new Set(['order-1', ...jobs]));
  expect(jobs[0]).not.toBe('order-1');
  expect((await read(app, 'request_id=order-1')).length).toBe(5);
  expect((await read(app, `request_id=${jobs[1]}`))[0]).toMatchObject({trace_id: 'order-1'});
});

test('the trace of a job that schedules itself ends, and the next one begins with a job', async () => {
  const app = await App.deploy(service, FILES);
  await app.svc('POST', '/mutation', {path: 'shop:remind', args: {left: TRACE_JOBS_MAX + 2}}, {'x-request-id': 'loop'});
  const all = await until('all jobs', async () => {
    const found = await read(app, 'path=shop:remind');
    return found.length === TRACE_JOBS_MAX + 3 ? found : null;
  });
  const first = all.filter(({trace_id}) => trace_id === 'loop');
  expect(first).toHaveLength(TRACE_JOBS_MAX + 1);
  const [next, ...more] = all.filter(({trace_id}) => trace_id !== 'loop');
  expect(next).toMatchObject({trace_id: next!.request_id, parent_call_id: first.at(-1)!.call_id});
  expect(more.map(({trace_id}) => trace_id)).toEqual([next!.request_id]);
});

test('svc logs --request prints the tree, also for the id of one of its jobs', async () => {
  const of = {path: 'a:f', outcome: 'success', duration_ms: 5, error: null, lines: [], trace_id: 'r'} as const;
  const top = {...of, n: 1, at: 10, request_id: 'r', kind: 'action', caller: 'client', call_id: 'p-1'};
  const lines = ["[LOG] 'x'"];
  const job = {...of, n: 2, at: 30, request_id: 'j', kind: 'mutation', caller: 'job', parent_call_id: 'p-1', lines};
  const both = `${JSON.stringify(job)}\n${JSON.stringify({...top, parent_call_id: null})}\n`;
  const server = await FakeServer.start([
    response => void response.end(),
    response => void response.end(`${JSON.stringify(job)}\n`),
    response => void response.end(both),
  ]);
  onTestFinished(() => server.stop());
  const text = await requestText(await server.target('t'), 'j', false, new AbortController().signal);
  expect(text).toBe("+0 ms A(a:f) ok in 5 ms\n  +20 ms job M(a:f) ok in 5 ms\n    [LOG] 'x'\n");
  expect(server.requests.at(-1)).toBe('GET /api/tenants/t/logs?history=1000&follow=false&trace_id=r');
});

test('a silent execution is stored if a call that it made is', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-trace-'));
  onTestFinished(() => rmSync(directory, {recursive: true}));
  const quiet = createLogger({}, {write: () => undefined});
  const log = new ExecutionLog(executionFiles(directory, quiet), new FailureLines(quiet, () => 0));
  const entry: UnnumberedEntry = {
    at: 1,
    request_id: 'r',
    path: 'a:b',
    kind: 'action',
    caller: 'client',
    outcome: 'success',
    duration_ms: 1,
    error: null,
    lines: [],
  };
  const [root, other] = [callSpan('r'), callSpan('r')];
  const middle = callSpan('r', root);
  log.add({...entry, path: 'inner', lines: ['[LOG] 1']}, callSpan('r', middle));
  log.add({...entry, path: 'middle'}, middle);
  log.add({...entry, path: 'other'}, other);
  log.add({...entry, path: 'root'}, root);
  await log.close();
  const stored = readFileSync(join(directory, readdirSync(directory)[0]!), 'utf8')
    .split('\n')
    .filter(Boolean);
  expect(stored.map(line => (JSON.parse(line) as LogEntry).path)).toEqual(['inner', 'middle', 'root']);
  const found = await log.search({...EVERY_ENTRY, traceId: 'r'}, 10);
  expect(found.split('\n').filter(Boolean)).toHaveLength(4);
});
