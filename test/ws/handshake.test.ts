import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {nightly} from '../harness/nightly.ts';
import {closeReason, Opcode, RawSocket, upgradeRequest} from '../harness/raw-socket.ts';
import type {Service} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Socket} from '../harness/socket.ts';

type Headers = Record<string, string | undefined>;

const service = await sharedService();
let tenant: string;
beforeAll(async () => {
  tenant = await service.tenant();
});
beforeEach(() => service.showLogOnFailure());

/** What the server answers to an upgrade request, before any frame. */
async function upgrade(headers: Headers, path = '/ws') {
  const isWhole = (text: string) => {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const length = /^content-length: (\d+)/im.exec(text)?.[1] ?? '0';
    return text.length >= end + 4 + Number(length);
  };
  const received = await service.raw(upgradeRequest(service, headers, path), isWhole);
  const [head = '', body = ''] = received.split('\r\n\r\n');
  const status = Number(head.split(' ')[1]);
  return {status, head: head.toLowerCase(), error: status === 101 ? null : JSON.parse(body).error};
}

describe('GET /ws is checked before the upgrade, in this order; the first broken rule answers as an HTTP envelope', () => {
  // Each row leaves broken all that is checked after it.
  const noTenant = {};
  const noProtocol = {...noTenant, 'sec-websocket-protocol': undefined};
  const noCredential = {...noProtocol, authorization: undefined};
  test.each<[string, Headers, number, string]>([
    ['a foreign Origin', {...noCredential, origin: 'http://evil.example'}, 403, 'auth.origin_forbidden'],
    [
      'a loopback Origin of another port',
      {...noCredential, origin: 'http://localhost:1'},
      403,
      'auth.origin_forbidden',
    ],
    ['a foreign Host', {...noCredential, host: 'evil.example'}, 403, 'auth.origin_forbidden'],
    ['no credential', noCredential, 401, 'auth.unauthorized'],
    ['a wrong access token', {...noProtocol, authorization: 'Bearer x'}, 401, 'auth.unauthorized'],
    ['a wrong admin token', {...noCredential, 'x-svc-admin-token': 'x'}, 401, 'auth.unauthorized'],
    ['no subprotocol', noProtocol, 400, 'protocol.no_overlap'],
    ['another subprotocol', {'sec-websocket-protocol': 'svc.v1'}, 400, 'protocol.no_overlap'],
    ['no tenant', noTenant, 400, 'op.invalid_input'],
    ['an empty tenant', {'x-tenant-id': ''}, 400, 'op.invalid_input'],
    ['a tenant that does not exist', {'x-tenant-id': 'nobody'}, 404, 'session.tenant_not_found'],
    ['an id that no tenant can have', {'x-tenant-id': '../../etc'}, 404, 'session.tenant_not_found'],
  ])('%s', async (_, headers, status, code) => {
    const reply = await upgrade(headers);
    expect(reply).toMatchObject({status, error: {code, message: expect.stringMatching(/./)}});
    expect(reply.head).toMatch(/content-type: application\/json/);
    expect(reply.head).toMatch(/x-request-id: \S/);
  });

  test.each([
    [undefined, []],
    ['svc.v1', ['svc.v1']],
    ['svc.v1, graphql-ws,svc.v22', ['svc.v1', 'graphql-ws', 'svc.v22']],
    ['SVC.V2', ['SVC.V2']],
  ])(
    'protocol.no_overlap for an offer of %j says what is supported and what was offered',
    async (offer, clientOffered) => {
      const {error} = await upgrade({'sec-websocket-protocol': offer, 'x-tenant-id': tenant});
      expect(error).toMatchObject({code: 'protocol.no_overlap', detail: {serverSupports: ['svc.v2'], clientOffered}});
    },
  );

  test.each<[string, (of: {tenant: string; service: Service}) => Headers]>([
    ['the access token', ({tenant: id}) => ({'x-tenant-id': id})],
    [
      'the admin token',
      ({tenant: id, service: of}) => ({
        'x-tenant-id': id,
        authorization: undefined,
        'x-svc-admin-token': of.adminToken,
      }),
    ],
    ['a loopback Origin', ({tenant: id, service: of}) => ({'x-tenant-id': id, origin: `http://localhost:${of.port}`})],
    [
      'svc.v2 in a second line of offers',
      ({tenant: id}) => ({
        'x-tenant-id': id,
        'sec-websocket-protocol': 'graphql-ws',
        'Sec-WebSocket-Protocol': 'svc.v2',
      }),
    ],
    ['svc.v2 among others', ({tenant: id}) => ({'x-tenant-id': id, 'sec-websocket-protocol': 'graphql-ws, svc.v2'})],
  ])('%s is accepted, and svc.v2 is the protocol chosen', async (_, headers) => {
    const reply = await upgrade(headers({tenant, service}));
    expect(reply.status).toBe(101);
    expect(reply.head).toContain('sec-websocket-protocol: svc.v2');
  });

  test('the tenant is given by query parameter too; the header comes first', async () => {
    expect((await upgrade({}, `/ws?tenant_id=${tenant}`)).status).toBe(101);
    expect((await upgrade({}, `/ws?tenant_id=${tenant.replace('t', '%74')}`)).status).toBe(101);
    expect((await upgrade({}, '/ws?tenant_id=nobody')).status).toBe(404);
    expect((await upgrade({'x-tenant-id': 'nobody'}, `/ws?tenant_id=${tenant}`)).status).toBe(404);
    expect((await upgrade({'x-tenant-id': tenant}, '/ws?tenant_id=nobody')).status).toBe(101);
  });

  test('a refused upgrade repeats the X-Request-Id it came with', async () => {
    expect((await upgrade({'x-request-id': 'mine-1'})).head).toContain('x-request-id: mine-1');
  });

  test('a plain GET /ws is answered with an envelope, not upgraded', async () => {
    const {status, body} = await service.get('/ws', {'x-tenant-id': tenant});
    expect({status, body}).toMatchObject({status: 400, body: {error: {code: 'op.invalid_input'}}});
  });
});

