import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
let tables = 0;
let table: string;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => {
  service.showLogOnFailure();
  table = `table${++tables}`;
});

/** Was a document, is none any more. */
async function deletedId(): Promise<string> {
  const id = await tenant.insert(table, {});
  await tenant.delete(table, id);
  return id;
}

describe('POST …/documents', () => {
  test('201 with the id alone; the table is made by its first insert', async () => {
    const reply = await tenant.request('POST', '/documents', {table: 'cities', fields: {name: 'Bern'}});
    expect(reply.status).toBe(201);
    const {id, ...rest}: {id: string} = reply.body;
    expect(rest).toEqual({});
    expect(id).toMatch(/^[a-z0-9]{32}$/);
    expect(await tenant.list('cities')).toMatchObject([{_id: id, name: 'Bern'}]);
  });

  test('what is read back has the system fields first, then its own fields with sorted keys at every depth', async () => {
    const id = await tenant.insert(table, '{"z":1,"a":{"y":[{"d":1,"c":2}],"b":null,"B":0},"10":0,"9":0,"M":true}');
    const {text, body} = await tenant.request('GET', `/documents/${table}/${id}`);
    const {document}: {document: {_creationTime: number; _updateTime: number}} = body;
    expect(text).toBe(
      `{"document":{"_id":"${id}","_creationTime":${document._creationTime},"_updateTime":${document._updateTime},` +
        '"10":0,"9":0,"M":true,"a":{"B":0,"b":null,"y":[{"c":2,"d":1}]},"z":1}}',
    );
    expect((await tenant.request('GET', `/documents/${table}`)).text).toBe(`{"data":[${text.slice(12, -1)}]}`);
  });

  test('creation times are of now, equal to the update time, and strictly increase within a table', async () => {
    const before = Date.now();
    await tenant.insertAll(
      table,
      Array.from({length: 300}, (_, n) => ({n})),
    );
    const docs = await tenant.list(table);
    const times = docs.map(doc => doc._creationTime);
    expect(times[0]).toBeGreaterThanOrEqual(before);
    expect(times.at(-1)).toBeLessThanOrEqual(Date.now() + 1);
    expect(new Set(times).size).toBe(300);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(docs.map(doc => doc._updateTime)).toEqual(times);
    expect(docs.map(doc => doc.n).toSorted((a, b) => Number(a) - Number(b))).toEqual([...Array(300).keys()]);
  });

  test('an empty object is a document', async () => {
    const id = await tenant.insert(table, {});
    expect(Object.keys(await tenant.get(table, id))).toEqual(['_id', '_creationTime', '_updateTime']);
  });

  test('unknown fields of the body are ignored, a chosen id too', async () => {
    const reply = await tenant.request('POST', '/documents', {
      table,
      fields: {a: 1},
      id: 'mine',
      _id: 'x',
      more: [],
    });
    expect(reply.status).toBe(201);
    const [doc] = await tenant.list(table);
    expect(doc!._id).not.toBe('mine');
    expect(Object.keys(doc!)).toEqual(['_id', '_creationTime', '_updateTime', 'a']);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'nonsense', undefined])(
    'the body is JSON whatever its content type says: %s',
    async type => {
      await tenant.insert(table, {a: 1}, {'content-type': type});
      expect(await tenant.list(table)).toMatchObject([{a: 1}]);
    },
  );

  test.each([
    [{}, 'table'],
    [{table: 't'}, 'fields'],
    [{fields: {}}, 'table'],
    [{table: 1, fields: {}}, 'table'],
    [{table: null, fields: {}}, 'table'],
    [{table: ['t'], fields: {}}, 'table'],
    [{table: 't', fields: []}, 'fields'],
    [{table: 't', fields: null}, 'fields'],
    [{table: 't', fields: 'x'}, 'fields'],
    [{table: 't', fields: 1}, 'fields'],
    [[], 'body'],
    [null, 'body'],
  ])('%j is 400, and the message names %s', async (body, named) => {
    const error = expectError(
      await tenant.request('POST', '/documents', JSON.stringify(body)),
      400,
      'op.invalid_input',
    );
    expect(error.message).toContain(named);
    expect(await tenant.list(table)).toEqual([]);
  });
});

describe('GET …/documents/{table}', () => {
  test('a table that was never written is an empty one', async () => {
    expect(await tenant.request('GET', '/documents/nothing')).toMatchObject({status: 200, text: '{"data":[]}'});
  });

  test('documents come in order of creation, and only those of this table', async () => {
    for (const n of [3, 1, 2]) await tenant.insert(table, {n});
    await tenant.insert('other', {n: 9});
    expect((await tenant.list(table)).map(doc => doc.n)).toEqual([3, 1, 2]);
  });
});

