/** A store that fails slows no write, and makes no backup look good that is not. */
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {newRepositoryKey, parseRepositoryKey} from '../../copies/repository/keys.ts';
import {Repository} from '../../copies/repository/repository.ts';
import {restoreFile} from '../../copies/restore/restore-file.ts';
import {openStore} from '../../copies/store/open-store.ts';
import type {BackupStatus} from '../../shared/protocol/backups.ts';
import {svc} from '../harness/command.ts';
import {type Fault, FaultyStore} from '../harness/faulty-store.ts';
import {firstOf} from '../harness/nightly.ts';
import {type S3, S3_ENV, s3Url, startS3} from '../harness/s3.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {contentOf, TenantHistory} from './history.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-faulty-repository-'));
const key = join(root, 'backup.key');
let s3: S3;
let store: FaultyStore;
let url: string;
let service: Service;
let tenant: Tenant;

beforeAll(async () => {
  Object.assign(process.env, S3_ENV);
  s3 = await startS3();
  store = await FaultyStore.start({behind: s3});
  url = s3Url(store.endpoint, 'one');
  writeFileSync(key, `${newRepositoryKey()}\n`, {mode: 0o600});
  (await Repository.init(await openStore(url), keyBytes())).close();
  service = await Service.start({args: argsFor(url), env: S3_ENV});
  tenant = await Tenant.make(service);
});
afterAll(async () => {
  await service.stop();
  await store.stop();
  await s3.stop();
  rmSync(root, {recursive: true, force: true});
  for (const name of Object.keys(S3_ENV)) delete process.env[name];
});

function argsFor(to: string): string[] {
  return ['--backup-to', to, '--backup-key', key, '--backup-every', '200ms'];
}

function keyBytes(): Buffer {
  return parseRepositoryKey(readFileSync(key, 'utf8'));
}

function admin(of: Service): Record<string, string> {
  return {'x-svc-admin-token': of.adminToken};
}

async function statusOf(of: Service): Promise<NonNullable<BackupStatus['backup']>> {
  return ((await of.get('/api/backup', admin(of))).body as BackupStatus).backup!;
}

/** @returns whether the repository has everything */
async function backUp(): Promise<boolean> {
  return (await service.request('POST', '/api/backup/run', undefined, admin(service))).status === 200;
}

const FAULTS = firstOf<Fault>(3, [
  {kind: 'hangs'},
  {kind: 'forgets'},
  {kind: 'flips'},
  {kind: 'gone'},
  {kind: 'full'},
  {kind: 'fails', status: 500},
  {kind: 'truncates'},
]);

describe('a store with a fault', () => {
  test.each(FAULTS)('$kind: writes go on, and the backup is not called whole until it is', async fault => {
    service.showLogOnFailure();
    await until('a whole backup', backUp);
    await store.set(fault);
    for (let n = 0; n < 20; n++) await tenant.insert('notes', {n, fault: fault.kind});
    const aged = await until('the backup to be behind', async () => {
      const status = await statusOf(service);
      return status.age_ms > 500 && status;
    });
    expect(aged.state).not.toBe('locked');
    for (let n = 0; n < 20; n++) await tenant.insert('notes', {n, fault: fault.kind});
    await store.set({kind: 'none'});
    await until('a whole backup', backUp);
    await until('nothing left to copy', async () => (await statusOf(service)).age_ms === 0);
    await expectRestored();
  });
});

/** The newest state in the repository, read without the proxy, is the tenant's. */
async function expectRestored(): Promise<void> {
  const repository = await Repository.open(await openStore(s3Url(s3.endpoint, 'one')), keyBytes());
  const path = join(root, 'restored.sqlite');
  await restoreFile({repository, tenant: tenant.id, target: 'newest', path, isKept: true});
  const history = await TenantHistory.of(tenant);
  const content = contentOf(path);
  expect({sequence: content.sequence, differences: history.differencesOf(content)}).toEqual({
    sequence: history.head,
    differences: [],
  });
  rmSync(path);
  repository.close();
}

test('a server goes on while the store answers old lists, and what it stores meanwhile is found without them', async () => {
  await until('a whole backup', backUp);
  await store.set({kind: 'stale_lists'});
  for (let n = 0; n < 20; n++) await tenant.insert('notes', {n, lists: 'old'});
  await until('a whole backup', backUp);
  process.kill(service.children('copier')[0]!, 'SIGKILL'); // the next one opens the repository with old lists
  for (let n = 0; n < 20; n++) await tenant.insert('notes', {n, lists: 'old'});
  await until('a whole backup by another copier', backUp);
  expect((await statusOf(service)).state).toBe('running');
  await expectRestored();
  await store.set({kind: 'none'});
  await tenant.insert('notes', {lists: 'whole'});
  await until('a whole backup', backUp);
  await expectRestored();
});

test('a second server that is pointed at the repository does not start, and says who writes to it', async () => {
  await until('a whole backup', backUp);
  const data = join(root, 'second');
  const started = Service.start({data, args: argsFor(url), env: S3_ENV});
  await expect(started).rejects.toThrow(/the server \w+ on \S+ writes to s3:\/\/copies\/one/);
  await tenant.insert('notes', {n: 2});
  await until('a whole backup', backUp);
  expect((await statusOf(service)).state).toBe('running');
  await expectRestored();
});

test('a drill of a repository with a damaged object fails, and names it', async () => {
  await until('a whole backup', backUp);
  const repository = await Repository.open(await openStore(url), keyBytes());
  const {timelines} = await repository.copies(tenant.id);
  repository.close();
  const {pack} = timelines.at(-1)!.bases.at(-1)!.place;
  const drill = () => svc(['backup', 'drill', '--from', url, '--key', key, '--tenant', tenant.id], S3_ENV);
  expect(await drill()).toMatchObject({code: 0});
  store.flipFirst(`/copies/one/${pack}`);
  const {code, stdout, stderr} = await drill();
  expect({code, text: stdout + stderr}).toMatchObject({code: 1, text: expect.stringContaining(pack)});
});
