/** GET …/export: documents at one sequence, and back in by an import. */
import {request} from 'undici';
import {beforeAll, describe, expect, test} from 'vitest';
import {canonical, journalAfter, replay} from '../harness/journal.ts';
import {isAlive} from '../harness/processes.ts';
import {sharedService} from '../harness/shared-service.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const sent = {'content-type': 'application/x-ndjson'};

const service = await sharedService();
let tenant: Tenant;
beforeAll(async () => {
  tenant = await Tenant.make(service);
  const lines = Array.from({length: 3_000}, (_, n) => JSON.stringify({n, text: 'ø'.repeat(500)})).join('\n');
  expect((await tenant.request('POST', '/import?table=a', lines, sent)).status).toBe(200);
  await tenant.insert('b', {n: 'other'});
});

const parsed = <T>(text: string): T[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as T);

test('of one table is its documents in order of creation, of all tables with their names; both go back in', async () => {
  const {status, headers, text} = await tenant.request('GET', '/export?table=a');
  expect([status, headers['content-type']]).toEqual([200, 'application/x-ndjson']);
  const {body: page} = await tenant.request('POST', '/query', {table: 'a', filters: [], limit: 5_000});
  expect(parsed(text)).toEqual((page as {data: Doc[]}).data);
  const everything = await tenant.request('GET', '/export');
  const copy = await Tenant.make(service);
  expect((await copy.request('POST', '/import', everything.text, sent)).body).toMatchObject({inserted: 3_001});
  expect((await copy.list('b')).map(({n}) => n)).toEqual(['other']);
  expect((await tenant.request('GET', '/export?table=never')).text).toBe('');
});

test('of filters has the documents that match, found by their ids where a filter names them', async () => {
  const of = (filters: unknown, more = '') =>
    tenant.request('GET', `/export?table=a&filters=${encodeURIComponent(JSON.stringify(filters))}${more}`);
  const last = [{field: 'n', op: 'gte', value: 2_998}];
  const docs = parsed<Doc>((await of(last)).text);
  expect(docs.map(({n}) => n)).toEqual([2_998, 2_999]);
  const csv = (await of([{or: last}, {field: 'n', op: 'lt', value: 2_999}], '&format=csv&columns=n')).text;
  expect(csv).toBe('n\r\n2998\r\n');
  const other = (await tenant.list('b'))[0]!._id;
  const ids = [docs[1]!._id, 'none', other, docs[0]!._id, docs[1]!._id];
  expect(parsed<Doc>((await of([{field: '_id', op: 'in', value: ids}])).text)).toEqual(docs);
  expect(
    (
      await of([
        {field: '_id', op: 'in', value: ids},
        {field: 'n', op: 'eq', value: 1},
      ])
    ).text,
  ).toBe('');
  expectError(await of([{field: 'n', op: 'none', value: 1}]), 400, 'op.invalid_input');
  expectError(await of([], '&for=restore'), 400, 'op.invalid_input');
  expectError(await tenant.request('GET', '/export?filters=[]'), 400, 'op.invalid_input');
  expectError(await tenant.request('GET', '/export?table=a&filters={'), 400, 'op.invalid_input');
});

test('is of the sequence that it names, whatever is written meanwhile', async () => {
  let isOver = false;
  const writer = (async () => {
    for (let n = 0; !isOver; n++) await tenant.insert('b', {n});
  })();
  for (let exports = 0; exports < 3; exports++) {
    const {headers, text} = await tenant.request('GET', '/export');
    const sequence = Number(headers['x-svc-sequence']);
    const {records} = await journalAfter(tenant, 0);
    const then = replay(
      {snapshot: {documents: {}}} as never,
      records.filter(record => record.sequence <= sequence),
    );
    for (const table of ['a', 'b']) {
      const lines = parsed<{table: string; document: Doc}>(text).filter(line => line.table === table);
      expect(canonical(lines.map(({document}) => document))).toBe(canonical(then.get(table)));
    }
  }
  isOver = true;
  await writer;
});

test('is cut, and has no end, when the worker is killed in the middle of it', async () => {
  const large = await Tenant.make(service);
  await large.insertAll(
    't',
    Array.from({length: 16}, (_, n) => ({n, text: 'x'.repeat(1_000_000)})),
    4,
  );
  const worker = await service.workerOf(large.id);
  const {statusCode, body} = await request(`${service.url}/api/tenants/${large.id}/export?table=t`, {
    headers: {authorization: `Bearer ${service.accessToken}`},
  });
  const rest = body[Symbol.asyncIterator]();
  expect([statusCode, (await rest.next()).done]).toEqual([200, false]);
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(worker));
  const toTheEnd = async () => {
    while ((await rest.next()).done !== true);
  };
  await expect(toTheEnd()).rejects.toThrow();
});

