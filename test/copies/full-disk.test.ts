/** A disk is full while copies are made: writes that were answered with success stay, and the copies recover by themselves. */
import {randomBytes} from 'node:crypto';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, describe, expect, onTestFinished, test} from 'vitest';
import {restoreFile} from '../../copies/restore/restore-file.ts';
import {Spool} from '../../engine/copies/spool.ts';
import type {BackupStatus} from '../../shared/protocol/backups.ts';
import {nightly} from '../harness/nightly.ts';
import {type TestRepository, testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {SmallDisk} from '../harness/small-disk.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {contentOf, TenantHistory} from './history.ts';

const probe = new SmallDisk(1);
const canMount = probe.isMounted;
probe.remove();

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one();
});

/** Removed in the reverse order, after what uses it. */
function smallDisk(mebibytes: number, inodes = 0): SmallDisk {
  const disk = new SmallDisk(mebibytes, inodes);
  undo.push(() => disk.remove());
  return disk;
}

async function serviceOn(data: string, args: string[]): Promise<Service> {
  mkdirSync(data, {recursive: true});
  const service = await Service.start({data, args});
  undo.push(() => service.stop());
  service.showLogOnFailure();
  return service;
}

/** Inserts until so many were refused. @returns the numbers of those that were answered with success */
async function writeUntilRefused(tenant: Tenant, from: number, refusals: number): Promise<number[]> {
  const written: number[] = [];
  for (let n = from, refused = 0; refused < refusals; n++) {
    const {status} = await tenant.request('POST', '/documents', {table: 't', fields: {n, text: 'x'.repeat(3_000)}});
    expect([201, 507]).toContain(status);
    if (status === 201) written.push(n);
    else refused++;
  }
  return written;
}

async function statusOf(service: Service): Promise<NonNullable<BackupStatus['backup']>> {
  const {body} = await service.get('/api/backup', {'x-svc-admin-token': service.adminToken});
  return (body as BackupStatus).backup!;
}

function backUp(service: Service): Promise<unknown> {
  return until('a whole backup', async () => {
    const headers = {'x-svc-admin-token': service.adminToken};
    return (await service.request('POST', '/api/backup/run', undefined, headers)).status === 200;
  });
}

/** The tenant has exactly these documents, and so has its newest copy. */
async function expectCopied(repository: TestRepository, tenant: Tenant, numbers: readonly number[]): Promise<void> {
  const history = await TenantHistory.of(tenant);
  const documents = history.stateAt(history.head).get('t') ?? [];
  expect(documents.map(({n}) => n as number).sort((a, b) => a - b)).toEqual(numbers);
  const reader = await repository.open();
  const scratch = mkdtempSync(join(tmpdir(), 'svc-full-disk-'));
  onTestFinished(() => rmSync(scratch, {recursive: true}));
  const path = join(scratch, 'restored.sqlite');
  await restoreFile({repository: reader, tenant: tenant.id, target: 'newest', path, isKept: true});
  reader.close();
  const content = contentOf(path);
  expect({sequence: content.sequence, differences: history.differencesOf(content)}).toEqual({
    sequence: history.head,
    differences: [],
  });
}

