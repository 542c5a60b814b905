/** What clients of the API rely on is the same after the server has started again. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {checkChain, journalAfter} from '../harness/journal.ts';
import {Service} from '../harness/service.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('after kill -9: schemas, replies to an Idempotency-Key, cursors (also with a new index) and the chain of the journal', async () => {
  service.showLogOnFailure();
  const tenant = await Tenant.make(service);
  const query = {table: 't', filters: [], order: {field: 'n', direction: 'desc'}};
  const numbers = (docs: Doc[]) => docs.map(doc => doc.n);
  const once = () => tenant.request('POST', '/documents', {table: 'once', fields: {n: 1}}, {'idempotency-key': 'k'});

  await tenant.putSchema('people', [{name: 'name', field_type: 'string', required: true}]);
  const schema = (await tenant.request('GET', '/schema')).text;
  for (let n = 0; n < 6; n++) await tenant.insert('t', {n});
  const {next_cursor: after} = await tenant.page({query, page_size: 2});
  const first = await once();
  expect(first.status).toBe(201);

  await service.killAll();
  await service.run();

  expect((await tenant.request('GET', '/schema')).text).toBe(schema);
  const insert = {table: 'people', fields: {}};
  expectError(await tenant.request('POST', '/documents', insert), 400, 'op.schema_violation');
  expect(await once()).toMatchObject({status: 201, text: first.text});
  expect(await tenant.list('once')).toHaveLength(1);
  await tenant.putSchema('t', [], [{name: 'by_n', fields: ['n']}]);
  expect(numbers((await tenant.page({query, page_size: 9, after})).data)).toEqual([3, 2, 1, 0]);
  await tenant.insert('t', {n: 6});
  const {records, texts} = await journalAfter(tenant, 0);
  checkChain(texts);
  expect(records.map(({sequence}) => sequence)).toEqual(Array.from({length: 10}, (_, n) => n + 1));
});
