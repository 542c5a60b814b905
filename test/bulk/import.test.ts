/** POST …/import: lines become documents, and the report on them is right. */
import {Readable} from 'node:stream';
import {request} from 'undici';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {IMPORT_LINE_BYTES_MAX} from '../../shared/limits.ts';
import {checkChain, journalAfter} from '../harness/journal.ts';
import {rounds} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

type Counts = {lines: number; inserted: number; updated: number; failed: number; errors: object[]};

const JSON_LINES = 'application/x-ndjson';

const service = await sharedService();
let tenant: Tenant;
/** A table of its own for each test. */
let t = '';
let tables = 0;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => {
  service.showLogOnFailure();
  t = `t${++tables}`;
});

const send = (query: string, body: string | Buffer, type = JSON_LINES) =>
  tenant.request('POST', `/import?${query}`, body, {'content-type': type});
const lines = (...values: unknown[]) => values.map(value => `${JSON.stringify(value)}\n`).join('');
const all = (count: number, first = 0) => lines(...Array.from({length: count}, (_, i) => ({n: first + i})));
const numbers = async (table = t) => (await tenant.list(table)).map(({n}) => n);
const counts = (given: Partial<Counts>): Counts => ({
  lines: 0,
  inserted: 0,
  updated: 0,
  failed: 0,
  errors: [],
  ...given,
});

describe('lines', () => {
  test('become documents in their order, up to 1,000 of them a commit and a record', async () => {
    const {status, body} = await send(`table=${t}`, all(2_500));
    expect([status, body]).toEqual([200, counts({lines: 2_500, inserted: 2_500})]);
    expect(await numbers()).toEqual(Array.from({length: 2_500}, (_, n) => n));
    const {records, texts} = await journalAfter(tenant, 0);
    checkChain(texts);
    expect(records.map(({writes}) => writes.length)).toEqual([1_000, 1_000, 500]);
  });

  test('may name their tables, may end in CR LF or nothing, and blank ones are counted only', async () => {
    const body = `\ufeff{"table":"a","document":{"n":1}}\r\n\n  \n{"document":{"n":"ø✓"},"table":"b"}`;
    expect((await send('', body)).body).toEqual(counts({lines: 4, inserted: 2}));
    expect(await numbers('a')).toEqual([1]);
    expect(await numbers('b')).toEqual(['ø✓']);
  });

  test('get new ids; keep their own with mode=own_ids; with mode=upsert change what is there', async () => {
    const own = {_id: 'mine', _creationTime: 5, _updateTime: 6, n: 1};
    expect((await send(`table=${t}`, lines(own))).body).toMatchObject({inserted: 1});
    expect(await tenant.list(t)).not.toMatchObject([{_id: 'mine'}]);
    expect((await send(`table=${t}&mode=own_ids`, lines(own))).body).toMatchObject({inserted: 1});
    expectError(await send(`table=${t}&mode=own_ids`, lines(own)), 409, 'op.conflict');
    expectError(await send(`table=${t}&mode=own_ids`, lines({n: 1})), 400, 'op.invalid_input');
    const changed = lines({...own, n: 2}, {_id: 'other', n: 3}, {n: 4});
    expect((await send(`table=${t}&mode=upsert`, changed)).body).toMatchObject({inserted: 2, updated: 1});
    expect(await tenant.get(t, 'mine')).toMatchObject({n: 2});
  });
});

