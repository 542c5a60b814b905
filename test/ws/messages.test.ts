import {randomUUID} from 'node:crypto';
import {beforeEach, describe, expect, test} from 'vitest';
import {nightly} from '../harness/nightly.ts';
import {closeReason, Opcode, RawSocket} from '../harness/raw-socket.ts';
import {sharedService} from '../harness/shared-service.ts';
import {type Frame, Socket} from '../harness/socket.ts';

const service = await sharedService();
let tenant: string;
/** The test before wrote nothing, so this one can have its tenant: a new one starts a worker. */
let isUnused = false;
beforeEach(async () => {
  service.showLogOnFailure();
  if (!isUnused) tenant = await service.tenant();
  isUnused = false;
});

const all = {table: 't', filters: []};
const AUTHENTICATED = {type: 'authenticated', is_authenticated: false};

/** Everything that came before the answer to a clear_auth sent now. */
async function drained(socket: RawSocket | Socket): Promise<Frame[]> {
  socket.send({type: 'clear_auth'});
  const frames: Frame[] = [];
  for (;;) {
    const frame = await (socket instanceof Socket ? socket.next() : socket.nextMessage());
    if (frame.type === 'authenticated') return frames;
    frames.push(frame);
  }
}

async function insert(fields: object, table = 't'): Promise<string> {
  const {status, body, text} = await service.post(`/api/tenants/${tenant}/documents`, {table, fields});
  if (status !== 201) throw new Error(text);
  return (body as {id: string}).id;
}

async function subscribed(socket: Socket, query: object = all): Promise<Frame> {
  const requestId = randomUUID();
  socket.send({type: 'subscribe', request_id: requestId, query});
  const frame = await socket.next();
  expect(frame).toMatchObject({type: 'subscription_result', request_id: requestId});
  return frame;
}

