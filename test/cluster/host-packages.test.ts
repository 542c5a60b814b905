/** Packages of tenants in the store of a cluster: what a hostile worker can do with them, and which owner decides. */
import {createHash} from 'node:crypto';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {HostPackages} from '../../cluster/host/host-packages.ts';
import {PART_BYTES} from '../../cluster/limits.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {REAL_TIMING} from '../../cluster/log/timing.ts';
import {PACKAGE_BYTES_MAX} from '../../shared/limits.ts';
import {MemoryEngine, MemoryStreams} from './harness/memory-engine.ts';
import {CLUSTER, newTenant} from './harness/rig.ts';

const {signal} = new AbortController();
let directory: string;
let replicated: ReplicatedLog;
let host: HostPackages;
let free: number | null;
const tenant = newTenant();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-host-packages-'));
  mkdirSync(join(directory, 'packages'));
  free = null;
  replicated = new ReplicatedLog(new MemoryEngine(new MemoryStreams(), REAL_TIMING), CLUSTER);
  host = new HostPackages({
    packages: replicated.packages,
    pathOf: () => join(directory, 'tenant.sqlite'),
    freeBytes: () => free,
    report: () => {},
  });
});
afterEach(() => rmSync(directory, {recursive: true}));

const shaOf = (bytes: Buffer) => createHash('sha512').update(bytes).digest('hex');
const tarballOf = (sha512: string) => join(directory, 'packages', `${sha512}.tgz`);

/** @returns its name */
function placed(bytes: Buffer, sha512 = shaOf(bytes)): string {
  writeFileSync(tarballOf(sha512), bytes);
  return sha512;
}

const names = async () => (await replicated.packages.list(tenant)).map(({sha512}) => sha512);

test('a tarball of several parts is stored, and copied as it is', async () => {
  const bytes = Buffer.alloc(2 * PART_BYTES + 7, 'tarball');
  const sha512 = placed(bytes);
  const its = host.of(tenant, 1);
  expect(await its.put({sha512, replaces: false}, signal)).toBe('stored');
  expect(await its.put({sha512, replaces: false}, signal)).toBe('stored');
  expect(await names()).toEqual([sha512]);
  // Of one that is damaged there.
  const [before] = await replicated.packages.list(tenant);
  expect(await its.put({sha512, replaces: true}, signal)).toBe('stored');
  const [after, ...none] = await replicated.packages.list(tenant);
  expect([none, after!.id === before!.id]).toEqual([[], false]);
  await host.copy(tenant, join(directory, 'copied'));
  expect(readFileSync(join(directory, 'copied', `${sha512}.tgz`)).equals(bytes)).toBe(true);
});

test.each<[string, (sha512: string) => void, string]>([
  ['that is missing', () => undefined, 'missing'],
  ['with other bytes than its name says', sha512 => placed(Buffer.from('other'), sha512), 'other'],
  ['without bytes', sha512 => placed(Buffer.alloc(0), sha512), 'other'],
  ['that is a link to a file of the host', sha512 => symlinkSync('/etc/passwd', tarballOf(sha512)), 'missing'],
  ['that is a directory', sha512 => mkdirSync(tarballOf(sha512)), 'missing'],
  [
    'that is too long',
    sha512 => {
      placed(Buffer.from('x'), sha512);
      truncateSync(tarballOf(sha512), PACKAGE_BYTES_MAX + 1);
    },
    'other',
  ],
])('a tarball %s is not stored', async (_, make, outcome) => {
  const sha512 = shaOf(Buffer.from('wanted'));
  make(sha512);
  expect(await host.of(tenant, 1).put({sha512, replaces: false}, signal)).toBe(outcome);
  expect(await names()).toEqual([]);
});

test('a tarball that cannot be opened ends nothing', async () => {
  // The name of the directory is too long: as root, rights are no obstacle.
  const its = new HostPackages({
    packages: replicated.packages,
    pathOf: () => join(directory, 'n'.repeat(300), 'tenant.sqlite'),
    freeBytes: () => null,
    report: () => {},
  });
  expect(await its.of(tenant, 1).put({sha512: shaOf(Buffer.from('wanted')), replaces: false}, signal)).toBe('missing');
});

test('a directory of packages that is a link is not followed', async () => {
  const sha512 = placed(Buffer.from('of another tenant'));
  const own = mkdtempSync(join(tmpdir(), 'svc-host-packages-'));
  symlinkSync(join(directory, 'packages'), join(own, 'packages'));
  const linked = new HostPackages({
    packages: replicated.packages,
    pathOf: () => join(own, 'tenant.sqlite'),
    freeBytes: () => null,
    report: () => {},
  });
  expect(await linked.of(tenant, 1).put({sha512, replaces: false}, signal)).toBe('missing');
  rmSync(own, {recursive: true});
});

test('attempts that fail leave nothing that grows', async () => {
  const sha512 = placed(Buffer.from('other'), shaOf(Buffer.from('wanted')));
  for (let i = 0; i < 5; i++) await host.of(tenant, 1).put({sha512, replaces: false}, signal);
  const [value] = [...(await replicated.records.list('package.')).values()];
  expect((JSON.parse(value!.toString()) as {garbage: string[]}).garbage).toHaveLength(1);
});

test('without space nothing is stored', async () => {
  free = 3;
  expect(await host.of(tenant, 1).put({sha512: placed(Buffer.from('four')), replaces: false}, signal)).toBe('full');
  expect(await names()).toEqual([]);
});

test('an earlier owner changes nothing once the next one has used the list', async () => {
  const [earlier, later] = [host.of(tenant, 1), host.of(tenant, 2)];
  const one = placed(Buffer.from('one'));
  const two = placed(Buffer.from('two'));
  expect(await earlier.put({sha512: one, replaces: false}, signal)).toBe('stored');
  expect(await later.list(signal)).toHaveLength(1);
  expect(await earlier.drop(new Set([one]), signal)).toEqual({kind: 'superseded'});
  expect(await earlier.put({sha512: two, replaces: false}, signal)).toBe('superseded');
  expect(await earlier.list(signal)).toEqual({kind: 'superseded'});
  expect(await names()).toEqual([one]);
  expect(await later.drop(new Set([one]), signal)).toBe(null);
  expect(await names()).toEqual([]);
  await expect(host.copy(tenant, join(directory, 'copied'))).resolves.toBe(undefined);
});
