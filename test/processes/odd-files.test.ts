/**
 * What code that has left its isolate can put into its tenant's directory: a FIFO, a directory, a link to a device, one to a huge file.
 * Nothing that runs as root waits for it, follows it or reads it whole.
 */
import {spawnSync} from 'node:child_process';
import {mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const GIB = 1024 ** 3;

let service: Service;
let huge: string;
let sound: Tenant;
/** By what is in their directories instead of a note, or of what a check found. */
const unnoted = new Map<string, Tenant>();
const stopped = new Map<string, Tenant>();

const PUT: Record<string, (path: string) => void> = {
  'a FIFO': path => expect(spawnSync('mkfifo', [path]).status).toBe(0),
  'a directory': path => mkdirSync(path),
  'a link to a device': path => symlinkSync('/dev/zero', path),
  'a link to a huge file': path => symlinkSync(huge, path),
};

beforeAll(async () => {
  service = await Service.start();
  sound = await Tenant.make(service);
  await sound.insert('t', {n: 1});
  huge = join(service.data, 'huge');
  writeFileSync(huge, '');
  truncateSync(huge, 8 * GIB);
  for (const what of Object.keys(PUT)) {
    for (const tenants of [unnoted, stopped]) {
      const tenant = await Tenant.make(service);
      await tenant.insert('t', {n: 1});
      tenants.set(what, tenant);
    }
  }
  const [escaping, blocked] = [await Tenant.make(service), await Tenant.make(service)];
  for (const tenant of [escaping, blocked]) await tenant.insert('t', {n: 1});
  await service.end('SIGTERM');
  for (const [what, put] of Object.entries(PUT)) {
    const directory = service.directoryOf(unnoted.get(what)!.id)!;
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
    put(join(directory, 'tenant.new'));
    put(join(service.directoryOf(stopped.get(what)!.id)!, 'damaged.txt'));
  }
  writeFileSync(join(service.directoryOf(escaping.id)!, 'damaged.txt'), '\x1b]0;title\x07\x1b[2Jgone');
  PUT['a FIFO']!(join(service.directoryOf(blocked.id)!, 'tenant.sqlite-journal'));
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

test('svc verify and svc recover go on to the other tenants, and say what is there', async () => {
  const verified = await svc(['verify', '--data', service.data]);
  expect(verified.code).toBe(1);
  expect(verified.stdout).toContain(`${sound.id}: ok`);
  for (const [what, {id}] of unnoted) {
    const kind = what.replace(/ to .*/, '');
    expect(verified.stdout).toMatch(
      new RegExp(`${id}: NOT OK.*\n(?:  .*\n)*  file: tenant.new is ${kind}, not a file`),
    );
  }
  for (const [what, {id}] of stopped) {
    const kind = what.replace(/ to .*/, '');
    expect(verified.stdout).toMatch(
      new RegExp(`${id}: NOT OK.*\n  file: the tenant is stopped by .*: it is ${kind}\n`),
    );
  }
  expect(verified.stdout).toContain('\\x1b]0;title\\x07\\x1b[2Jgone');
  expect(verified.stdout).not.toContain('\x1b');
  expect(verified.stdout).toContain('tenant.sqlite-journal is a FIFO, not a file');

  const recovered = await svc(['recover', '--data', service.data]);
  expect(recovered.code).toBe(0);
  for (const {id} of unnoted.values()) {
    expect(recovered.stdout).toMatch(new RegExp(`^t_${id}_\\d+ +${id} +its note is no file`, 'm'));
  }
  const repaired = await svc(['recover', '--data', service.data, '--repair', stopped.get('a FIFO')!.id]);
  expect(repaired.stdout).toContain(
    'the tenant is let in again; what had stopped it: damaged.txt, though it is a FIFO',
  );
});

test('svc start serves the other tenants, and says which have no note', async () => {
  await service.run();
  expect(await sound.list('t')).toHaveLength(1);
  expect(service.log.match(/the note of a tenant is no file/g)).toHaveLength(unnoted.size);
  expect((await unnoted.get('a FIFO')!.request('GET', '/documents/t')).status).toBe(503);
  expect((await stopped.get('a directory')!.request('GET', '/documents/t')).status).toBe(503);
  expect(await stopped.get('a FIFO')!.list('t')).toHaveLength(1);
});