// Only root may mount a small disk of its own.
describe.skipIf(!canMount)('with copies on', () => {
  test('a data disk that is full, also at the next start: copies go on once it has space', async () => {
    const disk = smallDisk(24);
    const repository = await testRepository(remove => undo.push(remove));
    const data = join(disk.path, 'data');
    const service = await serviceOn(data, repository.args);
    const tenants = [await Tenant.make(service), await Tenant.make(service)];
    for (const tenant of tenants) await tenant.insert('t', {n: 0});
    await backUp(service);
    disk.fill();
    const written = await Promise.all(tenants.map(tenant => writeUntilRefused(tenant, 1, 3)));
    await service.killAll();
    disk.fill();
    await service.run();
    for (const tenant of tenants) await tenant.list('t');
    const refused = await Promise.all(tenants.map(tenant => writeUntilRefused(tenant, 1_000, 3)));
    disk.makeSpace();
    for (const tenant of tenants) await tenant.insert('t', {n: 2_000});
    await backUp(service);
    expect(await statusOf(service)).toMatchObject({state: 'running', age_ms: 0});
    for (const [i, tenant] of tenants.entries())
      await expectCopied(repository, tenant, [0, ...written[i]!, ...refused[i]!, 2_000]);
  });

  test('a disk on which the directory of a spool cannot be made: it is made once there is space', () => {
    const disk = smallDisk(1, 8);
    disk.fillInodes();
    const directory = join(disk.path, 'spool');
    const spool = new Spool(directory, 1_000);
    spool.removeConfirmed();
    expect([spool.position, existsSync(directory)]).toEqual([null, false]);
    for (const name of readdirSync(disk.path)) rmSync(join(disk.path, name));
    spool.removeConfirmed();
    expect(existsSync(directory)).toBe(true);
  });

  // The capture tries again after a minute.
  nightly.test(
    'a disk on which a base does not fit: writes go on, and it is made once there is space',
    async () => {
      const disk = smallDisk(40);
      const repository = await testRepository(remove => undo.push(remove));
      const data = join(disk.path, 'data');
      const first = await serviceOn(data, []);
      const tenant = await Tenant.make(first);
      const large = Array.from({length: 60}, (_, n) => ({n, text: randomBytes(75_000).toString('base64')}));
      await tenant.insertAll('t', large, 4);
      await first.end('SIGTERM');
      disk.fill(4 << 20);
      await first.run(repository.args);
      let written = 0;
      const worker = async () => {
        await tenant.insert('t', {n: 1_000 + written++});
        return first.workerOf(tenant.id);
      };
      const pid = await worker();
      const behind = await until('a base that did not fit', async () => {
        await worker();
        const {text} = await first.get('/metrics', {'x-svc-admin-token': first.adminToken});
        return Number(/^svc_copies_dropped_total(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? 0) > 0 && statusOf(first);
      });
      expect(behind.age_ms).toBeGreaterThan(0);
      expect(await worker()).toBe(pid);
      disk.makeSpace();
      // A run gives up after a minute, too.
      await backUp(first).catch(() => backUp(first));
      expect(await first.workerOf(tenant.id)).toBe(pid);
      const numbers = [...large.keys(), ...Array.from({length: written}, (_, n) => 1_000 + n)];
      await expectCopied(repository, tenant, numbers);
    },
    180_000,
  );

  test('a repository that is full: writes go on past the spool, and the backup says it is behind until it is not', async () => {
    const disk = smallDisk(16);
    const repository = await testRepository(remove => undo.push(remove), disk.path);
    const data = mkdtempSync(join(tmpdir(), 'svc-full-disk-'));
    undo.push(() => rmSync(data, {recursive: true}));
    const service = await serviceOn(data, [...repository.args, '--copies-spool-max', '1m']);
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {n: 0});
    await backUp(service);
    disk.fill();
    let written = 1;
    const write = () => tenant.insert('t', {n: written++, text: randomBytes(45_000).toString('base64')});
    const status = await until('the backup to be behind', async () => {
      await write();
      const {state, last_fault: fault, age_ms: ageMs} = await statusOf(service);
      return fault?.kind === 'no_space' && ageMs > 0 && state;
    });
    expect(status).toBe('failing');
    for (let i = 0; i < 40; i++) await write();
    await service.killAll();
    await service.run();
    expect((await tenant.list('t')).length).toBe(Math.min(written, 100));
    await write();
    disk.makeSpace();
    await backUp(service);
    expect(await statusOf(service)).toMatchObject({state: 'running', age_ms: 0});
    await expectCopied(repository, tenant, [...Array(written).keys()]);
  });
});
