/**
 * A file system that finds an error and turns read-only, as ext4 does with `errors=remount-ro`: everything can still be read, writes
 * are refused with the reason, and the server stays.
 */
import {existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {BlockDisk, MountedImage} from '../harness/block-disk.ts';
import {svc} from '../harness/command.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const TRIALS = rounds({commit: 1, nightly: 5});
const TRIAL_MS = 120_000;
/** Without users of tenants no copy of the code is made, which would fill the disk. */
const ARGS = ['--worker-users', 'none'];
const FORM = {hasJournal: true, options: ['errors=remount-ro']};

const probe = new BlockDisk(FORM);
const {isMounted} = probe;
probe.remove();

const numbers = async (tenant: Tenant) => (await tenant.query({table: 't', filters: []})).map(({n}) => n).sort();
const write = (tenant: Tenant) => tenant.request('POST', '/documents', {table: 't', fields: {n: 9}});

async function expectReadsOnly(service: Service, awake: Tenant, asleep: Tenant): Promise<void> {
  // The write that meets it first ends the worker, with its outcome unknown.
  await until('writes to be refused', async () => (await write(awake)).text.includes('session.storage_read_only'));
  for (const tenant of [awake, asleep]) {
    await until('reads', async () => (await tenant.request('GET', '/documents/t')).status === 200);
    expect((await numbers(tenant)).slice(0, 3)).toEqual([1, 2, 3]);
    expectError(await write(tenant), 503, 'session.storage_read_only');
  }
  const {pid} = service;
  expectError(await service.post('/api/tenants', {id: 'another'}), 503, 'session.storage_read_only');
  const key = await service.post('/api/keys', {name: 'k', scopes: ['data:read']});
  expectError(key, 503, 'session.storage_read_only');
  expectError(await service.request('DELETE', `/api/tenants/${asleep.id}`), 503, 'session.storage_read_only');
  expect((await numbers(asleep)).slice(0, 3)).toEqual([1, 2, 3]);
  expect(service.pid).toBe(pid);
  expect((await service.get('/metrics')).text).toContain('svc_data_unwritable 1');
  expect(service.log.split('the data directory cannot be written').length - 1).toBe(1);
  expect(service.log).not.toContain('has a bug');
}

describe.skipIf(!isMounted)('a file system that turns read-only', () => {
  test.each(Array.from({length: TRIALS}, (_, n) => n + 1))(
    'leaves all tenants served for reading, and loses nothing (trial %i)',
    {timeout: TRIAL_MS},
    async () => {
      const disk = new BlockDisk(FORM);
      const directory = mkdtempSync(join(tmpdir(), 'svc-test-cut-'));
      const image = join(directory, 'image');
      let copy: MountedImage | null = null;
      let service = await Service.start({data: join(disk.path, 'data'), args: ['--idle-stop', '500ms', ...ARGS]});
      service.showLogOnFailure();
      try {
        const [asleep, awake] = [await Tenant.make(service), await Tenant.make(service)];
        for (const tenant of [asleep, awake]) for (const n of [1, 2, 3]) await tenant.insert('t', {n});
        await service.asleep(asleep.id);
        // Of a server with backups: a tenant that is opened for writing without them removes it.
        const spool = join(service.directoryOf(asleep.id)!, 'spool');
        mkdirSync(spool);
        writeFileSync(join(spool, 'position'), '');
        await awake.insert('t', {n: 4});
        disk.findError();
        await expectReadsOnly(service, awake, asleep);
        expect(existsSync(join(spool, 'position'))).toBe(true);
        expect(await service.end('SIGTERM')).toBe(0);

        disk.powerCut(image);
        copy = new MountedImage(image);
        service = await Service.start({data: join(copy.path, 'data'), args: ARGS});
        service.showLogOnFailure();
        expect((await numbers(Tenant.of(service, awake.id))).slice(0, 4)).toEqual([1, 2, 3, 4]);
        expect(await numbers(Tenant.of(service, asleep.id))).toEqual([1, 2, 3]);
        await Tenant.of(service, asleep.id).insert('t', {n: 5});
        expect(existsSync(join(service.directoryOf(asleep.id)!, 'spool'))).toBe(false);
        const {code, stdout} = await svc(['verify', '--data', service.data]);
        expect({code, stdout}).toMatchObject({code: 0});
      } finally {
        await service.stop();
        copy?.remove();
        disk.remove();
        rmSync(directory, {recursive: true});
      }
    },
  );
});
