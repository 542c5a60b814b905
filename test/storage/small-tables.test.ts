/**
 * What a tenant keeps besides documents and its journal, as a whole: rows that are not found any more, single values and
 * definitions that are not what was written. None of it reads as empty, as unset, or as something else.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {svc} from '../harness/command.ts';
import {FunctionSocket} from '../harness/function-socket.ts';
import {rounds} from '../harness/nightly.ts';
import {makeOlder} from '../harness/older-file.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const PAGE_BYTES = 4096;
const INSERT = {type: 'insert', table: 'later', fields: {a: 1}};
const FUNCTIONS = `
  import {mutation, query} from './_generated/server';
  export const one = query({args: {}, handler: () => 1});
  export const noted = mutation({args: {}, handler: ctx => ctx.db.insert('notes' as never, {} as never)});`;

type Damaged = {what: string; damage: (path: string) => void};

/** As one flipped bit does to a page with one, two, four … rows. */
const emptied = (tree: string): Damaged => ({
  what: `${tree}, emptied`,
  damage: path => {
    const db = new Database(path, {readonly: true});
    const page = db.prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(tree)!;
    db.close();
    const bytes = readFileSync(path);
    const head = (page - 1) * PAGE_BYTES;
    expect(bytes.readUInt16BE(head + 3)).toBeGreaterThan(0);
    bytes.writeUInt16BE(0, head + 3);
    writeFileSync(path, bytes);
  },
});
const changed = (what: string, sql: string): Damaged => ({
  what,
  damage: path => {
    const db = new Database(path);
    expect(db.prepare(sql).run().changes).toBe(1);
    db.close();
  },
});
const rewritten = (what: string, from: string, to: string): Damaged => ({
  what,
  damage: path => {
    const bytes = readFileSync(path);
    expect(bytes.includes(from)).toBe(true);
    // Unused parts of pages may have it, too.
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at);
    writeFileSync(path, bytes);
  },
});
/** In the first place where it is, which is not the only one. */
const flipped = (what: string, from: string, to: string): Damaged => ({
  what,
  damage: path => {
    const bytes = readFileSync(path);
    const at = bytes.indexOf(from);
    expect(bytes.indexOf(from, at + 1)).toBeGreaterThan(at);
    bytes.write(to, at);
    writeFileSync(path, bytes);
  },
});

const ALL: Damaged[] = [
  ...['jobs', 'jobs_by_time', 'job_results', 'crons', 'environment', 'idempotency', 'tables', 'indexes'].map(emptied),
  ...['control_records', 'services', 'bulk_records', 'client_mutations', 'client_mutations_by_age'].map(emptied),
  ...['deployments', 'meta', 'row_sums', 'journal', 'documents'].map(emptied),
  changed('settings', `UPDATE meta SET value = replace(value, 'example', 'exbmple') WHERE key = 'function_settings'`),
  changed('which deployment is active', `UPDATE meta SET value = 2 WHERE key = 'active_deployment'`),
  changed('the sum of the jobs', `UPDATE row_sums SET sum = sum + 1 WHERE kind = 'jobs'`),
  changed('the sum of the client_mutations', `UPDATE row_sums SET sum = sum + 1 WHERE kind = 'client_mutations'`),
  // Under another id it would not be found, and the mutation would run again.
  flipped('whose one of the client_mutations is', 'a-client-of-this-test', 'b-client-of-this-test'),
  rewritten('a definition', `IN ('completed', 'failed')`, `IN ('completed', 'gailed')`),
  rewritten('a name in a definition', 'finished_at INTEGER NOT NULL', 'fioished_at INTEGER NOT NULL'),
];
/** Of each way to damage some. */
const CASES = rounds({commit: ALL.filter((_, n) => n % 6 === 0), nightly: ALL});

const DEPLOYMENTS: Damaged[] = [
  changed('a manifest', `UPDATE deployments SET manifest = replace(manifest, 'one', 'two')`),
  changed('the files of a deployment', `UPDATE deployments SET files = replace(files, 'sha256', 'shb256')`),
];

let service: Service;
const tenants = new Map<string, Tenant>();
let older: Tenant;

const fileOf = (tenant: string) => join(service.directoryOf(tenant)!, 'tenant.sqlite');

