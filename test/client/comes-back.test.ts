/** Node's own WebSocket against a server that is not there yet, is killed, or never answers: the client comes back by itself. */
import {once} from 'node:events';
import {type AddressInfo, createServer} from 'node:net';
import {expect, onTestFinished, test, vi} from 'vitest';
import {SvcClient} from '../../sdk/browser/client.ts';
import {makeFunctionReference} from '../../sdk/server/function-reference.ts';
import {App} from '../functions/app.ts';
import {freePort} from '../harness/free-port.ts';
import {nightly} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

const NOTES = `
import {mutation, query} from './_generated/server';
export const list = query(async ctx => (await ctx.db.query('notes').collect()).map(({text}) => text));
export const add = mutation(async (ctx, {text}) => { await ctx.db.insert('notes', {text}); });
`;
const list = makeFunctionReference<'query', Record<string, never>, string[]>('notes:list');
const add = makeFunctionReference<'mutation', {text: string}, null>('notes:add');

nightly.test('a client that was there before its server, and whose server is killed', async () => {
  const service = await Service.start();
  onTestFinished(() => service.stop());
  const app = await App.deploy(service, {'notes.ts': NOTES});
  const port = await freePort();
  await service.end('SIGTERM');
  const client = new SvcClient(`http://127.0.0.1:${port}/svc/${app.tenant}`, {logger: false});
  onTestFinished(() => client.close());
  let shown: string[] = [];
  client.onUpdate(list, {}, value => (shown = value));
  await until('a second attempt', () => client.connectionState().connectionRetries >= 2);
  expect(client.connectionState()).toMatchObject({hasEverConnected: false, connectionCount: 0});
  await service.run(['--port', String(port)]);
  await client.mutation(add, {text: 'first'});
  expect(shown).toEqual(['first']);
  await service.killAll();
  const second = client.mutation(add, {text: 'second'});
  await until('a failed attempt to come back', () => client.connectionState().connectionRetries >= 2);
  await service.run(['--port', String(port)]);
  await second;
  expect(shown).toEqual(['first', 'second']);
});

test('a server that accepts and never answers: `online` begins another attempt', async () => {
  const page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  onTestFinished(() => void vi.unstubAllGlobals());
  let accepted = 0;
  const mute = createServer(socket => {
    accepted++;
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void mute.close());
  await once(mute, 'listening');
  const client = new SvcClient(`http://127.0.0.1:${(mute.address() as AddressInfo).port}/svc/a`, {logger: false});
  onTestFinished(() => client.close());
  client.onUpdate(list, {}, () => {});
  await until('the first attempt', () => accepted >= 1);
  const before = accepted;
  page.dispatchEvent(new Event('online'));
  await until('another attempt', () => accepted > before);
});