describe('a line that is refused', () => {
  const BROKEN = Buffer.concat([Buffer.from('{"n":1}\n{"n":"'), Buffer.from([0xff]), Buffer.from('"}\n{"n":3}\n')]);
  const LONG = Buffer.from(`{"n":1}\n{"n":"${'x'.repeat(IMPORT_LINE_BYTES_MAX)}"}\n{"n":3}\n`);
  test.each([
    ['no JSON', '{"n":1}\n{"n":\n{"n":3}\n', 400, 'op.invalid_input', /^line 2: the line is not JSON/],
    ['no object', '{"n":1}\n[2]\n{"n":3}\n', 400, 'op.invalid_input', /^line 2: the line is not a JSON object$/],
    ['a key of ours', '{"n":1}\n{"_n":2}\n{"n":3}\n', 400, 'op.invalid_input', /^line 2: .*underscore/],
    ['no UTF-8', BROKEN, 400, 'op.invalid_input', /^line 2: the line is not valid UTF-8$/],
    ['too long', LONG, 413, 'op.too_large', /^line 2: the line is longer/],
    [
      'against the schema',
      '{"n":1}\n{"n":true}\n{"n":3}\n',
      400,
      'op.schema_violation',
      /^line 2: .*must be of type number/,
    ],
  ])('%s: stops the import with all before it in, or is counted', async (_, body, status, code, message) => {
    const fields = [{name: 'n', field_type: 'number', required: true}];
    expect((await tenant.request('PUT', `/schema/${t}`, {table: t, fields})).status).toBe(204);
    const reply = await send(`table=${t}`, body);
    expectError(reply, status, code);
    const {error}: {error: {message: string; detail: object}} = reply.body;
    expect(error.message).toMatch(message);
    expect(error.detail).toMatchObject({line: 2, import: counts({lines: 1, inserted: 1})});
    const skipped = await send(`table=${t}&on_error=skip`, body);
    expect(skipped.body).toMatchObject({lines: 3, inserted: 2, failed: 1, errors: [{line: 2, code}]});
    expect(await numbers()).toEqual([1, 1, 3]);
  });

  test('is described with the first 20', async () => {
    const {body} = await send(`table=${t}&on_error=skip`, 'no\n'.repeat(1_500));
    expect(body).toMatchObject({lines: 1_500, failed: 1_500});
    expect((body as Counts).errors).toHaveLength(20);
  });

  test('an endless line is refused while it comes', async () => {
    const endless = async function* () {
      for (let sent = 0; sent < 64; sent++) yield Buffer.alloc(1024 * 1024, 0x20);
    };
    const {statusCode, body} = await request(
      `${service.url}/api/tenants/${tenant.id}/import?table=${t}&on_error=skip`,
      {
        method: 'POST',
        body: Readable.from(endless()),
        headers: {authorization: `Bearer ${service.accessToken}`, 'content-type': JSON_LINES},
      },
    );
    expect([statusCode, await body.json()]).toMatchObject([
      200,
      {lines: 1, failed: 1, errors: [{code: 'op.too_large'}]},
    ]);
  });
});

describe('CSV', () => {
  test('names its fields in the first record; cells are what the schema says, empty ones are none', async () => {
    const fields = [
      {name: 'n', field_type: 'number', required: false},
      {name: 'ok', field_type: 'boolean', required: false},
      {name: 'tags', field_type: 'array', required: false},
    ];
    expect((await tenant.request('PUT', `/schema/${t}`, {table: t, fields})).status).toBe(204);
    const mixed = 'a,b\n1,2\r\n3,"x\ny"\r5,6\n';
    expect((await send(`table=${t}ends`, mixed, 'text/csv')).body).toEqual(counts({lines: 5, inserted: 3}));
    expect(await tenant.list(`${t}ends`)).toMatchObject([
      {a: '1', b: '2'},
      {a: '3', b: 'x\ny'},
      {a: '5', b: '6'},
    ]);
    const body = '\ufeffn,ok,tags,"no ""te",x\r\n1.5,true,"[1,""a""]","two\nlines",x\r\n,false,,7,\r\n';
    expect((await send(`table=${t}`, body, 'text/csv; charset=utf-8')).body).toEqual(counts({lines: 4, inserted: 2}));
    const [first, second] = await tenant.list(t);
    expect(first).toMatchObject({n: 1.5, ok: true, tags: [1, 'a'], 'no "te': 'two\nlines'});
    expect(second).toMatchObject({ok: false, 'no "te': '7'});
    expect(Object.keys(second!)).not.toContain('n');
  });

  test.each([
    ['nothing at all', '', 400, /no header/],
    ['a column twice', 'a,a\n1,2\n', 400, /twice/],
    ['a column without a name', 'a,\n1,2\n', 400, /column 2 .* no name/],
    ['a quote that never ends', 'a\n"x\n', 400, /not CSV/],
    ['a quote in a cell without quotes', 'a\nx"y\n', 400, /not CSV/],
    ['text after the quotes', 'a\n"x"y\n', 400, /not CSV/],
    ['no UTF-8', Buffer.from([0x61, 0x0a, 0xff, 0x0a]), 400, /UTF-8/],
    ['a record with too many cells', 'a\n1,2\n', 400, /^line 2: the record has 2 cells, the header has 1$/],
    ['an endless record', `a\n"${'x'.repeat(IMPORT_LINE_BYTES_MAX + 1024)}`, 413, /longer than/],
  ])('%s is refused', async (_, body, status, message) => {
    const reply = await send(`table=${t}`, body, 'text/csv');
    expect([reply.status, (reply.body as {error: {message: string}}).error.message]).toEqual([
      status,
      expect.stringMatching(message),
    ]);
    expect(await tenant.list(t)).toEqual([]);
  });
});

