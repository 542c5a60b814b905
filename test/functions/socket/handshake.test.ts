import {beforeAll, describe, expect, onTestFinished, test} from 'vitest';
import {QUERY_CHANGES_MAX} from '../../../shared/limits.ts';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {upgradeRequest} from '../../harness/raw-socket.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const CHAT = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const list = query({args: {channel: v.string()}, handler: async (ctx, {channel}) =>
    (await ctx.db.query('messages' as never).collect() as any[]).filter(m => m.channel === channel).map(m => m.text)});
  export const send = mutation({args: {channel: v.string(), text: v.string()}, handler: (ctx, message) =>
    ctx.db.insert('messages' as never, message as never)});`;

const service = await sharedService();
let app: App;
beforeAll(async () => {
  app = await App.deploy(service, {'chat.ts': CHAT});
});

async function open(): Promise<FunctionSocket> {
  const socket = await FunctionSocket.open(service, app.tenant);
  onTestFinished(() => socket.close());
  return socket;
}

async function established(): Promise<FunctionSocket> {
  const socket = await open();
  socket.hello();
  return socket;
}

async function upgrade(headers: Record<string, string | undefined>, path: string): Promise<string> {
  const all = {'sec-websocket-protocol': 'svc.functions.v1', authorization: undefined, ...headers};
  return await service.raw(upgradeRequest(service, all, path), received => received.includes('\r\n\r\n'));
}

describe('the upgrade', () => {
  test('needs no credential, and takes a page of any origin', async () => {
    const answer = await upgrade({origin: 'https://app.example'}, `/svc/${app.tenant}/ws`);
    expect(answer).toMatch(/^HTTP\/1\.1 101 /);
    expect(answer.toLowerCase()).toContain('sec-websocket-protocol: svc.functions.v1');
  });

  test.each([
    ['another subprotocol', {'sec-websocket-protocol': 'svc.v2'}, '', 400, 'protocol.no_overlap'],
    ['no subprotocol', {'sec-websocket-protocol': undefined}, '', 400, 'protocol.no_overlap'],
    ['a tenant that is not there', {}, '-not', 404, 'session.tenant_not_found'],
  ])('with %s is refused', async (_, headers, suffix, status, code) => {
    const answer = await upgrade(headers, `/svc/${app.tenant}${suffix}/ws`);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(code);
  });

  test('is what the path is for', async () => {
    const reply = await app.svc('GET', '/ws');
    expect(reply.status).toBe(400);
    expect(reply.text).toContain('svc.functions.v1');
  });
});

describe('the handshake', () => {
  test('begins with hello, which names the timeline of the moments', async () => {
    const hello = await (await open()).helloOfServer();
    expect(hello).toMatchObject({
      protocol: 'svc.functions.v1',
      session: {timeline: expect.stringMatching(/^[0-9a-f]{32}$/)},
    });
    expect(hello.session.serverNow).toBeGreaterThan(1.6e12);
  });

  test('need not be waited for: everything may be sent in one go', async () => {
    const socket = await FunctionSocket.established(service, app.tenant);
    onTestFinished(() => socket.close());
    const query = await socket.query('chat:list', {channel: 'one go'});
    expect(socket.value(query)).toEqual([]);
    expect(socket.version).toMatchObject({query_set: 1, identity: 0});
  });

  test.each<[string, string | Uint8Array, string]>([
    ['text that is no JSON', 'hello', 'protocol.invalid_json'],
    ['bytes', new Uint8Array([1, 2]), 'protocol.unsupported_binary'],
    ['an array', '[]', 'protocol.unsupported_message_type'],
    ['a type that there is not', '{"type":"subscribe"}', 'protocol.unsupported_message_type'],
    [
      'another message',
      '{"type":"query_set","base_version":0,"new_version":1,"changes":[]}',
      'protocol.unsupported_message_type',
    ],
    [
      'a mutation',
      '{"type":"mutation","request_id":1,"path":"a:b","args":{},"settled_below":0}',
      'protocol.unsupported_message_type',
    ],
    [
      'a client id that can be guessed',
      '{"type":"client_hello","protocol":"svc.functions.v1","client_id":"me","connection_count":0}',
      'protocol.invalid_json',
    ],
    [
      'another protocol',
      '{"type":"client_hello","protocol":"svc.functions.v0","client_id":"0123456789abcdef","connection_count":0}',
      'protocol.unsupported_version',
    ],
  ])('refuses %s', async (_, first, code) => {
    const socket = await open();
    if (typeof first === 'string') socket.send(first);
    else socket.sendBytes(first);
    const {error} = await socket.message('fatal_error');
    expect(error.code).toBe(code);
    expect(await socket.closed).toEqual({code: 1008, reason: code});
  });

  test('takes unknown fields and ignores them', async () => {
    const socket = await open();
    socket.hello({more: {than: 'this'}});
    await socket.query('chat:list', {channel: 'more'});
  });
});

describe('a message that breaks a rule of the protocol ends the socket', () => {
  const add = (id: number) => ({type: 'add', query_id: id, path: 'chat:list', args: {channel: 'x'}});
  const set = (base: number, to: number, ...changes: object[]) => ({
    type: 'query_set',
    base_version: base,
    new_version: to,
    changes,
  });
  const mutation = (id: number, settled = 0) => ({
    type: 'mutation',
    request_id: id,
    path: 'chat:send',
    args: {channel: 'y', text: 'y'},
    settled_below: settled,
  });

  test.each<[string, object[]]>([
    ['a query set that begins elsewhere', [set(1, 2)]],
    ['a query set that leads nowhere', [set(0, 0)]],
    ['a query that is there', [set(0, 1, add(1)), set(1, 2, add(1))]],
    ['the removal of one that is not', [set(0, 1, {type: 'remove', query_id: 7})]],
    ['an identity that begins elsewhere', [{type: 'clear_auth', base_version: 3, new_version: 4}]],
    ['a mutation with a number of one before', [mutation(2), mutation(2)]],
    ['a mutation that is settled', [mutation(2, 3)]],
    [
      'a second hello',
      [{type: 'client_hello', protocol: 'svc.functions.v1', client_id: '0123456789abcdef', connection_count: 1}],
    ],
  ])('%s', async (_, messages) => {
    const socket = await established();
    for (const message of messages) socket.send(message);
    const {error} = await socket.message('fatal_error');
    expect(error.code).toMatch(/^protocol\.(out_of_step|unsupported_message_type)$/);
    expect(await socket.closed).toEqual({code: 1008, reason: error.code});
  });

  test.each<[string, object]>([
    ['mutation.request_id', {...mutation(1), request_id: 1e300}],
    ['mutation.request_id', {...mutation(1), request_id: 2 ** 53}],
    ['mutation.request_id', {...mutation(1), request_id: -1}],
    ['mutation.settled_below', {...mutation(1), settled_below: 1e300}],
    ['action.request_id', {type: 'action', request_id: 1e300, path: 'a:b', args: {}}],
    ['query_set.new_version', set(0, 1e300)],
    ['query_set.changes', set(0, 1, add(1e300))],
    [
      'query_set.changes',
      set(
        0,
        1,
        ...Array.from({length: QUERY_CHANGES_MAX + 1}, (_, i) =>
          i % 2 === 0 ? add(1) : {type: 'remove', query_id: 1},
        ),
      ),
    ],
    ['clear_auth.new_version', {type: 'clear_auth', base_version: 0, new_version: 1e300}],
  ])('%s out of its range, and the worker goes on', async (place, message) => {
    const watching = await established();
    await watching.query('chat:list', {channel: 'x'});
    const socket = await established();
    socket.send(message);
    const {error} = await socket.message('fatal_error');
    expect(error).toMatchObject({code: 'protocol.invalid_json', message: expect.stringContaining(place)});
    expect(await socket.closed).toEqual({code: 1008, reason: 'protocol.invalid_json'});
    await watching.mutation('chat:send', {channel: 'x', text: place});
  });

  test('and a client that sends more than 8 MiB gets an error that says so', async () => {
    const socket = await established();
    socket.send(`{"type":"action","request_id":1,"path":"chat:none","args":{"text":"${'x'.repeat(8 * 1024 * 1024)}"}}`);
    expect((await socket.message('fatal_error')).error.code).toBe('op.too_large');
    expect(await socket.closed).toEqual({code: 1008, reason: 'op.too_large'});
  });
});