describe('client messages', () => {
  test('subscribe: the first result is complete and echoes request_id, whatever string it is', async () => {
    const id = await insert({n: 1});
    const socket = await Socket.established(service, tenant);
    for (const requestId of ['r1', '', 'r1', 'ü"\\\u0000😀', 'x'.repeat(1000)]) {
      socket.send({type: 'subscribe', request_id: requestId, query: all});
      const frame = await socket.next();
      expect(Object.keys(frame).sort()).toEqual(['data', 'request_id', 'subscription_id', 'type']);
      expect(frame).toMatchObject({type: 'subscription_result', request_id: requestId, data: [{_id: id, n: 1}]});
      expect(Number.isSafeInteger(frame.subscription_id)).toBe(true);
    }
    socket.close();
  });

  test('subscribe: documents are those of POST /query, system fields included', async () => {
    for (let n = 0; n < 5; n++) await insert({n, even: n % 2 === 0});
    const query = {
      table: 't',
      filters: [{field: 'even', op: 'eq', value: true}],
      order: {field: 'n', direction: 'desc'},
      limit: 2,
    };
    const socket = await Socket.established(service, tenant);
    const {body} = await service.post(`/api/tenants/${tenant}/query`, query);
    expect((await subscribed(socket, query)).data).toEqual((body as {data: unknown[]}).data);
    socket.close();
  });

  test('subscribe: a table that was never written is an empty result, and its first document is seen', async () => {
    const socket = await Socket.established(service, tenant);
    expect((await subscribed(socket, {table: 'later', filters: []})).data).toEqual([]);
    await insert({n: 1}, 'later');
    expect(await socket.next()).toMatchObject({type: 'subscription_result', data: [{n: 1}]});
    socket.close();
  });

  test('subscribe: unknown fields of the frame are ignored, those of the query refused by name', async () => {
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'q', query: {...all, colour: 'red'}});
    expect(await socket.next()).toMatchObject({
      type: 'op.error',
      id: 'q',
      error: {detail: {code: 'op.invalid_input'}, message: expect.stringContaining('query.colour')},
    });
    socket.send({type: 'subscribe', request_id: 'r', query: all, mood: 1});
    expect(await socket.next()).toMatchObject({type: 'subscription_result', request_id: 'r'});
    socket.close();
  });

  test('each kind of write that changes the result brings a new complete one', async () => {
    const socket = await Socket.established(service, tenant);
    await subscribed(socket);
    const id = await insert({n: 1});
    expect((await socket.next()).data).toMatchObject([{_id: id, n: 1}]);
    await service.request('PATCH', `/api/tenants/${tenant}/documents/t/${id}`, {patch: {n: 2}});
    expect((await socket.next()).data).toMatchObject([{_id: id, n: 2}]);
    const mutation = {type: 'insert', table: 't', fields: {n: 3}};
    await service.post(`/api/tenants/${tenant}/schedule`, {run_after_ms: 0, mutation});
    expect((await socket.next()).data).toMatchObject([{n: 2}, {n: 3}]);
    await service.request('DELETE', `/api/tenants/${tenant}/documents/t/${id}`);
    expect((await socket.next()).data).toMatchObject([{n: 3}]);
    socket.close();
  });

  test('no frame is sent when the result is equal', async () => {
    await insert({n: 1, hidden: 0});
    const socket = await Socket.established(service, tenant);
    await subscribed(socket, {...all, filters: [{field: 'n', op: 'lt', value: 5}], limit: 1});
    await insert({n: 9}); // does not match
    await insert({n: 2}); // behind the window
    await insert({n: 1}, 'other'); // another table
    const gone = await insert({n: 3});
    await service.request('DELETE', `/api/tenants/${tenant}/documents/t/${gone}`);
    expect(await drained(socket)).toEqual([]);
    socket.close();
  });

  test('unsubscribe ends the subscription, without an answer; the other ones go on', async () => {
    const socket = await Socket.established(service, tenant);
    const first = await subscribed(socket);
    const second = await subscribed(socket, {...all, limit: 5});
    socket.send({type: 'unsubscribe', subscription_id: first.subscription_id});
    expect(await drained(socket)).toEqual([]);
    await insert({n: 1});
    expect((await drained(socket)).map(frame => frame.subscription_id)).toEqual([second.subscription_id]);
    socket.close();
  });

  test('a query can be subscribed to again after unsubscribe, and its first result is complete', async () => {
    const socket = await Socket.established(service, tenant);
    for (let n = 1; n <= 3; n++) {
      const {subscription_id, data} = await subscribed(socket);
      expect(data).toHaveLength(n - 1);
      socket.send({type: 'unsubscribe', subscription_id});
      expect(await drained(socket)).toEqual([]);
      await insert({n});
    }
    socket.close();
  });

  test('clear_auth is answered with authenticated, is_authenticated false; subscriptions stay', async () => {
    const socket = await Socket.established(service, tenant);
    await subscribed(socket);
    socket.send({type: 'clear_auth'});
    expect(await socket.next()).toEqual(AUTHENTICATED);
    await insert({n: 1});
    expect(await socket.next()).toMatchObject({type: 'subscription_result', data: [{n: 1}]});
    socket.close();
  });

  test.each([{type: 'authenticate'}, {type: 'authenticate', token: 'x', tokenType: 'Admin'}])(
    '%j → error auth.unauthorized that says so; the connection stays open',
    async message => {
      const socket = await Socket.established(service, tenant);
      socket.send(message);
      const {type, error} = await socket.next();
      expect({type, code: error!.code}).toEqual({type: 'error', code: 'auth.unauthorized'});
      expect(error!.message).toContain('not supported on the generic websocket route');
      expect(await drained(socket)).toEqual([]);
      socket.close();
    },
  );
});

