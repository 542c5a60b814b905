/** GET …/export: documents at one sequence, and back in by an import. */
import {request} from 'undici';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {canonical, journalAfter, replay} from '../harness/journal.ts';
import {Service} from '../harness/service.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const sent = {'content-type': 'application/x-ndjson'};

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
  const lines = Array.from({length: 3_000}, (_, n) => JSON.stringify({n, text: 'ø'.repeat(500)})).join('\n');
  expect((await tenant.request('POST', '/import?table=a', lines, sent)).status).toBe(200);
  await tenant.insert('b', {n: 'other'});
});
afterAll(() => service.stop());

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
