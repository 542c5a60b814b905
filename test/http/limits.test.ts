/** Every limit a client can meet over HTTP, from both sides: the largest that passes, and one more. */
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {rawRequest, usualLines} from '../harness/raw.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, type Page, Tenant} from '../harness/tenant.ts';

const MIB = 1024 * 1024;
const service = await sharedService();
let tenant: Tenant;
let tables = 0;
let table: string;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => {
  service.showLogOnFailure();
  table = `t${++tables}`;
});

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const insert = (fields: string) => tenant.request('POST', '/documents', `{"table":"${table}","fields":${fields}}`);
const query = (part: object) => tenant.request('POST', '/query', {table, filters: [], ...part});

describe('a request body has 8 MiB at most', () => {
  /** An insert of so many bytes: what is not known is ignored. */
  const body = (bytes: number) => {
    const start = `{"table":"${table}","fields":{},"pad":"`;
    return `${start}${'x'.repeat(bytes - start.length - 2)}"}`;
  };

  test('8 MiB pass', async () => {
    expect((await tenant.request('POST', '/documents', body(8 * MIB))).status).toBe(201);
  });

  test('one byte more is 413, on the word of Content-Length, before it is sent', async () => {
    const reply = await rawRequest(service, [
      `POST /api/tenants/${tenant.id}/documents HTTP/1.1`,
      ...usualLines(service),
      `Content-Length: ${8 * MIB + 1}`,
    ]);
    expectError(reply, 413, 'op.too_large');
  });

  test.each([
    [8 * MIB, 201],
    [8 * MIB + 1, 413],
  ])('a chunked body of %d bytes is %d', async (bytes, status) => {
    const text = body(bytes);
    const chunks: string[] = [];
    for (let at = 0; at < text.length; at += MIB) {
      const chunk = text.slice(at, at + MIB);
      chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    }
    // The last byte beyond the limit is the last chunk: the answer comes when all is sent.
    const reply = await rawRequest(
      service,
      [`POST /api/tenants/${tenant.id}/documents HTTP/1.1`, ...usualLines(service), 'Transfer-Encoding: chunked'],
      `${chunks.join('')}0\r\n\r\n`,
    );
    expect(reply.status).toBe(status);
  });
});

describe('a document has 1 MiB of stored JSON at most', () => {
  const fields = (bytes: number) => `{"s":"${'x'.repeat(bytes - 8)}"}`;

  test('1 MiB passes and reads back whole', async () => {
    const reply = await insert(fields(MIB));
    expect(reply.status).toBe(201);
    const {id}: {id: string} = reply.body;
    expect((await tenant.get(table, id)).s).toBe('x'.repeat(MIB - 8));
  });

  test('one byte more is 413', async () => {
    expectError(await insert(fields(MIB + 1)), 413, 'op.too_large');
    expect(await tenant.list(table)).toEqual([]);
  });

  test('bytes count, not characters; and what is stored, not what was sent', async () => {
    expect((await insert(`{"s":"${'é'.repeat((MIB - 8) / 2)}"}`)).status).toBe(201);
    expectError(await insert(`{"s":"${'é'.repeat((MIB - 8) / 2)}x"}`), 413, 'op.too_large');
    expect((await insert(`{"s":"${'\\u0041'.repeat(MIB - 8)}"}`)).status).toBe(201);
    expect((await insert(`  {"s"  :  "${'x'.repeat(MIB - 8)}"}  `)).status).toBe(201);
  });

  test('a patch that makes it longer is 413 and changes nothing', async () => {
    const id = await tenant.insert(table, fields(MIB - 6));
    const before = await tenant.get(table, id);
    expectError(await tenant.request('PATCH', `/documents/${table}/${id}`, {patch: {a: 10}}), 413, 'op.too_large');
    expect(await tenant.get(table, id)).toEqual(before);
    expect((await tenant.request('PATCH', `/documents/${table}/${id}`, {patch: {s: ''}})).status).toBe(200);
  });
});

