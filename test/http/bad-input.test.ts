import {beforeEach, describe, expect, test} from 'vitest';
import {Opcode, RawSocket} from '../harness/raw-socket.ts';
import {sharedService} from '../harness/shared-service.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
/** The test before was refused everything, so this one can have its tenant: a new one starts a worker. */
let isUnused = false;
beforeEach(async () => {
  service.showLogOnFailure();
  if (!isUnused) tenant = await Tenant.make(service);
  isUnused = false;
});

const insert = {type: 'insert', table: 't', fields: {}};
const hourly = {name: 'hourly', schedule: {type: 'interval', seconds: 3600}, mutation: insert};

describe('a 400 of op.invalid_input says what would be right', () => {
  test.each<[method: string, path: string, body: object, message: string]>([
    [
      ...(['POST', '/query'] as const),
      {table: 't', filters: [{field: 'x', op: 'like', value: [1]}]},
      'filters.0.op must be one of "eq", "neq", "gt", "gte", "lt", "lte", "in", "not_in", "prefix", "contains", "exists"',
    ],
    [
      ...(['POST', '/query'] as const),
      {table: 't', filters: [], orderBy: 'x'},
      'orderBy is not a member that is known here',
    ],
    [
      ...(['POST', '/query'] as const),
      {table: 't', filters: [{or: [{field: 'x', op: 'eq', value: 1}, [{field: 'x', op: 'eq'}]]}]},
      'filters.0.or.1.0 must have required properties value',
    ],
    [
      ...(['POST', '/query/paginated'] as const),
      {query: {table: 't', filters: [], order: [{field: 'x', direction: 'asc', nulls: 'first'}]}, page_size: 1},
      'query.order.0.nulls is not a member that is known here',
    ],
    [
      ...(['POST', '/query/paginated'] as const),
      {query: {table: 't', filters: [], order: {field: 'x', direction: 'up'}}, page_size: 1},
      'query.order.direction must be one of "asc", "desc"',
    ],
    [
      ...(['PUT', '/schema/t'] as const),
      {table: 't', fields: [{name: 'a', field_type: 'int64', required: true}]},
      'fields.0.field_type must be one of "string", "number", "boolean", "array", "object", "any"',
    ],
    [
      ...(['POST', '/schedule'] as const),
      {run_after_ms: 0, mutation: {type: 'upsert'}},
      'mutation.type must be one of "insert", "update", "delete"',
    ],
    [
      ...(['POST', '/crons'] as const),
      {...hourly, schedule: {type: 'daily', seconds: 60}},
      'schedule.type must be one of "interval", "cron"',
    ],
    ['POST', '/crons', {...hourly, schedule: {type: 'interval', seconds: 0}}, 'schedule.seconds must be >= 1'],
    ['POST', '/documents', [], 'the body must be object'],
    ['POST', '/documents', {table: 't'}, 'the body must have required properties fields'],
  ])('%s %s %j: %s', async (method, path, body, message) => {
    const error = expectError(await tenant.request(method, path, body), 400, 'op.invalid_input');
    expect(error.message).toBe(message);
    isUnused = true;
  });

  test('in svc.v2 as well: a query is called query, a first frame the first frame', async () => {
    const socket = await RawSocket.established(service, tenant.id);
    socket.send({type: 'subscribe', request_id: 'a'});
    socket.send({
      type: 'subscribe',
      request_id: 'b',
      query: {table: 't', filters: [{field: 'x', op: 'like', value: 1}]},
    });
    const messages = [(await socket.nextMessage()).error!.message, (await socket.nextMessage()).error!.message];
    expect(messages).toEqual([
      'query must be object',
      'query.filters.0.op must be one of "eq", "neq", "gt", "gte", "lt", "lte", "in", "not_in", "prefix", "contains", "exists"',
    ]);
    socket.close();
    const stranger = await RawSocket.open(service, tenant.id);
    await stranger.next();
    stranger.frame(Opcode.text, 'nonsense');
    expect((await stranger.nextMessage()).error!.message).toMatch(/^the first frame is not JSON: /);
    await stranger.closed;
  });
});