test.each([
  ['tabel=t', JSON_LINES, 400, /no parameter "tabel"/],
  ['table=t&table=u', JSON_LINES, 400, /twice/],
  ['table=1', JSON_LINES, 400, /cannot be a table/],
  ['table=t&mode=replace', JSON_LINES, 400, /mode must be one of "insert", "own_ids", "upsert"/],
  ['table=t&on_error=go', JSON_LINES, 400, /on_error/],
  ['table=t&first_line=2', JSON_LINES, 400, /import_id/],
  ['table=t&import_id=a&first_line=0', JSON_LINES, 400, /first_line/],
  ['table=t&import_id=a/b', JSON_LINES, 400, /import_id/],
  ['table=t', 'application/json', 415, /application\/x-ndjson or text\/csv/],
  ['', 'text/csv', 400, /names its table/],
  ['import_id=a&table=t&first_line=2', 'text/csv', 400, /header/],
])('?%s of %s is %d', async (query, type, status, message) => {
  const reply = await send(query, '{"n":1}\n', type);
  expect([reply.status, (reply.body as {error: {message: string}}).error.message]).toEqual([
    status,
    expect.stringMatching(message),
  ]);
  expect(await tenant.list(t)).toEqual([]);
});

describe('an import with an id', () => {
  const found = async (id: string) =>
    (await tenant.request('GET', `/import/${id}`)).body as {import: Counts & {state: string}};

  test('goes on behind the lines that are in, whichever way they are sent again', async () => {
    const query = `table=${t}&import_id=one`;
    const stopped = await send(query, `${all(3)}no\n${all(2, 4)}`);
    expectError(stopped, 400, 'op.invalid_input');
    expect((await found('one')).import).toMatchObject({state: 'open', lines: 3, inserted: 3});
    expect((await send(query, all(6))).body).toMatchObject({lines: 6, inserted: 6});
    expect((await send(`${query}&first_line=7`, all(2, 6))).body).toMatchObject({lines: 8, inserted: 8});
    expect((await found('one')).import).toMatchObject({state: 'complete', lines: 8});
    expect(await numbers()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expectError(await send(`${query}&first_line=10`, all(1)), 409, 'op.conflict');
    expectError(await send('table=u&import_id=one', all(1)), 409, 'op.conflict');
    await send(`table=${t}&import_id=two`, 'a\n1\n2\n', 'text/csv');
    expect((await send(`table=${t}&import_id=two`, 'a\n1\n2\n3\n', 'text/csv')).body).toMatchObject({
      lines: 4,
      inserted: 3,
    });
    const {imports} = (await tenant.request('GET', '/import')).body as {imports: {import_id: string}[]};
    expect(imports.map(({import_id}) => import_id).sort()).toEqual(['one', 'two']);
    expectError(await tenant.request('GET', '/import/none'), 404, 'op.not_found');
  });

  test('goes on behind blank lines that end a body', async () => {
    const query = `table=${t}&import_id=blank`;
    expect((await send(query, `${all(2)}\n\n`)).body).toEqual(counts({lines: 4, inserted: 2}));
    expect((await send(`${query}&first_line=5`, '\n  ')).body).toEqual(counts({lines: 6, inserted: 2}));
    expect((await send(`${query}&first_line=7`, all(1, 2))).body).toEqual(counts({lines: 7, inserted: 3}));
  });

  test('whose worker is killed again and again has each line once', async () => {
    const LINES = 30_000;
    const text = all(LINES);
    const sender = (async () => {
      for (;;) {
        const reply = await send(`table=${t}&import_id=killed`, text).catch(() => null);
        if (reply?.status === 200) return reply.body;
        if (reply !== null) expect(reply.text).toMatch(/"code":"session\./);
      }
    })();
    const inNow = async () => (await found('killed')).import?.lines ?? 0;
    for (let kills = 0; kills < rounds({commit: 2, nightly: 3}); kills++) {
      const before = await inNow();
      await until('lines to be in', async () => (await inNow()) > before);
      const worker = await service.workerOf(tenant.id);
      process.kill(worker, 'SIGKILL');
      await until('its end', () => !isAlive(worker));
    }
    expect(await sender).toMatchObject({lines: LINES, inserted: LINES});
    const {body} = await tenant.request('POST', '/query', {table: t, filters: [], limit: LINES + 1});
    expect((body as {data: {n: number}[]}).data.map(({n}) => n)).toEqual(Array.from({length: LINES}, (_, n) => n));
  });

  test('is taken over by the newest request, and other writes get in between', async () => {
    let push: (text: string | null) => void = () => undefined;
    const slow = new Readable({read() {}});
    push = text => void slow.push(text);
    const url = `${service.url}/api/tenants/${tenant.id}/import?table=${t}&import_id=over`;
    const headers = {authorization: `Bearer ${service.accessToken}`, 'content-type': JSON_LINES};
    const first = request(url, {method: 'POST', body: slow, headers}).then(
      async ({statusCode, body}) => [statusCode, await body.text()],
      (error: Error) => [0, error.message],
    );
    push(all(1_000));
    await until('lines to be in', async () => ((await found('over')).import?.lines ?? 0) === 1_000);
    await tenant.insert(t, {n: -1});
    push('{"n":'); // a line that never ends
    expect((await send(`table=${t}&import_id=over`, all(1_001))).body).toMatchObject({lines: 1_001, inserted: 1_001});
    expect(await first).toEqual([409, expect.stringContaining('another request')]);
    push(null);
    expect(await numbers()).toHaveLength(1_002);
  });

  test('goes on when another one asks for its id with another table or mode, which is refused', async () => {
    const slow = new Readable({read() {}});
    const url = `${service.url}/api/tenants/${tenant.id}/import?table=${t}&import_id=mine`;
    const headers = {authorization: `Bearer ${service.accessToken}`, 'content-type': JSON_LINES};
    const first = request(url, {method: 'POST', body: slow, headers}).then(({body}) => body.json());
    slow.push(all(1_000));
    await until('lines to be in', async () => ((await found('mine')).import?.lines ?? 0) === 1_000);
    expectError(await send(`table=other_${t}&import_id=mine`, all(1)), 409, 'op.conflict');
    expectError(await send(`table=${t}&mode=upsert&import_id=mine`, all(1)), 409, 'op.conflict');
    slow.push(all(1_000, 1_000));
    slow.push(null);
    expect(await first).toEqual(counts({lines: 2_000, inserted: 2_000}));
  });
});
