/** Mistakes of an operator with a repository in use: nothing that was stored is lost, each is named, and undoing it is enough. */
import {cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {newRepositoryKey} from '../../copies/repository/keys.ts';
import type {Target} from '../../copies/repository/plan.ts';
import {restoreFile} from '../../copies/restore/restore-file.ts';
import type {BackupStatus} from '../../shared/protocol/backups.ts';
import {type TestRepository, testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {contentOf, TenantHistory} from './history.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-operator-faults-'));
let repository: TestRepository;
let service: Service;
let tenant: Tenant;

beforeAll(async () => {
  repository = await testRepository(afterAll);
  service = await Service.start({args: repository.args});
  tenant = await Tenant.make(service);
});
afterAll(async () => {
  await service.stop();
  rmSync(scratch, {recursive: true});
});
beforeEach(async () => {
  service.showLogOnFailure();
  await tenant.insert('t', {});
  await backUp();
});

const admin = () => ({'x-svc-admin-token': service.adminToken});

function backUp(): Promise<unknown> {
  return until('a whole backup', async () => {
    return (await service.request('POST', '/api/backup/run', undefined, admin())).status === 200;
  });
}

/** Null: the copier starts again. */
async function status(): Promise<BackupStatus['backup']> {
  const {status: code, body} = await service.get('/api/backup', admin());
  return code === 200 ? (body as BackupStatus).backup : null;
}

/** @returns its message */
function fault(kind: string): Promise<string> {
  return until(`the fault ${kind}`, async () => {
    const now = await status();
    return now?.last_fault?.kind === kind && now.last_fault.message;
  });
}

async function expectCopied(): Promise<void> {
  await backUp();
  const [content, history] = [await restored(tenant), await TenantHistory.of(tenant)];
  expect([content.sequence, history.differencesOf(content)]).toEqual([history.head, []]);
}

async function restored({id}: Tenant, target: Target = 'newest'): Promise<ReturnType<typeof contentOf>> {
  const reader = await repository.open();
  const path = join(scratch, 'restored.sqlite');
  await restoreFile({repository: reader, tenant: id, target, path, isKept: true});
  reader.close();
  const content = contentOf(path);
  rmSync(path);
  return content;
}

test('the directory of the repository is moved away, and is not made again in its place', async () => {
  renameSync(repository.directory, `${repository.directory}.moved`);
  await tenant.insert('t', {});
  expect(await fault('unavailable')).toContain(repository.directory);
  expect((await status())?.age_ms).toBeGreaterThan(0);
  expect(existsSync(repository.directory)).toBe(false);
  renameSync(`${repository.directory}.moved`, repository.directory);
  await expectCopied();
});

test('the key file is another one when the copier starts again', async () => {
  const key = readFileSync(repository.keyFile);
  writeFileSync(repository.keyFile, `${newRepositoryKey()}\n`);
  for (const pid of service.children('copier')) process.kill(pid, 'SIGKILL');
  await tenant.insert('t', {});
  expect(await fault('wrong_key')).toMatch(/key/);
  writeFileSync(repository.keyFile, key);
  await expectCopied();
});

test('an older copy of the data directory is put in its place while the server is stopped: a new timeline begins', async () => {
  const sleeper = await Tenant.make(service);
  await sleeper.insert('t', {n: 'asleep'});
  await backUp();
  await service.end('SIGTERM');
  cpSync(service.data, join(scratch, 'older'), {recursive: true});
  await service.run();
  const older = await TenantHistory.of(tenant);
  for (const one of [tenant, sleeper]) for (let n = 0; n < 5; n++) await one.insert('t', {n});
  await backUp();
  const [ended, endedMs, cursor] = [await TenantHistory.of(tenant), Date.now(), await cursorOf(tenant)];
  await service.end('SIGTERM');
  rmSync(service.data, {recursive: true});
  cpSync(join(scratch, 'older'), service.data, {recursive: true});
  await service.run();

  // The tenant that sleeps is not woken for it.
  await backUp();
  expect([(await restored(sleeper)).sequence, (await restored(tenant)).sequence]).toEqual([1, older.head]);
  expect((await status())?.last_fault).toBeNull();
  expect(await tenant.request('GET', cursor)).toMatchObject({
    status: 410,
    body: {error: {code: 'journal.cursor_expired'}},
  });
  await tenant.insert('t', {other: true});
  await expectCopied();
  // What was stored before is still there, in the history that ended.
  expect(ended.differencesOf(await restored(tenant, {timeMs: endedMs}))).toEqual([]);
  expect((await restored(tenant, {timeMs: endedMs})).sequence).toBe(ended.head);
});

/** A page of the journal that a follower would request next. */
async function cursorOf(of: Tenant): Promise<string> {
  const {body} = await of.request('GET', '/journal?after=0');
  const {timeline, latest_sequence: after} = body as {timeline: string; latest_sequence: number};
  return `/journal?after=${after}&timeline=${timeline}`;
}