describe('a document nests 64 levels deep at most, its own object counted', () => {
  test('insert', async () => {
    expect((await insert(`{"a":${nested(63)}}`)).status).toBe(201);
    expectError(await insert(`{"a":${nested(64)}}`), 400, 'op.invalid_input');
    expectError(await insert(`{"a":${'{"a":'.repeat(64)}1${'}'.repeat(65)}`), 400, 'op.invalid_input');
  });

  test('patch', async () => {
    const id = await tenant.insert(table, {});
    const patch = (text: string) => tenant.request('PATCH', `/documents/${table}/${id}`, `{"patch":{"a":${text}}}`);
    expect((await patch(nested(63))).status).toBe(200);
    expectError(await patch(nested(64)), 400, 'op.invalid_input');
  });

  test('a body as a whole, ignored parts included, 68', async () => {
    const body = (text: string) =>
      tenant.request('POST', '/documents', `{"table":"${table}","fields":{},"more":${text}}`);
    expect((await body(nested(67))).status).toBe(201);
    expectError(await body(nested(68)), 400, 'op.invalid_input');
    expectError(await body(nested(1_000_000)), 400, 'op.invalid_input');
    // Brackets in strings are not nesting.
    expect((await body(JSON.stringify(`\\"${'['.repeat(500)}`))).status).toBe(201);
  });

  test("a filter's value, 64", async () => {
    const filter = (text: string) => `{"table":"${table}","filters":[{"field":"a","op":"eq","value":${text}}]}`;
    expect((await tenant.request('POST', '/query', filter(nested(64)))).status).toBe(200);
    expectError(await tenant.request('POST', '/query', filter(nested(65))), 400, 'op.invalid_input');
  });
});

describe('a table name is a letter, then letters, digits and _, 64 characters at most', () => {
  test.each(['a', 'Z', 'a_9', 'a'.repeat(64), 'constructor', 'toString', 'documents', 'select'])(
    '%s is one',
    async name => {
      await tenant.insert(name, {n: 1});
      expect(await tenant.list(name)).toMatchObject([{n: 1}]);
      expect(await tenant.query({table: name, filters: []})).toHaveLength(1);
    },
  );

  test.each(['', '1a', '_a', '__proto__', 'a-b', 'a.b', 'a b', 'é', 'a\0', 'a\n', 'a"b', "a'b", 'a/b', 'a'.repeat(65)])(
    '%j is 400 wherever one is given',
    async name => {
      expectError(await tenant.request('POST', '/documents', {table: name, fields: {}}), 400, 'op.invalid_input');
      expectError(await tenant.request('POST', '/query', {table: name, filters: []}), 400, 'op.invalid_input');
      if (name === '') return;
      const path = `/documents/${encodeURIComponent(name)}`;
      expectError(await tenant.request('GET', path), 400, 'op.invalid_input');
      expectError(await tenant.request('PATCH', `${path}/x`, {patch: {}}), 400, 'op.invalid_input');
      expectError(await tenant.request('DELETE', `${path}/x`), 400, 'op.invalid_input');
    },
  );
});

