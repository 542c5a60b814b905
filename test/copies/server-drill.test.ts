/** The drill of a server: it restores copies beside the tenants that it serves, and starts their functions. */
import {readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {BackupStatus, TenantBackup} from '../../shared/protocol/backups.ts';
import {App} from '../functions/app.ts';
import {type TestRepository, testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

const FUNCTIONS = {
  'm.ts': `
    import {query} from './_generated/server';
    export const all = query(ctx => ctx.db.query('t').collect());`,
};
let repository: TestRepository;
let service: Service;
let app: App;

beforeAll(async () => {
  repository = await testRepository(afterAll);
  service = await Service.start({args: repository.args});
  app = await App.deploy(service, FUNCTIONS);
  expect((await app.admin('POST', '/documents', {table: 't', fields: {n: 1}})).status).toBe(201);
  expect((await service.request('POST', '/api/backup/run')).status).toBe(200);
});
afterAll(() => service.end('SIGTERM'));

async function status(): Promise<NonNullable<BackupStatus['backup']> & {tenant: TenantBackup}> {
  const {body} = await service.get('/api/backup');
  const {backup, tenants} = body as BackupStatus;
  return {...backup!, tenant: tenants.find(({id}) => id === app.tenant)!};
}

/** Resolves when a drill that begins now has ended. */
async function drilled(): Promise<Awaited<ReturnType<typeof status>>> {
  const before = (await status()).drill.last?.at;
  expect((await service.request('POST', '/api/backup/drill')).status).toBe(202);
  return until('the drill to end', async () => {
    const now = await status();
    return now.drill.running === null && now.drill.last !== null && now.drill.last.at !== before ? now : null;
  });
}

async function provenAt(): Promise<number> {
  const {text} = await service.get('/metrics');
  return Number(/^svc_backup_last_proven_timestamp_seconds (\S+)$/m.exec(text)![1]);
}

test('a sound copy is proven with its functions, and the scratch directory is gone', async () => {
  expect(await provenAt()).toBe(0);
  const {drill, tenant} = await drilled();
  expect(drill.last).toMatchObject({tenants: 1, failed: 0});
  expect(tenant.last_proof).toMatchObject({passed: true, point: tenant.newest, finding: null, object: null});
  expect(await (await repository.open()).newestProof(app.tenant)).toMatchObject({
    passed: true,
    functions: 'started',
    query: 'm:all returned',
  });
  expect(await provenAt()).toBeGreaterThan(0);
  expect(readdirSync(service.data)).not.toContain('scratch');
});

test('a copy becomes a tenant that answers reads, as it was', async () => {
  const {tenant} = await status();
  await app.admin('POST', '/documents', {table: 't', fields: {n: 2}});
  const restore = (query: string) => app.admin('POST', `/restore?${query}`);
  const {status: code, body} = await restore(`to_sequence=${tenant.newest!.sequence}&as=past`);
  expect({code, body}).toEqual({
    code: 201,
    body: {tenant: 'past', from: app.tenant, point: tenant.newest, gap: null, live: false},
  });
  const past = `/api/tenants/past/documents`;
  expect((await service.get(`${past}/t`)).body).toMatchObject({data: [{n: 1}]});
  expect((await service.request('POST', past, {table: 't', fields: {}})).status).toBe(409);
  expect((await restore('as=past')).status).toBe(409);
  expect((await restore('as=early&to_time=1')).status).toBe(404);
  expect((await service.request('DELETE', '/api/tenants/past')).status).toBe(204);
});

test('a damaged object fails the drill and is named; a second drill waits for the first', async () => {
  const folder = join(repository.directory, 'packs');
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    bytes[100]! ^= 1;
    writeFileSync(join(folder, name), bytes);
  }
  const [first, second] = await Promise.all([1, 2].map(() => service.request('POST', '/api/backup/drill?tenants=100')));
  expect([first!.status, second!.status].sort()).toEqual([202, 409]);
  const {drill, tenant} = await until('the drill to end', async () => {
    const now = await status();
    return now.drill.running === null && now.tenant.last_proof?.passed === false ? now : null;
  });
  expect(drill.last!.failed).toBe(drill.last!.tenants);
  expect(tenant.last_proof!.object).toMatch(/^packs\//);
});