async function fill(tenant: Tenant): Promise<void> {
  await tenant.putSchema('t', [], [{name: 'by_n', fields: ['n']}]);
  await tenant.insert('t', {n: 1}, {'idempotency-key': 'once'});
  const now = await tenant.request('POST', '/schedule', {run_after_ms: 0, mutation: INSERT});
  const {job_id} = now.body as {job_id: string};
  await until(
    'the job to run',
    async () => (await tenant.request('GET', `/schedule/history/${job_id}`)).status === 200,
  );
  await tenant.request('POST', '/schedule', {run_after_ms: 86_400_000, mutation: INSERT});
  const cron = {name: 'daily', schedule: {type: 'interval', seconds: 86_400}, mutation: INSERT};
  expect((await tenant.request('POST', '/crons', cron)).status).toBe(201);
  expect((await tenant.request('PUT', '/env/WORD', {value: 'right'})).status).toBe(204);
  expect((await tenant.service.post('/api/sessions', {tenant: tenant.id})).status).toBe(201);
  const resting = {name: 'it', source: {type: 'inline', code: 'export default () => {};'}, autostart: false};
  expect((await tenant.request('POST', '/services', resting)).status).toBe(201);
}

beforeAll(async () => {
  service = await Service.start();
  for (const {what} of [...CASES, ...DEPLOYMENTS]) {
    const tenant = /deploy|manifest|client_mutations/.test(what)
      ? Tenant.of(service, (await App.deploy(service, {'f.ts': FUNCTIONS})).tenant)
      : await Tenant.make(service);
    await fill(tenant);
    if (what.includes('bulk_records')) {
      const sent = {'content-type': 'application/x-ndjson'};
      expect((await tenant.request('POST', '/import?import_id=a', undefined, sent)).status).toBe(200);
    }
    if (what.includes('client_mutations')) {
      const socket = await FunctionSocket.established(service, tenant.id, {client_id: 'a-client-of-this-test'});
      for (let n = 0; n < 2; n++) await socket.mutation('f:noted');
      socket.close();
    }
    const settings = {egress: {allow: [], deny: []}, allowed_origins: ['https://app.example']};
    expect((await tenant.request('PUT', '/settings', settings)).status).toBe(204);
    tenants.set(what, tenant);
  }
  older = await Tenant.make(service);
  await fill(older);
  await service.end('SIGTERM');
  for (const {what, damage} of [...CASES, ...DEPLOYMENTS]) damage(fileOf(tenants.get(what)!.id));
  const db = new Database(fileOf(older.id));
  makeOlder(db, 8);
  db.close();
  await service.run();
}, 240_000);
afterAll(() => service.stop());

test.each(CASES)('$what: nothing of the tenant is served, and the error names the reason', async ({what}) => {
  service.showLogOnFailure();
  const damaged = tenants.get(what)!;
  for (const path of ['/schedule', '/crons', '/env', '/schema', '/settings', '/deployments', '/documents/t']) {
    expectError(await damaged.request('GET', path), 503, 'op.storage_damaged');
  }
  expectError(await damaged.request('POST', '/documents', {table: 't', fields: {n: 2}}), 503, 'op.storage_damaged');
  const {code, stdout} = await svc(['verify', '--data', service.data, '--tenant', damaged.id]);
  expect(stdout).toContain('NOT OK');
  expect(code).toBe(1);
});

test.each(DEPLOYMENTS)('$what, damaged: its functions are refused, its documents are served', async ({what}) => {
  service.showLogOnFailure();
  const damaged = tenants.get(what)!;
  expectError(await damaged.request('GET', '/deployments'), 503, 'op.storage_damaged');
  expect(await damaged.list('t')).toHaveLength(1);
  const {code, stdout} = await svc(['verify', '--data', service.data, '--tenant', damaged.id]);
  expect(stdout).toContain('NOT OK');
  expect(code).toBe(1);
});

test('rows from before there were checksums have one after the first open, and are held against it', async () => {
  service.showLogOnFailure();
  expect((await older.request('GET', '/crons')).text).toContain('daily');
  await service.end('SIGTERM');
  const db = new Database(fileOf(older.id));
  for (const kind of ['jobs', 'job_results', 'crons', 'environment', 'tables', 'indexes', 'meta']) {
    const unsummed = db.prepare(`SELECT count(*) FROM ${kind} WHERE checksum IS NULL`).pluck().get();
    expect([kind, unsummed]).toEqual([kind, 0]);
  }
  expect(db.prepare(`UPDATE crons SET interval_ms = 1`).run().changes).toBe(1);
  db.close();
  expect((await svc(['verify', '--data', service.data, '--tenant', older.id])).stdout).toContain('the cron "daily"');
  await service.run();
  expectError(await older.request('GET', '/crons'), 503, 'op.storage_damaged');
  expect(await older.list('t')).toHaveLength(1);
});