describe('errors after the handshake leave the connection open', () => {
  const subscribe = {type: 'subscribe', request_id: 'r', query: all};
  test.each([
    'not json',
    '',
    '{"type":"clear_auth"',
    '[]',
    'null',
    '"clear_auth"',
    '{}',
    '{"type":"nonsense"}',
    '{"type":"client_hello","protocol":"svc.v2"}',
    JSON.stringify({...subscribe, request_id: 7}),
    JSON.stringify({...subscribe, request_id: undefined}),
    '{"type":"unsubscribe"}',
    '{"type":"unsubscribe","subscription_id":"1"}',
    '['.repeat(100),
  ])('protocol.invalid_json, an error frame: %s', async text => {
    const socket = await RawSocket.established(service, tenant);
    socket.frame(Opcode.text, text);
    const frame = await socket.nextMessage();
    expect(frame).toEqual({type: 'error', error: {code: 'protocol.invalid_json', message: expect.stringMatching(/./)}});
    expect(await drained(socket)).toEqual([]);
    socket.close();
    isUnused = true;
  });

  test('text that is not UTF-8 is no text frame: the connection is closed, as RFC 6455 asks', async () => {
    const socket = await RawSocket.established(service, tenant);
    socket.frame(Opcode.text, Buffer.from([0x22, 0xff, 0x22]));
    await socket.closed;
  });

  test('binary frames are ignored', async () => {
    const socket = await RawSocket.established(service, tenant);
    socket.frame(Opcode.binary, '{"type":"clear_auth"}');
    socket.frame(Opcode.binary, '');
    socket.frame(Opcode.binary, Buffer.from([0xff]));
    expect(await drained(socket)).toEqual([]);
    socket.close();
  });

  test.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['a string', 'all'],
    ['an array', []],
    ['no table', {filters: []}],
    ['no filters', {table: 't'}],
    ['a table name that cannot be', {...all, table: 'a b'}],
    ['an unknown operator', {...all, filters: [{field: 'n', op: 'like', value: 1}]}],
    ['a filter without op', {...all, filters: [{field: 'n', value: 1}]}],
    ['limit 0', {...all, limit: 0}],
    ['limit 1.5', {...all, limit: 1.5}],
    ['an unknown direction', {...all, order: {field: 'n', direction: 'up'}}],
    ['a value no document can have', {...all, filters: [{field: 'n', op: 'eq', value: {$a: 1}}]}],
  ])('op.failed, an op.error frame with the request_id and the code in its detail: query is %s', async (_, query) => {
    const socket = await Socket.established(service, tenant);
    socket.send({type: 'subscribe', request_id: 'mine', query});
    const frame = await socket.next();
    expect(frame).toMatchObject({type: 'op.error', id: 'mine', error: {code: 'op.failed'}});
    expect(frame.error!.detail).toMatchObject({code: 'op.invalid_input'});
    expect(await drained(socket)).toEqual([]);
    socket.close();
    isUnused = true;
  });

  test('op.failed: a number beyond the range of a double is no other number', async () => {
    const socket = await Socket.established(service, tenant);
    const filter = '{"field":"n","op":"eq","value":1e999}';
    socket.send(`{"type":"subscribe","request_id":"mine","query":{"table":"t","filters":[${filter}]}}`);
    const frame = await socket.next();
    expect(frame).toMatchObject({type: 'op.error', id: 'mine', error: {detail: {code: 'op.invalid_input'}}});
    socket.close();
  });

  test('a failed registration leaves no subscription, and the same request_id may be used again', async () => {
    const socket = await Socket.established(service, tenant);
    socket.send({...subscribe, query: {table: 't'}});
    expect(await socket.next()).toMatchObject({type: 'op.error', id: 'r'});
    socket.send(subscribe);
    expect(await socket.next()).toMatchObject({type: 'subscription_result', request_id: 'r'});
    await insert({n: 1});
    expect(await drained(socket)).toHaveLength(1);
    socket.close();
  });

  test.each([0, -1, 1.5, 1e300])(
    'session.unsubscribe_failed, an error frame: there is no subscription %d',
    async id => {
      const socket = await Socket.established(service, tenant);
      socket.send({type: 'unsubscribe', subscription_id: id});
      expect(await socket.next()).toMatchObject({type: 'error', error: {code: 'session.unsubscribe_failed'}});
      expect(await drained(socket)).toEqual([]);
      socket.close();
      isUnused = true;
    },
  );

  test("session.unsubscribe_failed for a subscription that has ended, and for another connection's", async () => {
    const [socket, other] = [await Socket.established(service, tenant), await Socket.established(service, tenant)];
    const {subscription_id} = await subscribed(socket);
    const foreign = await subscribed(other, {...all, limit: 3});
    socket.send({type: 'unsubscribe', subscription_id});
    for (const id of [subscription_id, foreign.subscription_id]) {
      socket.send({type: 'unsubscribe', subscription_id: id});
      expect(await socket.next()).toMatchObject({type: 'error', error: {code: 'session.unsubscribe_failed'}});
    }
    await insert({n: 1});
    expect(await other.next()).toMatchObject({subscription_id: foreign.subscription_id, data: [{n: 1}]});
    socket.close();
    other.close();
  });

  nightly.test(
    'session.subscription_error, an error frame: a live result that outgrows 16 MiB ends, and only it',
    async () => {
      const text = '€'.repeat(349_000); // 1 MiB of UTF-8 in a third of the characters
      for (let n = 0; n < 15; n++) await insert({text});
      const socket = await Socket.established(service, tenant);
      const {subscription_id} = await subscribed(socket);
      await subscribed(socket, {...all, table: 'small'});
      for (let n = 0; n < 2; n++) await insert({text});
      const {type, error} = await socket.nextThat(frame => frame.type !== 'subscription_result');
      expect({type, code: error!.code}).toEqual({type: 'error', code: 'session.subscription_error'});
      expect(error!.detail).toMatchObject({code: 'op.too_large', subscription_id});
      socket.send({type: 'unsubscribe', subscription_id});
      expect(await socket.next()).toMatchObject({type: 'error', error: {code: 'session.unsubscribe_failed'}});
      await insert({n: 1}, 'small');
      expect(await socket.next()).toMatchObject({type: 'subscription_result', data: [{n: 1}]});
      for (let n = 0; n < 5; n++) await insert({text});
      socket.send(subscribe);
      expect(await socket.next()).toMatchObject({
        type: 'op.error',
        id: 'r',
        error: {code: 'op.failed', detail: {code: 'op.too_large'}},
      });
      socket.close();
    },
  );
});