describe('a query', () => {
  const filters = (count: number) => Array.from({length: count}, () => ({field: 'a', op: 'neq', value: 1}));

  test('has 64 filters at most', async () => {
    expect((await query({filters: filters(64)})).status).toBe(200);
    expectError(await query({filters: filters(65)}), 400, 'op.invalid_input');
  });

  test.each(['filter', 'order'])('a field path has 1,024 characters at most, in a %s', async place => {
    const by = (field: string) =>
      query(place === 'order' ? {order: {field, direction: 'asc'}} : {filters: [{field, op: 'eq', value: 1}]});
    expect((await by('a'.repeat(1024))).status).toBe(200);
    expect((await by(`${'a.'.repeat(511)}aa`)).status).toBe(200);
    expectError(await by('a'.repeat(1025)), 400, 'op.invalid_input');
  });

  test('a cursor has 2 MiB at most', async () => {
    const page = {query: {table, filters: []}, page_size: 1, after: 'A'.repeat(2 * MIB + 4)};
    expectError(await tenant.request('POST', '/query/paginated', page), 400, 'op.invalid_input');
  });

  test('a cursor holds an order value of almost a document', async () => {
    for (const end of ['a', 'b']) await tenant.insert(table, {s: 'x'.repeat(1_000_000) + end});
    const page = {query: {table, filters: [], order: {field: 's', direction: 'desc'}}, page_size: 1};
    const {next_cursor: after} = await tenant.page(page);
    expect((await tenant.page({...page, after})).data[0]!.s).toMatch(/a$/);
  });

  test('a list or result beyond 16 MiB is 413 that names query/paginated, whose pages end early instead', async () => {
    await tenant.insertAll(
      table,
      Array.from({length: 17}, (_, n) => ({n, pad: 'x'.repeat(MIB - 100)})),
      4,
    );
    for (const reply of [
      await tenant.request('GET', `/documents/${table}`),
      await query({}),
      await query({limit: 17}),
    ]) {
      expect(expectError(reply, 413, 'op.too_large').message).toContain('query/paginated');
    }
    expect((await query({limit: 15})).status).toBe(200);
    for (const shape of [
      {},
      {order: {field: 'n', direction: 'desc'}},
      {order: {field: '_creationTime', direction: 'desc'}},
      {limit: 17},
      {limit: 16},
    ]) {
      const sizes: number[] = [];
      const seen = new Set<unknown>();
      for (let after: string | null = null; ; ) {
        const page: Page = await tenant.page({query: {table, filters: [], ...shape}, page_size: 1000, after});
        sizes.push(page.data.length);
        for (const doc of page.data) seen.add(doc.n);
        after = page.next_cursor;
        expect(page.has_more).toBe(after !== null);
        if (after === null) break;
      }
      const all = 'limit' in shape ? shape.limit! : 17;
      expect([sizes, seen.size]).toEqual([[15, all - 15], all]);
    }
    expect((await tenant.page({query: {table, filters: []}, page_size: 5})).data).toHaveLength(5);
  });
});

describe('a table schema', () => {
  const field = (n: number) => ({name: `f${n}`, field_type: 'any', required: false});
  const put = (fields: number, indexes: number, indexFields = 1) => {
    const names = Array.from({length: indexFields}, (_, n) => `p${n}`);
    return tenant.request('PUT', `/schema/${table}`, {
      table,
      fields: Array.from({length: fields}, (_, n) => field(n)),
      indexes: Array.from({length: indexes}, (_, n) => ({name: `i${n}`, fields: [`f${n}`, ...names.slice(1)]})),
    });
  };

  type Counts = Parameters<typeof put>;
  test.each<[limit: string, most: Counts, more: Counts]>([
    ['1,024 fields', [1024, 0], [1025, 0]],
    ['32 indexes', [0, 32], [0, 33]],
    ['16 fields in an index', [0, 1, 16], [0, 1, 17]],
  ])('has %s at most', async (_, most, more) => {
    expectError(await put(...more), 400, 'op.invalid_input');
    expect((await put(...most)).status).toBe(204);
  });
});

describe('the head of a request', () => {
  test('a URL has 4 KiB at most', async () => {
    const path = `/api/tenants/${tenant.id}/journal?after=0&pad=`;
    const get = (bytes: number) => service.get(`${path}${'x'.repeat(bytes - path.length)}`);
    expect((await get(4096)).status).toBe(200);
    expectError(await get(4097), 400, 'op.invalid_input');
  });

  test('headers beyond 16 KiB are 431, and the server goes on', async () => {
    const get = (pad: number) =>
      rawRequest(service, ['GET /health HTTP/1.1', ...usualLines(service), `X-Pad: ${'x'.repeat(pad)}`]);
    expect((await get(15_000)).status).toBe(200);
    expect((await get(17_000)).status).toBe(431);
    expect((await service.get('/health')).status).toBe(200);
  });
});