describe('after the upgrade', () => {
  test('hello comes at once, while the tenant still sleeps', async () => {
    const before = Date.now();
    const socket = await RawSocket.open(service, await service.tenant());
    const hello = await socket.nextMessage();
    expect(hello).toEqual({
      type: 'hello',
      protocol: 'svc.v2',
      server: {version: expect.stringMatching(/^\d+\.\d+\.\d+/), build: expect.stringMatching(/./)},
      features: expect.arrayContaining(['queries.v1', 'subscriptions.v1']),
      session: {id: expect.stringMatching(/./), serverNow: expect.any(Number)},
    });
    const {serverNow} = (hello as unknown as {session: {serverNow: number}}).session;
    expect(serverNow).toBeGreaterThanOrEqual(before);
    expect(serverNow).toBeLessThanOrEqual(Date.now());
    socket.close();
  });

  test('every connection has a session id of its own', async () => {
    const sockets = [await RawSocket.open(service, tenant), await RawSocket.open(service, tenant)];
    const hellos = await Promise.all(sockets.map(socket => socket.nextMessage()));
    const ids = hellos.map(hello => (hello as unknown as {session: {id: string}}).session.id);
    expect(new Set(ids).size).toBe(2);
    for (const socket of sockets) socket.close();
  });

  test('client_hello establishes the connection; its unknown fields are ignored, and pings are answered before and after', async () => {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.frame(Opcode.ping, 'early');
    expect(await socket.next()).toEqual({opcode: Opcode.pong, payload: Buffer.from('early')});
    socket.send({type: 'client_hello', protocol: 'svc.v2', name: 'test'});
    socket.frame(Opcode.ping, 'late');
    expect(await socket.next()).toEqual({opcode: Opcode.pong, payload: Buffer.from('late')});
    socket.send({type: 'clear_auth'});
    expect(await socket.nextMessage()).toEqual({type: 'authenticated', is_authenticated: false});
    socket.close();
  });

  test('client_hello may come in fragments', async () => {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.frame(Opcode.text, '{"type":"client_hello",', false);
    socket.frame(Opcode.continuation, '"protocol":"svc.v2"}');
    socket.send({type: 'clear_auth'});
    expect(await socket.nextMessage()).toMatchObject({type: 'authenticated'});
    socket.close();
  });
});

