import {beforeEach, describe, expect, test} from 'vitest';
import {journalPage} from '../harness/journal.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

const key = (value: string) => ({'idempotency-key': value});
const insert = (n: number, value: string) =>
  tenant.request('POST', '/documents', {table: 't', fields: {n}}, key(value));
const records = async () => (await journalPage(tenant)).page.latest_sequence;

describe('a write that is sent again with its Idempotency-Key', () => {
  test('gets the first reply again and changes nothing: insert', async () => {
    const first = await insert(1, 'k');
    expect(first.status).toBe(201);
    for (let i = 0; i < 3; i++) expect(await insert(1, 'k')).toMatchObject({status: 201, text: first.text});
    expect(await tenant.list('t')).toHaveLength(1);
    expect(await records()).toBe(1);
  });

  test('patch: a later change is not undone', async () => {
    const id = await tenant.insert('t', {n: 0});
    const path = `/documents/t/${id}`;
    const first = await tenant.request('PATCH', path, {patch: {n: 1}}, key('k'));
    await tenant.patch('t', id, {n: 2});
    const again = await tenant.request('PATCH', path, {patch: {n: 1}}, key('k'));
    expect(again).toMatchObject({status: 200, text: first.text});
    expect(await tenant.get('t', id)).toMatchObject({n: 2});
    expect(await records()).toBe(3);
  });

  test('delete: 204 again, not 404', async () => {
    const id = await tenant.insert('t', {});
    for (let i = 0; i < 2; i++) {
      expect(await tenant.request('DELETE', `/documents/t/${id}`, undefined, key('k'))).toMatchObject({
        status: 204,
        text: '',
      });
    }
    expectError(await tenant.request('DELETE', `/documents/t/${id}`), 404, 'op.not_found');
    expect(await records()).toBe(2);
  });

  test('of many at once, one happens and all get its reply', async () => {
    const replies = await Promise.all(Array.from({length: 20}, () => insert(1, 'k')));
    expect(new Set(replies.map(reply => `${reply.status} ${reply.text}`)).size).toBe(1);
    expect(replies[0]!.status).toBe(201);
    expect(await tenant.list('t')).toHaveLength(1);
  });

  test('happens when the first try failed: only successes are remembered', async () => {
    await tenant.putSchema('t', [{name: 'n', field_type: 'string', required: true}]);
    expectError(await insert(1, 'k'), 400, 'op.schema_violation');
    await tenant.request('DELETE', '/schema/t');
    expect((await insert(1, 'k')).status).toBe(201);
    expect(await tenant.list('t')).toHaveLength(1);
  });
});

describe('the same key with another request is 409 op.conflict and changes nothing:', () => {
  let id: string;
  beforeEach(async () => {
    id = await tenant.insert('t', {n: 0});
    expect((await insert(1, 'k')).status).toBe(201);
  });
  const OTHERS: [what: string, request: () => Promise<[method: string, path: string, body?: unknown]>][] = [
    ['another body', async () => ['POST', '/documents', {table: 't', fields: {n: 2}}]],
    ['another table', async () => ['POST', '/documents', {table: 'u', fields: {n: 1}}]],
    ['the same body in other bytes', async () => ['POST', '/documents', '{"fields":{"n":1},"table":"t"}']],
    ['a patch', async () => ['PATCH', `/documents/t/${id}`, {patch: {n: 1}}]],
    ['a delete', async () => ['DELETE', `/documents/t/${id}`]],
  ];

  test(OTHERS.map(([what]) => what).join(', '), async () => {
    for (const [, request] of OTHERS) {
      const [method, path, body] = await request();
      expectError(await tenant.request(method, path, body, key('k')), 409, 'op.conflict');
      expect((await tenant.list('t')).map(doc => doc.n)).toEqual([0, 1]);
      expect(await tenant.list('u')).toEqual([]);
    }
  });

  test('of concurrent ones with different bodies, one wins', async () => {
    const replies = await Promise.all(Array.from({length: 10}, (_, n) => insert(n, 'contended')));
    expect(replies.map(reply => reply.status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
    expect(await tenant.list('t')).toHaveLength(3);
  });
});

describe('a key', () => {
  test('may be any printable text', async () => {
    for (const value of ['k', ' inner space ok', '"quoted"', 'k'.repeat(255), '__proto__', "'; --"]) {
      const first = await insert(1, value);
      expect([value, first.status]).toEqual([value, 201]);
      expect(await insert(1, value)).toMatchObject({status: 201, text: first.text});
    }
  });

  test('is printable ASCII of 255 characters at most', async () => {
    for (const value of ['k\u00e9k', 'k\u0080k', 'k\tk', 'k'.repeat(256)]) {
      expectError(await insert(1, value), 400, 'op.invalid_input');
    }
    expect(await tenant.list('t')).toEqual([]);
  });

  test('is that of one tenant: another may use it for something else', async () => {
    const other = await Tenant.make(service);
    await insert(1, 'k');
    expect((await other.request('POST', '/documents', {table: 't', fields: {n: 2}}, key('k'))).status).toBe(201);
    expect(await other.list('t')).toMatchObject([{n: 2}]);
  });

  test('does not matter to reads', async () => {
    for (const table of ['t', 'u']) {
      const reply = await tenant.request('POST', '/query', {table, filters: []}, key('k'));
      expect(reply.status).toBe(200);
    }
    expect((await insert(1, 'k')).status).toBe(201);
  });

  test('of a write, without one: each one counts', async () => {
    for (let i = 0; i < 2; i++) await tenant.insert('t', {n: 1});
    expect(await tenant.list('t')).toHaveLength(2);
  });
});
