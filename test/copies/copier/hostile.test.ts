/** Files of a tenant that are larger, more or other than a worker writes: they stop neither the copier nor other tenants. */
import {createHash, randomBytes} from 'node:crypto';
import {readdirSync, readlinkSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {PACKAGE_ENTRIES_MAX, PACKAGES_TURN_MAX, TENANT_TURN_RAW_BYTES} from '../../../copies/copier/limits.ts';
import {TenantCopy} from '../../../copies/copier/tenant-copy.ts';
import {TenantPackages} from '../../../copies/copier/tenant-packages.ts';
import {SEGMENT_BYTES_MAX} from '../../../copies/limits.ts';
import type {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryError} from '../../../copies/repository/repository-error.ts';
import {StoreError} from '../../../copies/store/store-error.ts';
import {LOST_PACKAGES_FILE} from '../../../shared/tenant-directory.ts';
import {until} from '../../harness/until.ts';
import {type History, SMALL, setBytes} from '../model.ts';
import {commitsOf, FakeTenant, running} from './fixture.ts';

const TIB = 2 ** 40;
/** Null: it is closed by now. */
function readlinkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

const setName = (last: number): string => `${String(last).padStart(16, '0')}.set`;

describe('files that are larger than they can be', () => {
  test('are refused before they are read: sets, a base and a package', async () => {
    const [a, b, c, other] = ['a', 'b', 'c', 'other'].map(name => new FakeTenant(name).base(1));
    const {copier, repository} = await running([a!, b!, c!, other!]);
    await copier.run(30_000);
    a!.set(2, 2);
    truncateSync(a!.path(setName(2)), TIB);
    b!.base(3);
    truncateSync(b!.path('base.set'), TIB);
    const sha512 = c!.package(Buffer.from('x'));
    truncateSync(join(c!.directory, 'packages', `${sha512}.tgz`), TIB);
    for (const one of [c!, other!]) one.set(2, 2);
    await until('the others are stored', () => c!.confirmed === 2 && other!.confirmed === 2);
    await until('both are refused', () => ['a', 'b'].every(id => copier.copies.get(id)!.fault !== null));
    for (const id of ['a', 'b']) expect(copier.copies.get(id)!.fault!.message).toContain(`has ${TIB} bytes`);
    expect((await repository.copies('c')).files).toEqual([]);
    a!.base(3);
    b!.base(4);
    await copier.run(30_000);
    expect([a!.confirmed, b!.confirmed, copier.state]).toEqual([3, 4, 'running']);
  });

  test('a set too large for a pack is streamed if it follows, and refused by its SHA-256 otherwise', async () => {
    const pages = (): Buffer[] => Array.from({length: 300}, () => randomBytes(65_536));
    const history: History = {pageBytes: 65_536, states: [pages(), pages(), pages()]};
    const tenant = new FakeTenant('a').base(1, undefined, history).set(2, 2, setBytes(history, {first: 2, last: 2}));
    const {copier, repository} = await running([tenant]);
    await copier.run(30_000);
    expect(statSync(tenant.path(setName(2))).size).toBeGreaterThan(SEGMENT_BYTES_MAX);
    expect(await commitsOf(repository, 'a')).toEqual([
      [0, 1],
      [2, 2],
    ]);
    const bytes = setBytes(history, {first: 3, last: 3});
    bytes[bytes.length >> 1]! ^= 1;
    tenant.set(3, 3, bytes);
    await until('a base is wanted', () => tenant.has('want-base'));
    expect([copier.copies.get('a')!.fault!.kind, tenant.confirmed]).toEqual(['damaged', 2]);
  });
});

test('sets whose pages are far more than their bytes are stored as they are, and never merged', async () => {
  const count = Math.ceil(TENANT_TURN_RAW_BYTES / 65_536);
  const states = [1, 2, 3].map(byte => Array.from({length: count}, () => Buffer.alloc(65_536, byte)));
  const history: History = {pageBytes: 65_536, states};
  const sets = [2, 3].map(last => setBytes(history, {first: last, last}));
  const tenant = new FakeTenant('a').base(1, undefined, history).set(2, 2, sets[0]).set(3, 3, sets[1]);
  const {copier, repository} = await running([tenant]);
  await copier.run(30_000);
  const {timelines} = await repository.copies('a');
  expect(timelines[0]!.sets.map(({bytes}) => bytes)).toEqual(sets.map(({length}) => length));
});

test('a set with more pages than it says is refused', async () => {
  const tenant = new FakeTenant('a').base(1);
  const {copier} = await running([tenant]);
  await copier.run(30_000);
  const bytes = setBytes(SMALL, {first: 2, last: 2});
  const trailer = bytes.length - 68;
  bytes.writeUInt32BE(bytes.readUInt32BE(trailer) - 1, trailer);
  createHash('sha256')
    .update(bytes.subarray(0, -32))
    .digest()
    .copy(bytes, bytes.length - 32);
  tenant.set(2, 2, bytes);
  await until('it is refused', () => tenant.has('want-base'));
  expect(copier.copies.get('a')!.fault).toMatchObject({kind: 'invalid'});
});

test('an upload that fails waits longer each time, while rounds go on and nothing says that all is well', async () => {
  let nowMs = Date.now() + 3_600_000;
  const [large, other] = [new FakeTenant('a').base(1), new FakeTenant('b').base(1)];
  const {copier, store} = await running([large, other], () => nowMs);
  await copier.run(30_000);
  const before = store.streams;
  let last = 1;
  const rounds = async (): Promise<void> => {
    other.set(last + 1, last + 1);
    last++;
    await until('a round has stored a set', () => other.confirmed === last);
  };
  store.isFull = true;
  large.base(3);
  for (const [afterMs, tried] of [
    [0, 1],
    [999, 1],
    [1, 2],
    [1_999, 2],
    [1, 3],
  ] as const) {
    nowMs += afterMs;
    await until('it is tried', () => store.streams - before === tried);
    if (last < SMALL.states.length) await rounds();
    expect([store.streams - before, copier.state]).toEqual([tried, 'running']);
  }
  expect(copier.copies.get('a')!.fault).toMatchObject({kind: 'no_space', message: 'it is full'});
  expect([large.confirmed, copier.ageMs > 0]).toEqual([1, true]);
  store.isFull = false;
  await copier.run(30_000);
  expect([large.confirmed, copier.fault, copier.copies.get('a')!.fault]).toEqual([3, null, null]);
});

describe('packages', () => {
  const names = async (repository: Repository): Promise<string[]> =>
    (await repository.copies('a')).files.map(({name}) => name).sort();

  test('more than a round examines are all stored, in a few packs, and damaged ones are left out', async () => {
    const [tenant, other] = [new FakeTenant('a').base(1), new FakeTenant('b').base(1)];
    const sound = Array.from({length: 2 * PACKAGES_TURN_MAX + 10}, (_, n) => tenant.package(Buffer.from(`${n}`)));
    sound.push(tenant.package(randomBytes(SEGMENT_BYTES_MAX + 1)));
    writeFileSync(join(tenant.directory, 'packages', `${'0'.repeat(128)}.tgz`), 'other bytes');
    const {copier, repository, store} = await running([tenant, other]);
    await copier.run(30_000);
    expect(await names(repository)).toEqual(sound.map(sha512 => `${sha512}.tgz`).sort());
    expect(store.puts, 'packs and manifests').toBeLessThan(16);
    const added = tenant.package(Buffer.from('added'));
    tenant.set(2, 2);
    await copier.run(30_000);
    expect(await names(repository)).toContain(`${added}.tgz`);
  });

  test('those that an earlier process left are stored by the next, without a change', async () => {
    const tenant = new FakeTenant('a').base(1);
    const {copier, repository} = await running([tenant]);
    await copier.run(30_000);
    const sha512 = tenant.package(Buffer.from('late'));
    copier.deleted('a');
    copier.tenantIs({...tenant, isAwake: false});
    await copier.run(30_000);
    expect(await names(repository)).toEqual([`${sha512}.tgz`]);
  });

  test('those that the cluster has lost, and the repository lacks, are a fault of their tenant', async () => {
    const tenant = new FakeTenant('a').base(1).set(2, 2);
    const there = tenant.package(Buffer.from('there'));
    const [lost, other] = ['1', '2'].map(digit => digit.repeat(128));
    const path = join(tenant.directory, LOST_PACKAGES_FILE);
    writeFileSync(path, `${there}\n${lost}\n${other}\n../name\n`);
    const {copier, repository} = await running([tenant]);
    await copier.run(30_000);
    expect(await names(repository)).toEqual([`${there}.tgz`]);
    const {packages} = copier.copies.get('a')!;
    await until('the fault to be known', () => packages.fault?.message.includes(`${lost}, and 1 more: `));
    expect(packages.fault!.kind).toBe('packages');
    writeFileSync(path, `${there}\n`);
    tenant.set(3, 3);
    await until('it to be gone', () => packages.fault === null);
  });

  const repositoryOf = (copies: () => Promise<never>) => ({copies}) as unknown as Repository;
  const withLost = (): FakeTenant => {
    const tenant = new FakeTenant('a');
    writeFileSync(join(tenant.directory, LOST_PACKAGES_FILE), `${'1'.repeat(128)}\n`);
    return tenant;
  };

  test('what changes while the repository is read is looked at again', async () => {
    const read = Promise.withResolvers<never>();
    const packages = new TenantPackages('a', withLost().directory);
    const taken = packages.take(repositoryOf(() => read.promise));
    packages.changed();
    read.reject(new RepositoryError('no_copies', 'none'));
    expect(await taken).toEqual([]);
    expect(packages.isDue).toBe(true);
  });

  test('a host that leaves the copies to another one knows nothing of packages any more', async () => {
    const {tenant, directory} = withLost();
    const copy = new TenantCopy({tenant, directory, isAwake: false, isOfLog: true});
    const none = () => Promise.reject(new RepositoryError('no_copies', 'none'));
    expect(await copy.packages.take(repositoryOf(none))).toEqual([]);
    expect([copy.packages.fault?.kind, copy.packages.needsRead]).toEqual(['packages', false]);
    copy.leave();
    expect([copy.packages.fault, copy.packages.needsRead]).toEqual([null, true]);
  });

  test('a repository that cannot be read again and again leaves no directory open', async () => {
    const tenant = withLost();
    tenant.package(Buffer.from('x'));
    const packages = new TenantPackages('a', tenant.directory);
    const gone = repositoryOf(() => Promise.reject(new StoreError('refused', 'it is gone')));
    for (let n = 0; n < 20; n++) await expect(packages.take(gone)).rejects.toThrow(StoreError);
    const open = readdirSync('/proc/self/fd').map(fd => readlinkOf(`/proc/self/fd/${fd}`));
    expect(open).not.toContain(join(tenant.directory, 'packages'));
  });

  test('a directory with too many entries is a fault of its tenant, whose commits are stored all the same', async () => {
    const tenant = new FakeTenant('a').base(1).set(2, 2);
    tenant.package(Buffer.from('x'));
    for (let n = 0; n < PACKAGE_ENTRIES_MAX; n++) writeFileSync(join(tenant.directory, 'packages', `${n}`), '');
    const {copier} = await running([tenant]);
    await copier.run(30_000);
    expect([tenant.confirmed, copier.copies.get('a')!.packages.fault!.kind]).toEqual([2, 'packages']);
  });
});
