/** Clients whose service is behind a stock nginx or Caddy, each set up as docs/operating.md says. */
import {describe, expect, onTestFinished, test} from 'vitest';
import {FUNCTION_SOCKET_PING_MS, FUNCTION_SOCKET_POLL_MS} from '../../router/limits.ts';
import {SvcClient} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {App} from '../functions/app.ts';
import {firstOf} from '../harness/nightly.ts';
import {type ProxyKind, ReverseProxy} from '../harness/reverse-proxy.ts';
import {sharedService} from '../harness/shared-service.ts';

const NOTES = `
  import {mutation, query} from './_generated/server';
  export const list = query(async ctx => (await ctx.db.query('notes').collect()).map(note => note.text));
  export const add = mutation((ctx, {text}) => ctx.db.insert('notes', {text}));`;
const list = makeFunctionReference<'query', Record<string, never>, string[]>('notes:list');
const add = makeFunctionReference<'mutation', {text: string}, string>('notes:add');

/** An nginx without a setting waits so long for what it passes on. Caddy waits for ever. */
const NGINX_READ_TIMEOUT_MS = 60_000;

const service = await sharedService();

const SILENT = {log() {}, warn() {}, error() {}};

/** A page that shows the list. `shows` resolves once it is this. */
function page(address: string): {client: SvcClient; shows: (texts: readonly string[]) => Promise<void>} {
  const client = new SvcClient(address, {logger: SILENT});
  onTestFinished(() => client.close());
  let shown = '';
  const waiting = new Map<string, (() => void)[]>();
  client.onUpdate(list, {}, texts => {
    shown = JSON.stringify(texts);
    for (const resolve of waiting.get(shown) ?? []) resolve();
    waiting.delete(shown);
  });
  const shows = (texts: readonly string[]) =>
    new Promise<void>(resolve => {
      const wanted = JSON.stringify(texts);
      if (shown === wanted) resolve();
      else waiting.set(wanted, [...(waiting.get(wanted) ?? []), resolve]);
    });
  return {client, shows};
}

describe.each(firstOf<ProxyKind>(1, ['nginx', 'caddy']))('through %s', kind => {
  test('queries are live, mutations run, and both go on after the worker was killed', async () => {
    service.showLogOnFailure();
    const app = await App.deploy(service, {'notes.ts': NOTES});
    const proxy = await ReverseProxy.start(kind, service.port);
    onTestFinished(() => proxy.stop());
    const {client, shows} = page(`${proxy.url}/svc/${app.tenant}`);
    await shows([]);
    await client.mutation(add, {text: 'one'});
    await shows(['one']);
    await app.mutation('notes:add', {text: 'two'});
    await shows(['one', 'two']);
    process.kill(await service.workerOf(app.tenant), 'SIGKILL');
    await client.mutation(add, {text: 'three'});
    await shows(['one', 'two', 'three']);
    await app.mutation('notes:add', {text: 'four'});
    await shows(['one', 'two', 'three', 'four']);
  });
});

test('an idle socket is pinged before an nginx without a setting gives it up, even if one ping is late', () => {
  expect(2 * (FUNCTION_SOCKET_PING_MS + FUNCTION_SOCKET_POLL_MS)).toBeLessThan(NGINX_READ_TIMEOUT_MS);
});
