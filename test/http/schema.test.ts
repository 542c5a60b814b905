import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
/** The test before was refused everything, so this one can have its tenant: a new one starts a worker. */
let isUnused = false;
beforeEach(async () => {
  service.showLogOnFailure();
  if (!isUnused) tenant = await Tenant.make(service);
  isUnused = false;
});

const name = {name: 'name', field_type: 'string', required: true};
const age = {name: 'age', field_type: 'number', required: false};
const byName = {name: 'by_name', fields: ['name']};
const people = {table: 'people', fields: [name, age], indexes: [byName]};
const put = (body: unknown, table = 'people') => tenant.request('PUT', `/schema/${table}`, JSON.stringify(body));
const insert = (fields: object) => tenant.request('POST', '/documents', {table: 'people', fields});

describe('PUT, GET and DELETE …/schema/{table}', () => {
  test('204; GET shows it as it was set, its indexes with an id and the state enabled', async () => {
    expect(await put(people)).toMatchObject({status: 204, text: ''});
    const shown = {...people, indexes: [{...byName, id: expect.stringMatching(/./), state: 'enabled'}]};
    expect((await tenant.request('GET', '/schema/people')).body).toEqual(shown);
    expect((await tenant.request('GET', '/schema')).body).toEqual({tables: {people: shown}});
  });

  test('what GET shows may be put as it is: id and state are ignored, unknown fields too', async () => {
    await put(people);
    const before = (await tenant.request('GET', '/schema/people')).text;
    expect((await put(JSON.parse(before))).status).toBe(204);
    expect((await tenant.request('GET', '/schema/people')).text).toBe(before);
    const odd = {...people, more: 1, indexes: [{...byName, id: 7, state: 'building'}]};
    expect((await put(odd)).status).toBe(204);
    expect((await tenant.request('GET', '/schema/people')).text).toBe(before);
  });

  test('PUT replaces the whole schema', async () => {
    await put(people);
    await put({table: 'people', fields: [age], indexes: []});
    expect((await tenant.request('GET', '/schema/people')).body).toEqual({table: 'people', fields: [age], indexes: []});
    expect((await insert({name: 1})).status).toBe(201);
  });

  test('DELETE is 204 and frees the table; a second one is 404', async () => {
    await put(people);
    expect(await tenant.request('DELETE', '/schema/people')).toMatchObject({status: 204, text: ''});
    expectError(await tenant.request('GET', '/schema/people'), 404, 'op.not_found');
    expectError(await tenant.request('DELETE', '/schema/people'), 404, 'op.not_found');
    expect((await tenant.request('GET', '/schema')).body).toEqual({tables: {}});
    expect((await insert({name: 1})).status).toBe(201);
  });

  test('a table without a schema is 404 on GET and DELETE, written or not, and not listed', async () => {
    await tenant.insert('people', {});
    for (const table of ['people', 'never']) {
      expectError(await tenant.request('GET', `/schema/${table}`), 404, 'op.not_found');
      expectError(await tenant.request('DELETE', `/schema/${table}`), 404, 'op.not_found');
    }
    expect((await tenant.request('GET', '/schema')).text).toBe('{"tables":{}}');
  });

  test("a body whose table differs from the path's is 400 and sets neither", async () => {
    const error = expectError(await put(people, 'persons'), 400, 'op.invalid_input');
    expect(error.message).toMatch(/people.*persons/);
    expect((await tenant.request('GET', '/schema')).body).toEqual({tables: {}});
  });
});

describe('what is not a schema is 400 op.invalid_input, and nothing is set', () => {
  const field = (change: object) => ({...people, fields: [{...name, ...change}]});
  const index = (change: object) => ({...people, indexes: [{...byName, ...change}]});
  const BAD: [what: string, body: unknown][] = [
    ['no table', {fields: [], indexes: []}],
    ['a table that is no string', {...people, table: 1}],
    ['no fields', {table: 'people', indexes: []}],
    ['null fields', {table: 'people', fields: null}],
    ['fields as an object', {...people, fields: {}}],
    ['a field that is no object', {...people, fields: ['name']}],
    ['a field without name', field({name: undefined})],
    ['a field with an empty name', field({name: ''})],
    ['a system field', field({name: '_id'})],
    ['a field name with _', field({name: '_mine'})],
    ['a field name with $', field({name: '$a'})],
    ['a field name that is not valid Unicode', field({name: '\ud800'})],
    ['an unknown field_type', field({field_type: 'int64'})],
    ['a field_type in capitals', field({field_type: 'String'})],
    ['no field_type', field({field_type: undefined})],
    ['required that is no boolean', field({required: 'yes'})],
    ['no required', field({required: undefined})],
    ['a field declared twice', {...people, fields: [name, age, name]}],
    ['an index that is no object', {...people, indexes: ['name']}],
    ['an index without name', index({name: undefined})],
    ['an index with an empty name', index({name: ''})],
    ['an index name with odd characters', index({name: 'by-name'})],
    ['a reserved index name', index({name: 'by_id'})],
    ['another one', index({name: 'by_creation_time'})],
    ['an index without fields', index({fields: undefined})],
    ['an index on no field', index({fields: []})],
    ['an index on an empty path', index({fields: ['']})],
    ['an index on a broken path', index({fields: ['a..b']})],
    ['an index on a system field', index({fields: ['_creationTime']})],
    ['an index that lists a field twice', index({fields: ['name', 'name']})],
    ['two indexes of one name', {...people, indexes: [byName, {...byName, fields: ['age']}]}],
    ['two indexes on the same fields', {...people, indexes: [byName, {...byName, name: 'again'}]}],
    ['an array', []],
    ['null', null],
  ];
  test.each(BAD)('%s', async (_, body) => {
    expectError(await put(body), 400, 'op.invalid_input');
    expect((await tenant.request('GET', '/schema')).body).toEqual({tables: {}});
    isUnused = true;
  });

  test.each(['1a', '_a', 'a-b', 'a.b', 'a%20b', '%C3%A9', 'a'.repeat(65)])(
    'a path that cannot be a table: %s',
    async table => {
      const body = {...people, table: decodeURIComponent(table)};
      for (const method of ['PUT', 'GET', 'DELETE']) {
        expectError(
          await tenant.request(method, `/schema/${table}`, method === 'PUT' ? body : undefined),
          400,
          'op.invalid_input',
        );
      }
      isUnused = true;
    },
  );
});

