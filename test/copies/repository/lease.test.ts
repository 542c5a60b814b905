/** One server writes to a repository at a time. */
import {utimesSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {LEASE_MS} from '../../../copies/limits.ts';
import {LEASE_OBJECT, LEASES} from '../../../copies/repository/object-names.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import {StoreError} from '../../../copies/store/store-error.ts';
import {made, SERVER_A, SERVER_B, segment, writerOf} from './fixture.ts';

test('a second server is refused while the first is seen, and takes the lease after its time', async () => {
  const {store, repository} = await made();
  await writerOf(repository);
  const refused = {code: 'locked', holder: {host: 'alpha', serverId: 'server-a'}};
  await expect(RepositoryWriter.open(repository, SERVER_B)).rejects.toMatchObject(refused);
  const seconds = (Date.now() - LEASE_MS - 1_000) / 1000;
  utimesSync(join(fileURLToPath(store.url), LEASE_OBJECT), seconds, seconds);
  await writerOf(repository, SERVER_B);
});

test('the same server takes its own lease at once, and another one a lease that was released', async () => {
  const {repository} = await made();
  const killed = await writerOf(repository);
  const again = await writerOf(repository);
  expect(again.epoch).toBe(killed.epoch + 1);
  await again.release();
  await writerOf(repository, SERVER_B);
});

test('a copy of the server, which has its id and host, is refused while the server is seen', async () => {
  const {repository} = await made();
  const at = (place: string) => ({...SERVER_A, place});
  await writerOf(repository, at('one'));
  const refused = {code: 'locked', holder: {serverId: 'server-a'}};
  await expect(RepositoryWriter.open(repository, at('another'))).rejects.toMatchObject(refused);
  await writerOf(repository, at('one'));
});

test('a writer that lost the lease stores nothing that counts, and does not end the lease of the other', async () => {
  const {repository} = await made();
  const old = await writerOf(repository);
  await old.addPack([segment('acme', 0, 1)]);
  const taker = await RepositoryWriter.open(repository, {...SERVER_B, force: true});
  const lost = {code: 'locked', holder: {serverId: 'server-b'}};
  await expect(old.addPack([segment('acme', 2, 2)])).rejects.toMatchObject(lost);
  await expect(old.writeManifest('acme')).rejects.toMatchObject(lost);
  await old.release();
  await expect(RepositoryWriter.open(repository, SERVER_A)).rejects.toMatchObject(lost);
  expect(taker.newest('acme')).toMatchObject({commit: 1});
  await taker.addPack([segment('acme', 2, 3)]);
  await taker.writeManifest('acme');
  await taker.release();
});

test('the answer to its claim that was lost does not look like another server', async () => {
  const {store, repository} = await made();
  const put = store.put.bind(store);
  let retries = 0;
  store.put = async (name, bytes, options) => {
    await put(name, bytes, options);
    if (options?.ifAbsent !== true || !name.startsWith(LEASES)) return;
    retries++;
    throw new StoreError('exists', 'the second attempt has found what the first one stored');
  };
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 1)]);
  expect(retries).toBe(1);
});

test('a store whose lists lack what was stored last locks no server out, and what it stores then can be restored', async () => {
  const {store, repository, key} = await made();
  const list = store.list.bind(store);
  let isHidden = (_: string) => false;
  store.list = async (...args) => (await list(...args)).filter(({name}) => !isHidden(name));
  const first = await writerOf(repository);
  await first.addPack([segment('acme', 0, 1)]);
  await first.writeManifest('acme');
  const listed = new Set((await list('', {most: 1_000})).map(({name}) => name));
  const killed = await writerOf(repository);
  // More objects than the next writer stores, so that its own come first only by their epoch.
  for (let stored = 0; stored < 3; stored++) {
    await killed.addPack([segment('acme', 2, 2)]);
    await killed.writeManifest('acme');
  }
  isHidden = name => !listed.has(name);
  const again = await writerOf(repository);
  expect(again.epoch).toBe(killed.epoch + 1);
  // What it cannot see is stored again.
  expect(again.newest('acme')).toMatchObject({commit: 1});
  await again.addPack([segment('acme', 0, 3)]);
  await again.writeManifest('acme');
  isHidden = () => false;
  const reader = await Repository.open(store, key);
  expect(await reader.newest('acme')).toMatchObject({commit: 3});
  expect((await reader.copies('acme')).unreadable).toEqual([]);
  await expect(killed.addPack([segment('acme', 3, 3)])).rejects.toMatchObject({code: 'locked'});
});
