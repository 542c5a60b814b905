/** A bucket of an S3-compatible server is a store like a directory. */
import {afterAll, beforeAll, expect, test, vi} from 'vitest';
import {plan} from '../../../copies/repository/plan.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import type {ObjectStore} from '../../../copies/store/object-store.ts';
import {openStore} from '../../../copies/store/open-store.ts';
import {FaultyStore} from '../../harness/faulty-store.ts';
import {type S3, S3_ENV, s3Url, startS3} from '../../harness/s3.ts';
import {fetched, made, segment, writerOf} from './fixture.ts';

let s3: S3;
let faulty: FaultyStore;

beforeAll(async () => {
  for (const [name, value] of Object.entries(S3_ENV)) vi.stubEnv(name, value);
  s3 = await startS3();
  faulty = await FaultyStore.start({behind: s3});
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await faulty.stop();
  await s3.stop();
});

test('objects are put, read in ranges, listed in order and removed', async () => {
  const store = await openStore(s3Url(s3.endpoint, 'objects'));
  for (const name of ['b/2', 'a', 'b/1', 'c/1']) await store.put(name, Buffer.from(`bytes of ${name}`));
  expect(String(await store.get('b/1'))).toBe('bytes of b/1');
  expect(String(await store.get('b/1', {at: 9, length: 100}))).toBe('b/1');
  expect(await store.get('b/1', {at: 100, length: 1})).toHaveLength(0);
  expect(await store.get('missing')).toBeNull();
  expect((await store.list('', {most: 10})).map(({name}) => name)).toEqual(['a', 'b/1', 'b/2', 'c/1']);
  expect(await store.list('b/', {after: 'b/1', most: 10})).toMatchObject([{name: 'b/2', bytes: 12}]);
  await store.remove(['a', 'missing']);
  expect(await store.get('a')).toBeNull();
  store.close();
});

test('a large object is stored in parts, and one that fails on the way is not stored', async () => {
  const store = await openStore(s3Url(s3.endpoint, 'large'));
  const chunk = Buffer.alloc(1024 * 1024, 'chunk');
  const chunks = async function* (count: number, fail?: Error): AsyncGenerator<Buffer, void, undefined> {
    for (let i = 0; i < count; i++) yield chunk;
    if (fail !== undefined) throw fail;
  };
  await store.putStream('large', chunks(34));
  let bytes = 0;
  for await (const part of (await store.stream('large'))!) bytes += part.length;
  expect(bytes).toBe(34 * chunk.length);
  await expect(store.putStream('failed', chunks(34, new Error('the source ended')))).rejects.toThrow('source ended');
  expect(await store.get('failed')).toBeNull();
  await store.removeLeftovers!(Date.now());
  store.close();
});

test('a repository in a bucket is written, read and locked', async () => {
  const store = await openStore(s3Url(s3.endpoint, 'repository'));
  const {key, repository} = await made(store);
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 1)]);
  await writer.writeManifest('acme');
  await writer.addPack([segment('acme', 2, 3)]);
  await expect(writerOf(repository, {host: 'beta', serverId: 'b'})).rejects.toMatchObject({code: 'locked'});
  const reader = await Repository.open(await openStore(s3Url(s3.endpoint, 'repository')), key);
  const {sets} = plan(await reader.copies('acme'), 'newest');
  expect((await fetched(reader, 'acme', sets[0]!)).equals(segment('acme', 2, 3).bytes)).toBe(true);
});

test.each([
  [{kind: 'fails', status: 500}, 'unavailable'],
  [{kind: 'fails', status: 403}, 'refused'],
  [{kind: 'full'}, 'no_space'],
  [{kind: 'gone'}, 'unavailable'],
] as const)('of a store that %o is said what is wrong', async (fault, code) => {
  const store = await openStore(s3Url(faulty.endpoint, 'faults'));
  await store.put('there', Buffer.from('bytes'));
  await faulty.set(fault);
  await expect(store.put('new', Buffer.from('bytes'))).rejects.toMatchObject({name: 'StoreError', code});
  if (fault.kind !== 'full') await expect(store.get('there')).rejects.toMatchObject({name: 'StoreError', code});
  await faulty.set({kind: 'none'});
  store.close();
});

test.each(['truncates', 'forgets', 'flips'] as const)('what a store %s does not count', async kind => {
  const store: ObjectStore = await openStore(s3Url(faulty.endpoint, kind));
  const {repository} = await made(store);
  const writer = await writerOf(repository);
  await faulty.set({kind});
  const added = writer.addPack([segment('acme', 0, 1)]);
  await expect(added).rejects.toMatchObject({name: expect.stringMatching(/StoreError|RepositoryError/)});
  await faulty.set({kind: 'none'});
  expect(writer.newest('acme')).toBeNull();
});

test('a URL says which bucket, and has no credentials', async () => {
  await expect(openStore('s3://key:secret@bucket/x')).rejects.toThrow('has no credentials');
  await expect(openStore('s3://bucket/x?regoin=eu')).rejects.toThrow('and not regoin');
});