describe('a schema accepts and refuses documents', () => {
  const VALUES: Record<string, unknown> = {
    string: 'x',
    number: 1.5,
    boolean: false,
    array: [],
    object: {},
    null: null,
    missing: undefined,
  };
  const TYPES = ['string', 'number', 'boolean', 'array', 'object', 'any'];
  const ROWS = TYPES.flatMap(type => [true, false].map(required => ({type, required})));

  let typed: Tenant;
  beforeAll(async () => {
    typed = await Tenant.make(service);
  });
  test.each(ROWS)('field_type $type, required $required', async ({type, required}) => {
    isUnused = true;
    const table = `${type}_${required}`;
    await typed.putSchema(table, [{name: 'v', field_type: type, required}]);
    const insert = (fields: object) => typed.request('POST', '/documents', {table, fields});
    for (const [kind, v] of Object.entries(VALUES)) {
      let accepted = kind === type || (type === 'any' && kind !== 'missing');
      if (!required && (kind === 'null' || kind === 'missing')) accepted = true;
      expect({kind, status: (await insert({v, undeclared: kind})).status}).toEqual({
        kind,
        status: accepted ? 201 : 400,
      });
    }
  });

  test('a refused insert names the field, what is expected and what was found', async () => {
    await put(people);
    const error = expectError(await insert({name: 7}), 400, 'op.schema_violation');
    expect(error.detail).toMatchObject({table: 'people', field: 'name', found: 'number'});
    expect(error.detail!.expected).toContain('string');
    expect(error.message).toMatch(/people.*name.*string.*number/);
    expect(await tenant.list('people')).toEqual([]);
  });

  test('a refused patch changes nothing; the merged document counts, not the patch alone', async () => {
    await put(people);
    const id = await tenant.insert('people', {name: 'Ada'});
    const before = await tenant.get('people', id);
    for (const patch of [{name: null}, {age: 'old'}, {name: 'Eve', age: []}]) {
      expectError(await tenant.request('PATCH', `/documents/people/${id}`, {patch}), 400, 'op.schema_violation');
    }
    expect(await tenant.get('people', id)).toEqual(before);
    await tenant.patch('people', id, {age: 36});
    await tenant.patch('people', id, {age: null});
    expect(await tenant.get('people', id)).toMatchObject({name: 'Ada', age: null});
  });

  test('only its own table is bound, and inherited names are no fields', async () => {
    await put({table: 'people', fields: [{name: 'toString', field_type: 'any', required: true}], indexes: []});
    expectError(await insert({}), 400, 'op.schema_violation');
    await tenant.insert('other', {});
  });
});

describe('a schema that existing documents violate', () => {
  test('is 400 with the first ten offenders, and changes nothing', async () => {
    await put({table: 'people', fields: [age], indexes: []});
    const before = (await tenant.request('GET', '/schema')).text;
    const offenders: string[] = [];
    for (let n = 0; n < 15; n++) {
      const id = await tenant.insert('people', n % 5 === 0 ? {name: 'fine'} : {name: n});
      if (n % 5 !== 0) offenders.push(id);
    }
    const error = expectError(await put(people), 400, 'op.schema_violation');
    expect(error.detail!.table).toBe('people');
    expect(error.detail!.offenders).toEqual(
      offenders
        .slice(0, 10)
        .map(id => ({id, field: 'name', expected: expect.stringContaining('string'), found: 'number'})),
    );
    expect(error.message).toContain(offenders[0]);
    expect((await tenant.request('GET', '/schema')).text).toBe(before);
    expect((await insert({name: 99})).status).toBe(201);
  });

  test('can be set once they are mended', async () => {
    const id = await tenant.insert('people', {});
    expectError(await put(people), 400, 'op.schema_violation');
    await tenant.patch('people', id, {name: 'Ada'});
    expect((await put(people)).status).toBe(204);
  });

  test('no violating write slips in while it is being set', async () => {
    await tenant.insertAll(
      'people',
      Array.from({length: 2000}, () => ({name: 'Ada'})),
    );
    const writes = Array.from({length: 100}, (_, n) => insert(n % 2 === 0 ? {name: 'Eve'} : {name: n}));
    const [reply, ...outcomes] = await Promise.all([put(people), ...writes]);
    expect([204, 400]).toContain(reply.status);
    const bad = (await tenant.list('people')).filter(doc => typeof doc.name !== 'string');
    expect(bad).toHaveLength(outcomes.filter((outcome, n) => n % 2 === 1 && outcome.status === 201).length);
    if (reply.status === 204) expect(bad).toEqual([]);
    expect(outcomes.filter((_, n) => n % 2 === 0).map(outcome => outcome.status)).toEqual(Array<number>(50).fill(201));
  });
});
