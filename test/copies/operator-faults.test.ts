/** Mistakes of an operator with a repository in use: nothing that was stored is lost, each is named, and undoing it is enough. */
import {existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {newRepositoryKey} from '../../copies/repository/keys.ts';
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
  const reader = await repository.open();
  const path = join(scratch, 'restored.sqlite');
  await restoreFile({repository: reader, tenant: tenant.id, target: 'newest', path});
  reader.close();
  const [content, history] = [contentOf(path), await TenantHistory.of(tenant)];
  rmSync(path);
  expect([content.sequence, history.differencesOf(content)]).toEqual([history.head, []]);
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
