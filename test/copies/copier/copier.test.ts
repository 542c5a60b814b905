/** The copier, with spools made by hand: what it stores and confirms, and what it does when spools or the store are bad. */
import {randomBytes} from 'node:crypto';
import {mkdirSync, readdirSync, renameSync, rmSync, symlinkSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {TENANT_TURN_BYTES} from '../../../copies/copier/limits.ts';
import {LEASE_MS, LEASE_RENEW_MS} from '../../../copies/limits.ts';
import {keyName} from '../../../copies/repository/object-names.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import {until} from '../../harness/until.ts';
import {type History, SMALL, setBytes} from '../model.ts';
import {SERVER_A, SERVER_B} from '../repository/fixture.ts';
import {commitsOf, FakeTenant, running} from './fixture.ts';

const OTHER = 'ffeeddccbbaa99887766554433221100';

test('the base of each tenant is stored, the sets after it are merged, and the spool shows what is stored', async () => {
  const [a, b] = [new FakeTenant('a').base(1).set(2, 2).set(3, 3), new FakeTenant('b').base(2)];
  const {copier, repository, store} = await running([a, b]);
  await copier.run(30_000);
  expect([a.confirmed, b.confirmed]).toEqual([3, 2]);
  expect(await commitsOf(repository, 'a')).toEqual([
    [0, 1],
    [2, 3],
  ]);
  const {puts} = store;
  await copier.run(30_000);
  expect(store.puts, 'nothing has changed').toBe(puts);
  expect(copier.ageMs).toBe(0);
});

test('a tenant without anything that leads on gets a request for a base: by its spool, or asleep by its server', async () => {
  const [awake, asleep] = [new FakeTenant('awake'), new FakeTenant('asleep')];
  const {copier, basesDue, repository} = await running([awake]);
  copier.tenantIs({...asleep, isAwake: false});
  await until('both are asked for bases', () => awake.has('want-base') && basesDue.length === 1);
  expect(basesDue).toEqual(['asleep']);
  awake.base(2);
  asleep.base(3);
  copier.tenantIs({...asleep, isAwake: false});
  await copier.run(30_000);
  expect(await repository.newest('awake')).toMatchObject({commit: 2});
  expect(await repository.newest('asleep')).toMatchObject({commit: 3});
});

test('a run does not wait for bases that cannot be made, and says why; the next one requests them again', async () => {
  const [sound, broken] = [new FakeTenant('sound').base(1), new FakeTenant('broken')];
  const {copier, basesDue, repository} = await running([sound]);
  copier.tenantIs({...broken, isAwake: false});
  const fail = async (count: number) => {
    const refused = copier.run(60_000).catch((caught: unknown) => caught);
    await until('the base is requested', () => basesDue.length === count);
    copier.baseFailed('broken', 'its file is damaged');
    expect(await refused).toMatchObject({message: expect.stringContaining('damaged'), detail: {missing: ['broken']}});
  };
  await fail(1);
  expect(copier.copies.get('broken')!.fault).toMatchObject({kind: 'base', message: 'its file is damaged'});
  expect(await repository.newest('sound')).toMatchObject({commit: 1});
  await fail(2);
  broken.base(2);
  copier.tenantIs({...broken, isAwake: false});
  expect(await copier.run(60_000)).toMatchObject({tenants: 2});
  expect(copier.copies.get('broken')!.fault).toBeNull();
});

test('a spool that was dropped, or is of another history, is followed by a base and never merged with what was', async () => {
  const tenant = new FakeTenant('a').base(1).set(2, 2);
  const {copier, repository} = await running([tenant]);
  await until('commit 2 is stored', () => tenant.confirmed === 2);
  tenant.set(4, 4);
  await until('a base is wanted', () => tenant.has('want-base'));
  tenant.base(4).set(5, 5);
  await until('commit 5 is stored', () => tenant.confirmed === 5);
  rmSync(tenant.path('position'));
  await until('a base is wanted', () => tenant.has('want-base'));
  tenant.base(1, OTHER);
  await copier.run(30_000);
  expect(await repository.newest('a')).toMatchObject({timeline: OTHER, commit: 1});
});

test('a base that ends before the repository is not stored: the tenant begins a new timeline if its file is older', async () => {
  const tenant = new FakeTenant('a').base(1).set(2, 2).set(3, 3);
  const first = await running([tenant]);
  await first.copier.run(30_000);
  await first.end();
  // It can be left from before, so another one is requested, which is what the file has.
  tenant.base(2).begun();
  const {copier, repository, timelinesDue} = await running([tenant], Date.now, first);
  await until('another base is wanted', () => tenant.has('want-base'));
  expect(timelinesDue).toEqual([]);
  tenant.base(4).begun();
  await copier.run(30_000);
  expect(await repository.newest('a')).toMatchObject({commit: 4});
  tenant.base(1).begun();
  await until('a timeline is due', () => timelinesDue.length > 0);
  expect(copier.copies.get('a')!.fault).toMatchObject({kind: 'older'});
  expect(await repository.newest('a')).toMatchObject({commit: 4});
  const refused = copier.run(60_000).catch((caught: unknown) => caught);
  copier.baseFailed('a', 'the disk is full');
  expect(await refused).toMatchObject({message: expect.stringContaining('the disk is full'), detail: {missing: ['a']}});
  const run = copier.run(60_000);
  copier.tenantIs({...tenant, isAwake: true});
  tenant.base(2, OTHER);
  await run;
  expect(await repository.newest('a')).toMatchObject({timeline: OTHER, commit: 2});
  expect([copier.copies.get('a')!.fault, timelinesDue]).toEqual([null, ['a']]);
});

test('a base of another history that ends where the repository does is not stored in its timeline', async () => {
  const tenant = new FakeTenant('a').base(2);
  const {copier, repository, timelinesDue} = await running([tenant]);
  await copier.run(30_000);
  const other: History = {...SMALL, states: [SMALL.states[0]!, SMALL.states[2]!, ...SMALL.states.slice(2)]};
  tenant.base(2, undefined, other).begun();
  await until('a timeline is due', () => timelinesDue.length > 0);
  const {timelines} = await repository.copies('a');
  expect(timelines.map(({bases}) => bases.length)).toEqual([1]);
});

test('a hostile or damaged spool stops its own tenant only, and its fault is named', async () => {
  const [a, b, c] = [new FakeTenant('a').base(1), new FakeTenant('b').base(1), new FakeTenant('c').base(1)];
  const {copier} = await running([a, b, c]);
  await copier.run(30_000);
  const bytes = setBytes(SMALL, {first: 2, last: 2});
  bytes[140]! ^= 1;
  a.set(2, 2, bytes);
  symlinkSync('/etc/passwd', b.path(`${'2'.padStart(16, '0')}.set`));
  c.set(2, 2);
  await until('the other tenant is stored', () => c.confirmed === 2 && a.has('want-base'));
  expect([a.confirmed, b.confirmed]).toEqual([1, 1]);
  expect(copier.copies.get('a')!.fault).toMatchObject({kind: 'damaged'});
  a.base(3);
  await until('the base is stored', () => a.confirmed === 3);
  expect(copier.copies.get('a')!.fault).toBeNull();
});

test('a data key that is damaged stops its own tenant only, and the copies go on when it is back', async () => {
  const [a, b] = [new FakeTenant('a').base(1), new FakeTenant('b').base(1)];
  const first = await running([a, b]);
  await first.copier.run(30_000);
  await first.end();
  const name = keyName('a');
  const good = (await first.store.get(name))!;
  await first.store.put(name, good.subarray(0, 40));
  a.set(2, 2);
  b.set(2, 2);
  const {copier, basesDue} = await running([a, b], Date.now, first);
  await expect(copier.run(60_000)).rejects.toMatchObject({
    message: expect.stringContaining(name),
    detail: {missing: ['a']},
  });
  expect([a.confirmed, b.confirmed, copier.state]).toEqual([1, 2, 'running']);
  expect(copier.copies.get('a')!.fault).toMatchObject({kind: 'damaged', message: expect.stringContaining(name)});
  expect([a.has('want-base'), basesDue, copier.lastSuccessMs]).toEqual([false, [], null]);
  await first.store.put(name, good);
  await copier.run(30_000);
  expect([a.confirmed, copier.copies.get('a')!.fault]).toEqual([2, null]);
});

test('a tenant that was forgotten is copied again as a whole, under another key', async () => {
  const tenant = new FakeTenant('a').base(1);
  const {copier, store, reopened} = await running([tenant]);
  await copier.run(30_000);
  const old = await store.get(keyName('a'));
  await (await reopened()).forget('a');
  tenant.set(2, 2);
  await until('a base is wanted', () => tenant.has('want-base'));
  tenant.base(3);
  await copier.run(30_000);
  expect(await (await reopened()).newest('a')).toMatchObject({commit: 3});
  expect((await store.get(keyName('a')))!.equals(old!)).toBe(false);
});

test('while the store is gone nothing is confirmed and the age grows; then everything follows', async () => {
  const tenant = new FakeTenant('a').base(1);
  const {copier, store} = await running([tenant]);
  await copier.run(30_000);
  store.isGone = true;
  tenant.set(2, 2);
  await until('it fails', () => copier.state === 'failing' && copier.ageMs > 0);
  expect(copier.fault).toMatchObject({kind: 'refused', message: 'it is gone'});
  await expect(copier.run(20)).rejects.toMatchObject({
    code: 'session.worker_unavailable',
    message: expect.stringContaining('it is gone'),
    detail: {missing: ['a'], missing_count: 1},
  });
  expect(tenant.confirmed).toBe(1);
  store.isGone = false;
  tenant.set(3, 3);
  await copier.run(30_000);
  expect([tenant.confirmed, copier.state, copier.fault, copier.ageMs]).toEqual([3, 'running', null, 0]);
});

test('an empty directory in the place of the repository gets the objects of one attempt', async () => {
  let forwardMs = 0;
  const tenant = new FakeTenant('a').base(1);
  const {copier, store} = await running([tenant], () => Date.now() + forwardMs);
  await copier.run(30_000);
  const root = fileURLToPath(store.url);
  renameSync(root, `${root}.away`);
  mkdirSync(root);
  tenant.set(2, 2);
  await until('it fails', () => copier.state === 'failing');
  const objects = () => readdirSync(root, {recursive: true, withFileTypes: true}).filter(entry => entry.isFile());
  const after = objects().length;
  const {gets} = store;
  for (let tries = 1; tries < 4; tries++) {
    forwardMs += 60_000;
    await until('another attempt', () => store.gets >= gets + 2 * tries);
  }
  expect(objects()).toHaveLength(after);
  expect(tenant.confirmed).toBe(1);
  rmSync(root, {recursive: true});
  renameSync(`${root}.away`, root);
  forwardMs += 60_000;
  await until('commit 2 is stored', () => tenant.confirmed === 2);
});

test('a clock that was set back keeps no copies waiting, and hides none that waits', async () => {
  let backMs = 0;
  const tenant = new FakeTenant('a').base(1);
  const {copier, store} = await running([tenant], () => Date.now() - backMs);
  await copier.run(30_000);
  store.isGone = true;
  tenant.set(2, 2);
  await until('it fails', () => copier.state === 'failing');
  backMs = 86_400_000;
  expect(copier.ageMs).toBeGreaterThan(0);
  store.isGone = false;
  await until('commit 2 is stored', () => tenant.confirmed === 2);
});

test('a backlog is worked off in packs of bounded size, other tenants meanwhile', async () => {
  const pageBytes = 16_384;
  const state = (): Buffer[] => Array.from({length: 300}, () => randomBytes(pageBytes));
  const history: History = {pageBytes, states: [state(), state(), state(), state()]};
  const bytes = [2, 3, 4].map(last => setBytes(history, {first: last, last}));
  expect(bytes[0]!.length * 2).toBeGreaterThan(TENANT_TURN_BYTES);
  const tenant = new FakeTenant('a').base(1, undefined, history);
  const other = new FakeTenant('b').base(1).set(2, 2);
  for (const [i, each] of bytes.entries()) tenant.set(i + 2, i + 2, each);
  const {copier, repository} = await running([tenant, other]);
  await copier.run(30_000);
  expect([tenant.confirmed, other.confirmed]).toEqual([4, 2]);
  expect(await commitsOf(repository, 'a')).toEqual([0, 2, 3, 4].map(n => [n, n === 0 ? 1 : n]));
});

test('a server that loses the lease stops copying, and goes on when it is asked to and the lease is free', async () => {
  const tenant = new FakeTenant('a').base(1);
  const {copier, repository} = await running([tenant]);
  await copier.run(30_000);
  const taker = await RepositoryWriter.open(repository, {...SERVER_B, force: true});
  tenant.set(2, 2);
  await until('the lease is lost', () => copier.state === 'locked');
  expect(tenant.confirmed).toBe(1);
  await expect(copier.run(30_000)).rejects.toMatchObject({message: expect.stringContaining('server-b on beta')});
  await taker.release();
  await copier.run(30_000);
  expect(tenant.confirmed).toBe(2);
});

test('a lease of the same server at another place is awaited for its time, and not for longer', async () => {
  let passedMs = 0;
  const tenant = new FakeTenant('a').base(1);
  const {copier, repository} = await running([tenant], () => Date.now() + passedMs);
  const lost = async () => {
    const copy = await RepositoryWriter.open(repository, {...SERVER_A, place: 'elsewhere', force: true});
    await until('the lease is lost', () => copier.state === 'locked');
    return copy;
  };
  await copier.run(30_000);
  tenant.set(2, 2);
  const before = await lost();
  const done = copier.run(60_000);
  await until('it waits', () => copier.state === 'failing');
  await before.release();
  await done;
  expect(tenant.confirmed).toBe(2);
  tenant.set(3, 3);
  const copy = await lost();
  passedMs = LEASE_MS + LEASE_RENEW_MS;
  await expect(copier.run(60_000)).rejects.toMatchObject({message: expect.stringContaining('server-a on alpha')});
  expect(copier.state).toBe('locked');
  await copy.release();
});

test('at its end it stores a base and the sets after it, and logs which tenants it could not store', async () => {
  const [first, second] = [new FakeTenant('a').base(1).set(2, 2), new FakeTenant('b').base(1).set(2, 2)];
  const {end, log} = await running([first, second]);
  await end();
  expect([first.confirmed, second.confirmed, log]).toEqual([2, 2, []]);

  const late = new FakeTenant('late').base(1);
  const other = await running([late]);
  await other.copier.run(30_000);
  other.store.isGone = true;
  late.set(2, 2);
  await other.end();
  expect(JSON.parse(other.log.at(-1)!)).toMatchObject({
    message: 'not everything is in the repository; the next start stores it',
    named: ['late'],
  });
});