describe('null in the place of an optional member is its absence', () => {
  test('so a walk may begin with after: null, and a query have no order and no limit', async () => {
    for (let n = 0; n < 5; n++) await tenant.insert('t', {n});
    const query = {table: 't', filters: [], order: null, limit: null};
    const walked: unknown[] = [];
    for (let after: string | null = null; ; ) {
      const {body} = await tenant.request('POST', '/query/paginated', {query, page_size: 2, after});
      const page = body as {data: Doc[]; next_cursor: string | null};
      walked.push(...page.data.map(doc => doc.n));
      after = page.next_cursor;
      if (after === null) break;
    }
    expect(walked).toEqual([0, 1, 2, 3, 4]);
    expect(((await tenant.request('POST', '/query', query)).body as {data: Doc[]}).data).toHaveLength(5);
  });

  test('of a subscribe, an insert that is scheduled, and a schema', async () => {
    const socket = await RawSocket.established(service, tenant.id);
    socket.send({type: 'subscribe', request_id: 'r', query: {table: 't', filters: [], order: null, limit: null}});
    expect(await socket.nextMessage()).toMatchObject({type: 'subscription_result', data: []});
    await tenant.request('POST', '/schedule', {run_after_ms: 0, mutation: {...insert, id: null}});
    expect(await socket.nextMessage()).toMatchObject({data: [{_id: expect.stringMatching(/^[0-9a-z]{32}$/)}]});
    socket.close();
    for (const indexes of [null, undefined, []]) {
      expect((await tenant.request('PUT', '/schema/s', {table: 's', fields: [], indexes})).status).toBe(204);
      expect((await tenant.request('GET', '/schema/s')).body).toEqual({table: 's', fields: [], indexes: []});
    }
  });

  test.each([
    ['POST', '/query', {table: null, filters: []}],
    ['POST', '/query', {table: 't', filters: null}],
    ['POST', '/query', {table: 't', filters: [], order: {field: null, direction: 'asc'}}],
    ['POST', '/query/paginated', {query: {table: 't', filters: []}, page_size: null}],
    ['POST', '/documents', {table: 't', fields: null}],
  ])('but not of a required one: %s %s %j', async (method, path, body) => {
    expectError(await tenant.request(method, path, body), 400, 'op.invalid_input');
  });

  test('and data stays data: a null in fields, in a patch and as the value of a filter', async () => {
    const id = await tenant.insert('t', {a: null, b: 1});
    await tenant.patch('t', id, {b: null});
    const query = {table: 't', filters: [{field: 'b', op: 'eq', value: null}], limit: null};
    const {body} = await tenant.request('POST', '/query', query);
    expect((body as {data: Doc[]}).data).toMatchObject([{_id: id, a: null, b: null}]);
  });
});

describe('what cannot be a table is 400 op.invalid_input wherever it is named:', () => {
  test.each([
    ['GET', '/documents/no-table'],
    ['GET', '/documents/no-table/x'],
    ['PATCH', '/documents/no-table/x'],
    ['DELETE', '/documents/no-table/x'],
    ['GET', '/schema/no-table'],
    ['DELETE', '/schema/no-table'],
  ])('%s %s', async (method, path) => {
    const body = method === 'PATCH' ? {patch: {}} : undefined;
    expectError(await tenant.request(method, path, body), 400, 'op.invalid_input');
  });
});

test('a patch without fields is 200 and writes nothing', async () => {
  const id = await tenant.insert('t', {a: 1});
  const before = await tenant.get('t', id);
  const {status, body} = await tenant.request('PATCH', `/documents/t/${id}`, {patch: {}});
  expect([status, body]).toEqual([200, {id}]);
  expect(await tenant.get('t', id)).toEqual(before);
  expect(((await tenant.request('GET', '/journal')).body as {latest_sequence: number}).latest_sequence).toBe(1);
  expectError(await tenant.request('PATCH', '/documents/t/nobody', {patch: {}}), 404, 'op.not_found');
});