describe('the tenant of open connections', () => {
  test('deleted: fatal_error session.tenant_not_found, close 1008, established or not', async () => {
    const established = await RawSocket.established(service, tenant);
    established.send({type: 'subscribe', request_id: 'r', query: all});
    await established.next();
    const greeted = await RawSocket.open(service, tenant);
    await greeted.next();
    expect((await service.request('DELETE', `/api/tenants/${tenant}`)).status).toBe(204);
    for (const socket of [established, greeted]) {
      expect(await socket.nextMessage()).toMatchObject({
        type: 'fatal_error',
        error: {code: 'session.tenant_not_found'},
      });
      expect(closeReason(await socket.next())).toEqual({code: 1008, reason: 'session.tenant_not_found'});
      await socket.closed;
    }
  });

  test("created again under its old id: nothing of the old one's subscriptions is left", async () => {
    const old = await Socket.established(service, tenant);
    await insert({n: 1});
    await subscribed(old);
    await service.request('DELETE', `/api/tenants/${tenant}`);
    await old.closed;
    expect((await service.post('/api/tenants', {id: tenant})).status).toBe(201);
    const socket = await Socket.established(service, tenant);
    expect((await subscribed(socket)).data).toEqual([]);
    socket.close();
  });

  test("another tenant's writes are never seen", async () => {
    const socket = await Socket.established(service, tenant);
    await subscribed(socket);
    const other = await service.tenant();
    await service.post(`/api/tenants/${other}/documents`, {table: 't', fields: {n: 1}});
    expect(await drained(socket)).toEqual([]);
    socket.close();
  });
});
