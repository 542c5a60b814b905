/** A repository in a directory: what is added can be read by anyone who has the key, and by no one else. */
import {readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {newRepositoryKey, parseRepositoryKey} from '../../../copies/repository/keys.ts';
import {newestManifest, sealManifest} from '../../../copies/repository/manifest.ts';
import {counterOf, manifestsOf, newName, REPOSITORY_OBJECT} from '../../../copies/repository/object-names.ts';
import {plan, pointsOf} from '../../../copies/repository/plan.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {SERVER} from '../../../copies/repository/tenant-copies.ts';
import type {ObjectStore} from '../../../copies/store/object-store.ts';
import {sourceOf} from '../../../engine/copies/bytes.ts';
import {CopyFile} from '../../../engine/copies/copy-file.ts';
import {PageSet} from '../../../engine/copies/page-set-reader.ts';
import {SMALL, TIMELINE} from '../model.ts';
import {fetched, made, SERVER_B, scratch, segment, writerOf} from './fixture.ts';

const OTHER_TIMELINE = 'ffeeddccbbaa99887766554433221100';

test('what is added can be restored with the store and the key alone, with or without a manifest', async () => {
  const {store, key, repository} = await made();
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 1), segment('other', 0, 2)]);
  await writer.addPack([segment('acme', 2, 2)]);
  await writer.writeManifest('acme');
  await writer.addPack([segment('acme', 3, 4)]);
  expect(writer.newest('acme')).toMatchObject({timeline: TIMELINE, commit: 4, pages: 4});
  expect(writer.newest('new')).toBeNull();

  const reader = await Repository.open(store, key);
  expect(await reader.tenants()).toEqual(['acme', 'other']);
  const copies = await reader.copies('acme');
  expect(copies.unreadable).toEqual([]);
  expect(pointsOf(copies.timelines[0]!).map(({last}) => last)).toEqual([1, 2, 4]);
  const {base, sets, end} = plan(copies, 'newest');
  expect(end).toMatchObject({last: 4, sequence: 40});
  const copy = CopyFile.create(join(scratch(), 'copy'), new PageSet(sourceOf(await fetched(reader, 'acme', base))));
  for (const set of sets) copy.apply(new PageSet(sourceOf(await fetched(reader, 'acme', set))));
  copy.verify();
  copy.close();
  expect(await reader.newest('acme')).toEqual(copy.position);
  expect(plan(copies, {sequence: 39}).end.last).toBe(2);
  expect(() => plan(copies, {sequence: 9})).toThrow('no copy of acme at or before sequence 9');
});

test('a segment of any size is streamed from a file, and its files are listed', async () => {
  const {repository} = await made();
  const writer = await writerOf(repository);
  const path = join(scratch(), 'large');
  const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'a package of a tenant');
  writeFileSync(path, large);
  await writer.addLarge({tenant: 'acme', kind: 'package', name: 'sha512-x', path});
  writeFileSync(path, segment('acme', 0, 3).bytes);
  await writer.addBase('acme', path, {timeline: OTHER_TIMELINE, commit: 7});
  await writer.addPack([{tenant: SERVER, kind: 'state', name: 'settings', bytes: Buffer.from('{}')}]);
  expect(writer.nextManifest()).toBe('acme');
  await writer.writeManifest('acme');
  expect(writer.nextManifest()).toBe(SERVER);

  const copies = await repository.copies('acme');
  expect(copies).toMatchObject({timelines: [{origin: {timeline: OTHER_TIMELINE, commit: 7}}]});
  expect((await fetched(repository, 'acme', copies.files[0]!)).equals(large)).toBe(true);
  expect((await repository.copies(SERVER)).files).toMatchObject([{kind: 'state', name: 'settings'}]);
  expect(await repository.tenants()).toEqual(['acme']);
  // A page set that is not what it says is not stored.
  truncateSync(path, segment('acme', 0, 3).bytes.length - 1);
  await expect(writer.addBase('acme', path)).rejects.toMatchObject({code: 'damaged'});
});

test('a new writer goes on where the one before ended', async () => {
  const {store, key, repository} = await made();
  const first = await writerOf(repository);
  await first.addPack([segment('acme', 0, 1)]);
  await first.writeManifest('acme');
  await first.addPack([segment('acme', 2, 2)]);
  await first.release();
  const second = await writerOf(await Repository.open(store, key), SERVER_B);
  expect(second.newest('acme')).toMatchObject({commit: 2});
  await second.addPack([segment('acme', 3, 5)]);
  await second.writeManifest('acme');
  const copies = await repository.copies('acme');
  expect(pointsOf(copies.timelines[0]!).map(({last}) => last)).toEqual([1, 2, 5]);
});

test('an older manifest under a newer name is not taken for the newest', async () => {
  const {store, repository} = await made();
  const writer = await writerOf(repository);
  for (const commit of [1, 2]) {
    await writer.addPack([segment('acme', commit === 1 ? 0 : commit, commit)]);
    await writer.writeManifest('acme');
  }
  const [newest, older] = await store.list(manifestsOf('acme'), {most: 2});
  const replayed = newName(manifestsOf('acme'), counterOf(newest!.name)! + 1);
  await store.put(replayed, (await store.get(older!.name))!);
  const copies = await repository.copies('acme');
  expect(copies.unreadable).toEqual([replayed]);
  expect(plan(copies, 'newest').end.last).toBe(2);
});

