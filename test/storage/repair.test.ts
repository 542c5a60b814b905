/** `svc recover --repair`: a tenant that its damaged file keeps closed is opened again, and what it cost is said. */
import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const SCHEMA = [{name: 'n', field_type: 'number', required: true}];
const INSERT = {type: 'insert', table: 'later', fields: {a: 1}};

let service: Service;
let flipped: Tenant;
let rewritten: Tenant;
let emptied: Tenant;
let defined: Tenant;
let schemaBefore: string;

const fileOf = ({id}: Tenant) => join(service.directoryOf(id)!, 'tenant.sqlite');
const repair = ({id}: Tenant) => svc(['recover', '--data', service.data, '--repair', id]);

function change(tenant: Tenant, sql: string): void {
  const db = new Database(fileOf(tenant));
  expect(db.prepare(sql).run().changes).toBe(1);
  db.close();
}

beforeAll(async () => {
  service = await Service.start();
  for (let i = 0; i < 4; i++) {
    const tenant = await Tenant.make(service);
    await tenant.putSchema('t', SCHEMA as never, [{name: 'by_n', fields: ['n']}]);
    await tenant.insert('t', {n: 1});
    expect((await tenant.request('POST', '/schedule', {run_after_ms: 86_400_000, mutation: INSERT})).status).toBe(201);
    [flipped, rewritten, emptied, defined] = [rewritten!, emptied!, defined!, tenant];
  }
  schemaBefore = (await flipped.request('GET', '/schema')).text;
  await service.end('SIGTERM');
  // n and o are one bit apart.
  change(flipped, `UPDATE tables SET fields = replace(fields, 'number', 'oumber') WHERE name = 't'`);
  change(rewritten, `UPDATE tables SET fields = replace(fields, 'number', 'string') WHERE name = 't'`);
  change(emptied, `UPDATE row_sums SET rows = rows + 3 WHERE kind = 'jobs'`);
  change(defined, `UPDATE meta SET value = 'abc' WHERE key = 'tenant_timeline'`);
  await service.run();
});
afterAll(() => service.stop());

test('nothing is served of them before', async () => {
  for (const tenant of [flipped, rewritten, emptied, defined]) {
    expectError(await tenant.request('GET', '/documents/t'), 503, 'op.storage_damaged');
  }
  await service.end('SIGTERM');
});

test('one changed bit is put back; the files as they were are kept', async () => {
  const damaged = readFileSync(fileOf(flipped));
  const {code, stdout} = await repair(flipped);
  expect(stdout).toContain('the one bit that had changed was put back');
  expect(code).toBe(0);
  const kept = join(service.data, 'set-aside', readdirSync(join(service.data, 'set-aside'))[0]!);
  expect(readFileSync(join(kept, 'tenant.sqlite')).equals(damaged)).toBe(true);
});

test('another damaged schema is dropped, and rows that are missing are given up, in words', async () => {
  writeFileSync(join(service.directoryOf(rewritten.id)!, 'damaged.txt'), 'a finding\n');
  expect((await repair(rewritten)).stdout).toContain('it has no schema now, its documents stay');
  expect(existsSync(join(service.directoryOf(rewritten.id)!, 'damaged.txt'))).toBe(false);
  const {stdout} = await repair(emptied);
  expect(stdout).toContain('the table jobs had 4 rows, and 1 are found; those that are found are all there are now');
});

test('what nothing tells is not made up: the file stays as it is', async () => {
  const {code, stderr} = await repair(defined);
  expect(code).not.toBe(0);
  expect(stderr).toContain('tenant_timeline is damaged, and nothing tells what it was; nothing was changed');
});

test('then they serve again', async () => {
  await service.run();
  service.showLogOnFailure();
  expect((await flipped.request('GET', '/schema')).text).toBe(schemaBefore);
  for (const tenant of [flipped, rewritten, emptied]) {
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    await tenant.insert('t', {n: 2});
    expect((await tenant.request('GET', '/schedule')).text).toContain('later');
  }
  expect((await rewritten.request('GET', '/schema/t')).status).toBe(404);
  expectError(await defined.request('GET', '/documents/t'), 503, 'op.storage_damaged');
  await service.end('SIGTERM');
  for (const {id} of [flipped, rewritten, emptied]) {
    const {code, stdout} = await svc(['verify', '--data', service.data, '--tenant', id]);
    expect(stdout).toContain(': ok');
    expect(code).toBe(0);
  }
});