describe('a handshake violation gets fatal_error, then close 1008 with the code as reason', () => {
  const otherType = {expectedType: 'client_hello'};
  test.each<[string, string, object | undefined]>([
    ['not json', 'protocol.invalid_json', undefined],
    ['', 'protocol.invalid_json', undefined],
    ['{"type":"client_hello","protocol":"svc.v2"', 'protocol.invalid_json', undefined],
    ['{"type":"subscribe"}', 'protocol.unsupported_message_type', {...otherType, receivedType: 'subscribe'}],
    ['{"type":7}', 'protocol.unsupported_message_type', {...otherType, receivedType: 7}],
    ['{}', 'protocol.unsupported_message_type', {...otherType, receivedType: null}],
    ['[]', 'protocol.unsupported_message_type', {...otherType, receivedType: null}],
    ['null', 'protocol.unsupported_message_type', {...otherType, receivedType: null}],
    ['"client_hello"', 'protocol.unsupported_message_type', {...otherType, receivedType: null}],
    ['{"type":"client_hello","protocol":"svc.v1"}', 'protocol.unsupported_version', {receivedProtocol: 'svc.v1'}],
    ['{"type":"client_hello"}', 'protocol.unsupported_version', {receivedProtocol: null}],
    ['{"type":"client_hello","protocol":["svc.v2"]}', 'protocol.unsupported_version', {receivedProtocol: null}],
  ])('%s → %s', async (frame, code, detail) => {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.frame(Opcode.text, frame);
    const {error, ...rest} = await socket.nextMessage();
    expect(rest).toEqual({type: 'fatal_error'});
    expect(error).toEqual({code, message: expect.stringMatching(/./), ...(detail === undefined ? {} : {detail})});
    expect(closeReason(await socket.next())).toEqual({code: 1008, reason: code});
    await socket.closed;
  });

  test.each([
    ['a binary frame', '{"type":"client_hello","protocol":"svc.v2"}'],
    ['an empty binary frame', ''],
  ])('%s → protocol.unsupported_binary', async (_, payload) => {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.frame(Opcode.binary, payload);
    expect(await socket.nextMessage()).toMatchObject({
      type: 'fatal_error',
      error: {code: 'protocol.unsupported_binary'},
    });
    expect(closeReason(await socket.next())).toEqual({code: 1008, reason: 'protocol.unsupported_binary'});
    await socket.closed;
  });

  nightly.test('no client_hello within 10 seconds → protocol.hello_timeout; pings do not count as one', async () => {
    const sockets = await Promise.all([RawSocket.open(service, tenant), RawSocket.open(service, tenant)]);
    const established = await Socket.established(service, tenant);
    sockets[1]!.frame(Opcode.ping, '');
    expect((await sockets[1]!.next()).opcode).toBe(Opcode.text);
    expect((await sockets[1]!.next()).opcode).toBe(Opcode.pong);
    await sockets[0]!.next();
    for (const socket of sockets) {
      const {type, error} = await socket.nextMessage();
      expect({type, error}).toMatchObject({
        type: 'fatal_error',
        error: {code: 'protocol.hello_timeout', detail: {timeoutMs: 10_000}},
      });
      expect(closeReason(await socket.next())).toEqual({code: 1008, reason: 'protocol.hello_timeout'});
      await socket.closed;
    }
    established.send({type: 'clear_auth'});
    expect(await established.next()).toMatchObject({type: 'authenticated'});
    established.close();
  });

  test('what follows a violation in the same packet is not looked at', async () => {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.burst([{type: 'nonsense'}, {type: 'client_hello', protocol: 'svc.v2'}, {type: 'clear_auth'}]);
    expect(await socket.nextMessage()).toMatchObject({type: 'fatal_error'});
    expect((await socket.next()).opcode).toBe(Opcode.close);
    await socket.closed;
  });
});
