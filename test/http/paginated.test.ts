import {beforeEach, describe, expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';
import {type Doc, expectError, type Page, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

const all = {table: 't', filters: []};
const numbers = (docs: Doc[]) => docs.map(doc => doc.n);

async function fill(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await tenant.insert('t', {n, group: n % 3});
}

/** The pages of a walk from its beginning, or from `after`, to its end. */
async function walk(query: object, page_size: number, onPage: (page: Page) => Promise<void> = async () => {}) {
  const pages: Page[] = [];
  for (let after: string | null = null; ; ) {
    const page = await tenant.page({query, page_size, ...(after === null ? {} : {after})});
    pages.push(page);
    expect(page.has_more).toBe(page.next_cursor !== null);
    if (page.next_cursor === null) return pages;
    after = page.next_cursor;
    await onPage(page);
  }
}

describe('POST …/query/paginated', () => {
  test('of an empty table: no documents, no cursor, no more', async () => {
    const {status, text} = await tenant.request('POST', '/query/paginated', {query: all, page_size: 10});
    expect({status, text}).toEqual({status: 200, text: '{"data":[],"next_cursor":null,"has_more":false}'});
  });

  test('pages of any size cover seven documents exactly once, in order', async () => {
    await fill(7);
    for (const size of [1, 2, 3, 6, 7, 8, 100]) {
      const pages = await walk(all, size);
      expect(pages.flatMap(page => numbers(page.data))).toEqual([0, 1, 2, 3, 4, 5, 6]);
      expect(pages).toHaveLength(Math.ceil(7 / size));
      for (const page of pages.slice(0, -1)) expect(page.data).toHaveLength(size);
    }
  });

  test('filters, order and ties are those of the query', async () => {
    await fill(10);
    for (const query of [
      {...all, order: {field: 'group', direction: 'asc'}},
      {...all, order: {field: 'group', direction: 'desc'}},
      {...all, filters: [{field: 'group', op: 'neq', value: 1}], order: {field: 'n', direction: 'desc'}},
      {...all, order: {field: '_creationTime', direction: 'desc'}},
      {...all, order: {field: '_id', direction: 'asc'}},
      {...all, order: {field: 'missing', direction: 'desc'}},
    ]) {
      const pages = await walk(query, 3);
      expect(pages.flatMap(page => page.data)).toEqual(await tenant.query(query));
    }
  });

  test("the query's limit bounds the whole walk", async () => {
    await fill(10);
    for (const limit of [1, 3, 4, 5, 9, 10, 11]) {
      const pages = await walk({...all, limit}, 4);
      expect(pages.flatMap(page => numbers(page.data))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].slice(0, limit));
    }
  });

  test('a walk delivers what was there throughout once, whatever is inserted and deleted between its pages', async () => {
    await fill(12);
    let inserted = 0;
    const query = {...all, order: {field: 'n', direction: 'desc'}};
    const pages = await walk(query, 3, async ({data}) => {
      await tenant.delete('t', data[0]!._id); // delivered already
      await tenant.delete('t', data.at(-1)!._id); // where the cursor stands
      if (inserted < 3) {
        await tenant.insert('t', {n: 100 + inserted}); // in front of it
        await tenant.insert('t', {n: ++inserted - 0.5}); // behind it
      }
    });
    const seen = numbers(pages.flatMap(page => page.data));
    expect(seen.filter(n => Number.isInteger(n))).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(seen).toEqual(seen.toSorted((a, b) => Number(b) - Number(a)));
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('in creation order a walk also meets what is inserted behind it', async () => {
    await fill(4);
    let more = 4;
    const pages = await walk(all, 2, async () => {
      if (more < 8) await tenant.insert('t', {n: more++});
    });
    expect(pages.flatMap(page => numbers(page.data))).toEqual([0, 1, 2, 3, 4, 5, 6, 7].slice(0, more));
    expect(more).toBeGreaterThan(5);
  });

  test('a cursor can be used again, and after all its documents are deleted', async () => {
    await fill(6);
    const {data, next_cursor: after} = await tenant.page({query: all, page_size: 3});
    const second = await tenant.page({query: all, page_size: 3, after});
    expect(await tenant.page({query: all, page_size: 3, after})).toEqual(second);
    expect(numbers((await tenant.page({query: all, page_size: 1, after})).data)).toEqual([3]);
    for (const doc of data) await tenant.delete('t', doc._id);
    expect(await tenant.page({query: all, page_size: 3, after})).toEqual(second);
    for (const doc of second.data) await tenant.delete('t', doc._id);
    expect(await tenant.page({query: all, page_size: 3, after})).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
    });
  });

  test('page_size above 1,000 is 1,000', async () => {
    await tenant.insertAll(
      't',
      Array.from({length: 1001}, () => ({})),
    );
    for (const size of [1000, 1001, 1_000_000_000]) {
      const page = await tenant.page({query: all, page_size: size});
      expect(page.data).toHaveLength(1000);
      const rest = await tenant.page({query: all, page_size: size, after: page.next_cursor});
      expect(rest).toMatchObject({data: [{}], next_cursor: null, has_more: false});
    }
  });
});

describe('what is not a page request is 400 op.invalid_input', () => {
  const refused = async (body: unknown) =>
    expectError(await tenant.request('POST', '/query/paginated', JSON.stringify(body)), 400, 'op.invalid_input');

  test('no query, or one that is not an object', async () => {
    for (const query of [undefined, null, 't', [], 1]) await refused({query, page_size: 1});
  });

  test('page_size is a whole number, 1 or more', async () => {
    for (const size of [undefined, 0, -1, 1.5, '1', null, [1]]) {
      expect((await refused({query: all, page_size: size})).message).toContain('page_size');
    }
    expectError(
      await tenant.request('POST', '/query/paginated', '{"query":{"table":"t","filters":[]},"page_size":1e999}'),
      400,
      'op.invalid_input',
    );
  });

  test('after is a cursor that was given for this very query', async () => {
    await fill(3);
    const {next_cursor: after} = await tenant.page({query: all, page_size: 1});
    for (const no of ['', 'x', '0', after!.slice(1), after!.slice(0, -1), `${after}=`, 'A'.repeat(60), 7, []]) {
      await refused({query: all, page_size: 1, after: no});
    }
    for (const change of [
      {table: 'u'},
      {filters: [{field: 'n', op: 'eq', value: 1}]},
      {order: {field: 'n', direction: 'asc'}},
      {order: {field: '_creationTime', direction: 'desc'}},
      {limit: 2},
    ]) {
      await refused({query: {...all, ...change}, page_size: 1, after});
    }
    // The order of members is not part of a query.
    expect(numbers((await tenant.page({query: {filters: [], table: 't'}, page_size: 1, after})).data)).toEqual([1]);
  });

  test('for this very tenant: not another one, nor one that was made again under the same id', async () => {
    await fill(3);
    const {next_cursor: after} = await tenant.page({query: all, page_size: 1});
    const first = tenant;
    tenant = await Tenant.make(service);
    await fill(3);
    await refused({query: all, page_size: 1, after});
    await service.request('DELETE', `/api/tenants/${first.id}`);
    await service.post('/api/tenants', {id: first.id});
    tenant = first;
    await fill(3);
    await refused({query: all, page_size: 1, after});
  });

  test('no byte of a cursor can be changed into a failure of the service', async () => {
    await fill(3);
    const query = {...all, order: {field: 'n', direction: 'asc'}};
    const {next_cursor: after} = await tenant.page({query, page_size: 1});
    const bytes = Buffer.from(after!, 'base64url');
    for (let i = 0; i < bytes.length; i++) {
      for (const flip of [1, 0x80, 0xff]) {
        const changed = Buffer.from(bytes);
        changed[i] = changed[i]! ^ flip;
        const reply = await tenant.request('POST', '/query/paginated', {
          query,
          page_size: 1,
          after: changed.toString('base64url'),
        });
        expect([200, 400]).toContain(reply.status);
      }
    }
  });
});