test('a manifest of an early repository, which does not say its number, can be read', async () => {
  const {store, repository} = await made();
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 1)]);
  await writer.writeManifest('acme');
  const key = (await repository.dataKey('acme'))!;
  const {manifest, counter} = (await newestManifest(store, key, repository.id, 'acme'))!;
  const {counter: _, ...early} = manifest;
  await store.put(newName(manifestsOf('acme'), counter + 1), await sealManifest(key, repository.id, early));
  expect(await repository.copies('acme')).toMatchObject({unreadable: [], timelines: [{bases: [{last: 1}]}]});
});

test('a restored file is a new timeline, and the one before can still be restored', async () => {
  const {repository} = await made();
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 5)]);
  await writer.addPack([segment('acme', 0, 3, {timeline: OTHER_TIMELINE})]);
  const copies = await repository.copies('acme');
  expect(plan(copies, 'newest').end).toMatchObject({timeline: OTHER_TIMELINE, last: 3});
  expect(plan(copies, {sequence: 50}, TIMELINE).end).toMatchObject({timeline: TIMELINE, last: 5});
  // An old directory was copied back: equal commit numbers with other pages.
  const states = SMALL.states.map(pages => pages.map(page => Buffer.from(page).fill(9, 5, 9)));
  const history = {...SMALL, states};
  await writer.addPack([segment('acme', 0, 2, {history, timeline: OTHER_TIMELINE})]);
  await writer.addPack([segment('acme', 3, 4, {history, timeline: OTHER_TIMELINE})]);
  expect(plan(await repository.copies('acme'), 'newest')).toMatchObject({base: {last: 2}, end: {last: 4}});
});

test('a wrong key, a missing repository and a later format have codes of their own', async () => {
  const {store, key} = await made();
  await expect(Repository.init(store, key)).rejects.toMatchObject({code: 'exists'});
  const other = parseRepositoryKey(newRepositoryKey());
  await expect(Repository.open(store, other)).rejects.toMatchObject({code: 'wrong_key'});
  expect(() => parseRepositoryKey('not a key')).toThrow(expect.objectContaining({code: 'wrong_key'}));
  const stored = JSON.parse(String(await store.get(REPOSITORY_OBJECT)));
  await store.put(REPOSITORY_OBJECT, Buffer.from(JSON.stringify({...stored, format: 2})));
  await expect(Repository.open(store, key)).rejects.toMatchObject({code: 'unknown_format'});
  await store.remove([REPOSITORY_OBJECT]);
  await expect(Repository.open(store, key)).rejects.toMatchObject({code: 'no_repository'});
});

test('no object has plain text, and one tenant’s key does not open the copies of another', async () => {
  const {store, repository} = await made();
  const writer = await writerOf(repository);
  const secret = Buffer.from('the secret of acme');
  await writer.addPack([
    {tenant: 'acme', kind: 'package', name: 'one', bytes: secret},
    {tenant: 'other', kind: 'package', name: 'one', bytes: secret},
  ]);
  await writer.writeManifest('acme');
  await repository.addProof('acme', {finding: String(secret)});
  expect(await repository.newestProof('acme')).toEqual({finding: String(secret)});
  for (const path of files(store)) expect(readFileSync(path).includes(secret), path).toBe(false);
  const [item] = (await repository.copies('acme')).files;
  await expect(fetched(repository, 'other', item!)).rejects.toMatchObject({code: 'damaged', object: item!.place.pack});
});

test('a tenant that was forgotten cannot be read, and begins again under another key', async () => {
  const {store, key, repository} = await made();
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 1), segment('gone', 0, 1)]);
  await writer.writeManifest('acme');
  await writer.writeManifest('gone');
  // By another process, while the server has the keys in memory.
  const other = await Repository.open(store, key);
  await other.forget('acme');
  await other.forget('gone');
  const reader = await Repository.open(store, key);
  expect(await reader.tenants()).toEqual([]);
  expect(await reader.lostKeys()).toEqual(new Map());
  await expect(reader.copies('acme')).rejects.toMatchObject({code: 'no_copies'});
  // The server finds out when it writes the next manifest, and does not put the key back.
  await writer.addPack([segment('acme', 2, 2)]);
  await writer.writeManifest('acme');
  await writer.writeManifest('gone');
  expect([writer.newest('acme'), [...writer.tenants]]).toEqual([null, []]);
  await writer.addPack([segment('acme', 0, 2)]);
  await writer.writeManifest('acme');
  expect(plan(await reader.copies('acme'), 'newest')).toMatchObject({base: {last: 2}, sets: []});
  expect(await reader.tenants()).toEqual(['acme']);
});

test('a pack that is gone or damaged is named', async () => {
  const {store, repository} = await made();
  const writer = await writerOf(repository);
  for (const commit of [1, 2, 3]) await writer.addPack([segment('acme', commit === 1 ? 0 : commit, commit)]);
  const {sets} = (await repository.copies('acme')).timelines[0]!;
  const path = join(fileURLToPath(store.url), sets[0]!.place.pack);
  const bytes = readFileSync(path);
  bytes[3]! ^= 1;
  writeFileSync(path, bytes);
  await expect(fetched(repository, 'acme', sets[0]!)).rejects.toMatchObject({object: sets[0]!.place.pack});
  truncateSync(path, 50);
  expect(await repository.copies('acme')).toMatchObject({unreadable: [sets[0]!.place.pack]});
  rmSync(path);
  expect(await repository.copies('acme')).toMatchObject({unreadable: [sets[0]!.place.pack]});
});

function files(store: ObjectStore): string[] {
  const root = fileURLToPath(store.url);
  return readdirSync(root, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));
}