describe('PATCH …/documents/{table}/{document_id}', () => {
  test('200 with the id alone', async () => {
    const id = await tenant.insert(table, {});
    const reply = await tenant.request('PATCH', `/documents/${table}/${id}`, {patch: {a: 1}});
    expect(reply).toMatchObject({status: 200, text: `{"id":"${id}"}`});
  });

  test.each([
    ['sets a new field', {a: 1}, {b: 2}, {a: 1, b: 2}],
    ['replaces a field, whatever its type was', {a: 1, b: 2}, {a: [1]}, {a: [1], b: 2}],
    ['replaces objects whole, without looking into them', {a: {x: 1, y: 2}}, {a: {z: 3}}, {a: {z: 3}}],
    ['replaces arrays whole', {a: [1, 2, 3]}, {a: []}, {a: []}],
    ['stores null as null', {a: 1, b: 2}, {a: null}, {a: null, b: 2}],
    ['changes nothing when it is empty', {a: 1}, {}, {a: 1}],
    ['takes a dot in a name for part of the name', {a: {b: 1}}, {'a.b': 2}, {a: {b: 1}, 'a.b': 2}],
  ])('%s', async (_, fields, patch, expected) => {
    const id = await tenant.insert(table, fields);
    await tenant.patch(table, id, patch);
    const {_id, _creationTime, _updateTime, ...own} = await tenant.get(table, id);
    expect(own).toEqual(expected);
  });

  test('keeps id, creation time and place in the list; the update time moves on', async () => {
    const id = await tenant.insert(table, {n: 1});
    await tenant.insert(table, {n: 2});
    const before = await tenant.get(table, id);
    let after = before;
    while (after._updateTime === before._updateTime) {
      await tenant.patch(table, id, {n: 3});
      after = await tenant.get(table, id);
    }
    expect(after).toEqual({...before, n: 3, _updateTime: after._updateTime});
    expect(after._updateTime).toBeGreaterThan(before._updateTime);
    expect((await tenant.list(table)).map(doc => doc.n)).toEqual([3, 2]);
  });

  test.each([{}, {patch: null}, {patch: []}, {patch: 'x'}, {fields: {a: 1}}, [], null])('%j is 400', async body => {
    const id = await tenant.insert(table, {a: 0});
    expectError(
      await tenant.request('PATCH', `/documents/${table}/${id}`, JSON.stringify(body)),
      400,
      'op.invalid_input',
    );
    expect(await tenant.get(table, id)).toMatchObject({a: 0});
  });

  test.each(['_id', '_creationTime', '_updateTime', '_mine', '__proto__'])(
    'cannot set %s: top-level names with _ are for system fields',
    async name => {
      const id = await tenant.insert(table, {a: 0});
      const body = `{"patch":{${JSON.stringify(name)}:1,"a":1}}`;
      expectError(await tenant.request('PATCH', `/documents/${table}/${id}`, body), 400, 'op.invalid_input');
      expect(await tenant.get(table, id)).toMatchObject({_id: id, a: 0});
    },
  );

  test('of many at once, each one counts', async () => {
    const id = await tenant.insert(table, {});
    await Promise.all(Array.from({length: 50}, (_, n) => tenant.patch(table, id, {[`f${n}`]: n})));
    const {_id, _creationTime, _updateTime, ...own} = await tenant.get(table, id);
    expect(own).toEqual(Object.fromEntries(Array.from({length: 50}, (_, n) => [`f${n}`, n])));
  });
});

describe('DELETE …/documents/{table}/{document_id}', () => {
  test('204 without a body; the document is gone from every read', async () => {
    const id = await tenant.insert(table, {n: 1});
    const reply = await tenant.request('DELETE', `/documents/${table}/${id}`);
    expect(reply).toMatchObject({status: 204, text: ''});
    expect(reply.headers['content-type']).toBeUndefined();
    expect(await tenant.list(table)).toEqual([]);
    expect(await tenant.query({table, filters: [{field: 'n', op: 'eq', value: 1}]})).toEqual([]);
    expect(await tenant.query({table, filters: [{field: '_id', op: 'eq', value: id}]})).toEqual([]);
  });

  test('of many at once of one document, exactly one succeeds', async () => {
    const id = await tenant.insert(table, {});
    const replies = await Promise.all(
      Array.from({length: 10}, () => tenant.request('DELETE', `/documents/${table}/${id}`)),
    );
    expect(replies.map(reply => reply.status).sort()).toEqual([204, ...Array<number>(9).fill(404)]);
  });
});

const METHODS: [method: string, body: object | undefined][] = [
  ['GET', undefined],
  ['PATCH', {patch: {}}],
  ['DELETE', undefined],
];
const NO_DOCUMENTS: [what: string, path: () => Promise<string>][] = [
  ['an id nobody has', async () => `/documents/${table}/nobody`],
  ['a well-formed id nobody has', async () => `/documents/${table}/${'0'.repeat(32)}`],
  ['a deleted document', async () => `/documents/${table}/${await deletedId()}`],
  [
    'an existing document under another existing table',
    async () => {
      await tenant.insert('u', {});
      return `/documents/u/${await tenant.insert(table, {})}`;
    },
  ],
  ['an existing document under a table never written', async () => `/documents/v/${await tenant.insert(table, {})}`],
  ['an id in upper case', async () => `/documents/${table}/${(await tenant.insert(table, {})).toUpperCase()}`],
];

describe.each(METHODS)('%s of a document that is not there is 404 op.not_found:', (method, body) => {
  test.each(NO_DOCUMENTS)('%s', async (_, path) => {
    expectError(await tenant.request(method, await path(), body), 404, 'op.not_found');
  });
});
