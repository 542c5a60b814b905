/** All that a tenant does, for tests of its copies. */
import {expect} from 'vitest';
import type {App} from '../functions/app.ts';
import {endedTask} from '../harness/tasks.ts';
import {Tenant} from '../harness/tenant.ts';
import {expectStatus, FUNCTIONS, filled, insertCity} from '../operations/samples/filled.ts';

/** Everything that a tenant does, in steps. */
export const EVERYTHING: ((app: App) => Promise<unknown>)[] = [
  filled,
  app =>
    expectStatus(app.admin('POST', '/import?table=cities', lines(600), {'content-type': 'application/x-ndjson'}), 200),
  app => index(app, 'cities', 'n'),
  app => expectStatus(app.admin('POST', '/documents', {table: 'big', fields: {text: 'x'.repeat(300_000)}}), 201),
  app => expectStatus(app.admin('POST', '/tables/big/rename', {to: 'large'}), 204),
  app => task(app, app.admin('DELETE', '/tables/large')),
  app => expectStatus(app.admin('POST', '/documents', {table: 'cities', fields: {}}), 400),
  app => expectStatus(app.admin('POST', '/documents', CITY, {'idempotency-key': 'one'}), 201),
  app => expectStatus(app.admin('POST', '/documents', CITY, {'idempotency-key': 'one'}), 201),
  app => task(app, app.admin('POST', '/tasks', {type: 'delete', query: {table: 'cities', filters: [N_LARGE]}})),
  app => app.deploy({'m.ts': FUNCTIONS['m.ts']}),
  app => expectStatus(app.admin('POST', '/services', SERVICE), 201),
  app => expectStatus(app.admin('DELETE', '/services/s'), 204),
  app => Promise.all(Array.from({length: 20}, () => insertCity(app))),
];
const SERVICE = {
  name: 's',
  source: {type: 'inline', code: 'export default async () => {};'},
  node_version: '22',
  autostart: false,
};
const CITY = {table: 'cities', fields: {name: 'Rome'}};
const N_LARGE = {field: 'n', op: 'gt', value: 100};

function lines(count: number): string {
  return Array.from({length: count}, (_, n) => JSON.stringify({name: `city ${n}`, n, text: 'y'.repeat(n % 500)})).join(
    '\n',
  );
}

async function index(app: App, table: string, field: string): Promise<void> {
  const fields = [{name: 'name', field_type: 'string', required: true}];
  const indexes = [{name: `by_${field}`, fields: [field]}];
  await expectStatus(app.admin('PUT', `/schema/${table}`, {table, fields, indexes}), 204);
}

async function task(app: App, started: Promise<{status: number; text: string; body: unknown}>): Promise<void> {
  const {status, text, body} = await started;
  expect({status, text}).toMatchObject({status: 202});
  const {id} = body as {id: string};
  expect(await endedTask(Tenant.of(app.service, app.tenant), id)).toMatchObject({state: 'completed'});
}