describe('as CSV', () => {
  const odd = ['', ' ', 'a,b', 'say "it"', 'two\r\nlines', '\ufeffmark', '12', '-1.5e3', 'true', 'nullable', '[1]'];
  const values = [
    ...odd,
    '"quoted"',
    '{',
    ' 1',
    '=1+1',
    0,
    -1.5,
    1e300,
    true,
    false,
    null,
    [],
    [1, 'a,"b'],
    {},
    {a: {b: null}},
  ];
  const documents = [...values.map((value, n) => ({n, 'a, "name"': values.at(-n)!, value})), {n: -1}];
  const csv = {'content-type': 'text/csv'};
  const own = (list: Doc[]) => list.map(({_id, _creationTime, _updateTime, ...fields}) => fields);

  test('has all fields of all documents, and every value goes back in as it was', async () => {
    await tenant.insertAll('odd', documents as never);
    const {status, headers, text} = await tenant.request('GET', '/export?table=odd&format=csv');
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
    expect(text.split('\r\n')[0]).toBe('_id,_creationTime,_updateTime,"a, ""name""",n,value');
    const copy = await Tenant.make(service);
    const counts = await copy.request('POST', '/import?table=odd&cells=json', text, csv);
    expect(counts.body).toMatchObject({inserted: documents.length, failed: 0});
    expect(own(await copy.list('odd'))).toEqual(own(await tenant.list('odd')));
  });

  test('has the columns that are named, one that nobody has and a document with none of them included', async () => {
    for (const fields of [{name: 'Oslo', n: 1}, {name: 'Bodø'}, {n: 2}]) await tenant.insert('named', fields);
    expect((await tenant.request('GET', '/export?table=named&format=csv&columns=name,none')).text).toBe(
      'name,none\r\nOslo,\r\nBodø,\r\n,\r\n',
    );
    const one = await tenant.request('GET', '/export?table=named&format=csv&columns=name');
    expect(one.text).toBe('name\r\nOslo\r\nBodø\r\n""\r\n');
    expect((await tenant.request('POST', '/import?table=back', one.text, csv)).body).toMatchObject({inserted: 3});
    const none = await tenant.request('GET', '/export?table=never&format=csv');
    expect(none.text).toBe('_id,_creationTime,_updateTime\r\n');
  });

  test('of a table that takes many pieces is whole, with a field that its last document alone has', async () => {
    const last = await tenant.insert('a', {late: true});
    const {text} = await tenant.request('GET', '/export?table=a&format=csv');
    const records = text.split('\r\n');
    expect([records[0], records.length]).toEqual(['_id,_creationTime,_updateTime,late,n,text', 3_003]);
    expect(records.at(-2)).toMatch(new RegExp(`^${last},.*,true,,$`));
  });

  test.each([
    ['format=csv', 'table'],
    ['format=csv&table=a&columns=', 'columns'],
    ['format=csv&table=a&columns=n,n', '"n" twice'],
    ['table=a&columns=n', 'format=csv'],
    ['table=a&format=xml', 'format'],
    ['table=nameless&format=csv', 'without a name'],
    ['table=wide&format=csv', 'more than 1000'],
  ])('is refused with %s', async (query, said) => {
    if (query.includes('nameless')) await tenant.insert('nameless', {'': 1});
    const wide = Object.fromEntries(Array.from({length: 998}, (_, n) => [`f${n}`, n]));
    if (query.includes('wide')) await tenant.insert('wide', wide);
    const {message} = expectError(await tenant.request('GET', `/export?${query}`), 400, 'op.invalid_input');
    expect(message).toContain(said);
  });

  test('is refused as well by what is found late, while its columns are looked for', async () => {
    const documents = Array.from({length: 1_100}, (_, n) => ({[`f${n}`]: n, text: 'x'.repeat(1_000)}));
    await tenant.insertAll('many', documents);
    const {message} = expectError(
      await tenant.request('GET', '/export?table=many&format=csv'),
      400,
      'op.invalid_input',
    );
    expect(message).toContain('more than 1000');
  });

  test('is the one form of which cells may be JSON', async () => {
    expectError(await tenant.request('POST', '/import?table=a&cells=json', '{}', sent), 400, 'op.invalid_input');
  });
});

test('readers that go leave their places, and a misspelled parameter is refused by name', async () => {
  const url = `${service.url}/api/tenants/${tenant.id}/export`;
  const headers = {authorization: `Bearer ${service.accessToken}`};
  const open = await Promise.all(Array.from({length: 16}, () => request(url, {headers})));
  expect(open.map(({statusCode}) => statusCode)).toEqual(Array(16).fill(200));
  for (const {body} of open) body.destroy();
  for (const {body} of open) await new Promise(resolve => body.once('close', resolve));
  await until('a place', async () => (await tenant.request('GET', '/export?table=b')).status === 200);
  expectError(await tenant.request('GET', '/export?tabel=a'), 400, 'op.invalid_input');
});
