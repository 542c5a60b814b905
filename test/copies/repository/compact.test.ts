/** Compaction, retention and the check of a repository, on page sets of a history. */
import {randomBytes} from 'node:crypto';
import {readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {COMPACT_CHANGED_MS, GRACE_MS, MANIFEST_GRACE_MS} from '../../../copies/limits.ts';
import {check} from '../../../copies/repository/check.ts';
import {compact} from '../../../copies/repository/compact.ts';
import {expirable, expire} from '../../../copies/repository/expire.ts';
import {Housekeeping} from '../../../copies/repository/housekeeping.ts';
import {manifestsOf, PACKS} from '../../../copies/repository/object-names.ts';
import {plan, pointsOf} from '../../../copies/repository/plan.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {sourceOf} from '../../../engine/copies/bytes.ts';
import {CopyFile} from '../../../engine/copies/copy-file.ts';
import {PageSet} from '../../../engine/copies/page-set-reader.ts';
import {digestOf, type History, QUICK_DISK, SMALL, setBytes} from '../model.ts';
import {fetched, made, scratch, segment, writerOf} from './fixture.ts';

/** Of the histories: years ago, and all within a second. */
const THEN = 1_700_000_000_000;

async function stored(history: History = SMALL) {
  const {store, key, repository} = await made();
  const writer = await writerOf(repository);
  for (const commit of history.states.keys()) {
    await writer.addPack([segment('acme', commit === 0 ? 0 : commit + 1, commit + 1, {history})]);
  }
  await writer.writeManifest('acme');
  const packs = async () => (await store.list(PACKS, {most: 100})).map(({name}) => name);
  return {store, key, repository, writer, packs, root: fileURLToPath(store.url)};
}

const points = async (repository: Repository) =>
  (await repository.copies('acme')).timelines.flatMap(pointsOf).map(({last}) => last);

async function restored(repository: Repository): Promise<string> {
  const {base, sets} = plan(await repository.copies('acme'), 'newest');
  const path = join(scratch(), 'copy');
  const copy = CopyFile.create(path, new PageSet(sourceOf(await fetched(repository, 'acme', base))), QUICK_DISK);
  for (const set of sets) copy.apply(new PageSet(sourceOf(await fetched(repository, 'acme', set))));
  copy.verify();
  copy.close();
  return copy.position.digest.toString('hex');
}

test('old page sets are merged, and what they were made of is removed after its time', async () => {
  const {store, key, repository, writer, packs} = await stored();
  const nowMs = Date.now();
  expect(await compact(writer, 'acme', {scratch: scratch(), policy: null, nowMs})).toMatchObject({
    merged: 4,
    base: null,
  });
  expect(await compact(writer, 'acme', {scratch: scratch(), policy: null, nowMs})).toBeNull();
  const reader = await Repository.open(store, key);
  expect(await points(reader)).toEqual([1, 5]);
  expect(await restored(reader)).toBe(digestOf(SMALL.states.at(-1)!).toString('hex'));

  // A restore that read an older manifest can still be using the packs.
  expect(await packs()).toHaveLength(6);
  expect(await expire(writer, {policy: null, scratch: scratch(), nowMs})).toMatchObject({objects: 0});
  const later = {policy: null, scratch: scratch(), nowMs: nowMs + GRACE_MS + 1_000};
  expect(await expirable(reader, later)).toMatchObject({objects: 4});
  expect(await packs()).toHaveLength(6);
  expect(await expire(writer, later)).toMatchObject({objects: 4});
  expect(await packs()).toHaveLength(2);
  expect(await restored(await Repository.open(store, key))).toBe(digestOf(SMALL.states.at(-1)!).toString('hex'));
  expect(await check(repository, {readData: true})).toMatchObject({tenants: 1, items: 2, findings: []});
});

test('a new base is made of a base and the sets after it when they have grown', async () => {
  const states = Array.from({length: 24}, () => Array.from({length: 4}, () => randomBytes(65_536)));
  const {repository, writer} = await stored({pageBytes: 65_536, states});
  const young = {scratch: scratch(), policy: null, nowMs: THEN + 1_000};
  expect(await compact(writer, 'acme', young)).toMatchObject({base: 24});
  const copies = await repository.copies('acme');
  expect(plan(copies, 'newest')).toMatchObject({base: {last: 24}, sets: []});
  expect(pointsOf(copies.timelines[0]!).map(({last}) => last)).toEqual(states.map((_, i) => i + 1));
  expect(await restored(repository)).toBe(digestOf(states.at(-1)!).toString('hex'));
  expect(await compact(writer, 'acme', young)).toBeNull();
});

test('a merge that is larger than its parts is not stored, and not tried again', async () => {
  const blocks = Array.from({length: 18}, () => randomBytes(4_096));
  const xor = (page: Buffer, block: Buffer): Buffer => Buffer.from(page.map((byte, at) => byte ^ block[at]!));
  // In each set few differences occur often; together they make as many others as there are pages.
  const states: Buffer[][] = [Array.from({length: 154}, () => Buffer.alloc(4_096))];
  states.push(states[0]!.map((page, i) => xor(page, blocks[i % 7]!)));
  states.push(states[1]!.map((page, i) => xor(page, blocks[7 + (i % 11)]!)));
  const history = {pageBytes: 4_096, states};
  const {store, key, repository} = await made();
  const writer = await writerOf(repository);
  await writer.addPack([segment('acme', 0, 1, {history})]);
  for (const commit of [2, 3]) {
    const bytes = setBytes(history, {first: commit, last: commit, isDelta: () => true});
    await writer.addPack([{tenant: 'acme', kind: 'set', bytes}]);
  }
  const old = {scratch: scratch(), policy: null, nowMs: Date.now()};
  expect(await compact(writer, 'acme', old)).toEqual({merged: 0, dropped: 0, base: null});
  expect(await compact(writer, 'acme', old)).toBeNull();
  expect(await store.list(PACKS, {most: 100})).toHaveLength(3);
  const next = await Repository.open(store, key);
  expect(await restored(next)).toBe(digestOf(states.at(-1)!).toString('hex'));
  // A policy that drops points finds nothing to do a second time, either.
  expect(await expire(writer, {...old, policy: {last: 1}})).toMatchObject({items: new Map()});
});

test('nothing is removed while a manifest cannot be read, and none that is young or in use', async () => {
  const {store, writer, packs, root} = await stored();
  await compact(writer, 'acme', {scratch: scratch(), policy: null, nowMs: Date.now()});
  const [newest] = await store.list(manifestsOf('acme'), {most: 1});
  const path = join(root, newest!.name);
  const bytes = readFileSync(path);
  truncateSync(path, 10);
  const later = {policy: null, scratch: scratch(), nowMs: Date.now() + GRACE_MS + 1_000};
  await expect(expire(writer, later)).rejects.toMatchObject({code: 'damaged', object: newest!.name});
  expect(await packs()).toHaveLength(6);
  writeFileSync(path, bytes);
  for (let i = 0; i < 4; i++) await writer.writeManifest('acme');
  await expire(writer, {...later, nowMs: Date.now() + MANIFEST_GRACE_MS + 1_000});
  expect(await packs()).toHaveLength(6);
  expect(await store.list(manifestsOf('acme'), {most: 100})).toHaveLength(3);
});

test('the check names every object that is missing, short or changed', async () => {
  const {repository, root} = await stored();
  const {sets} = (await repository.copies('acme')).timelines[0]!;
  const [gone, short, changed, whole] = sets.map(({place}) => place.pack);
  rmSync(join(root, gone!));
  truncateSync(join(root, short!), 40);
  const bytes = readFileSync(join(root, changed!));
  bytes[50]! ^= 1;
  writeFileSync(join(root, changed!), bytes);
  const objects = async (readData: boolean) =>
    (await check(repository, {readData})).findings.map(({object}) => object).sort();
  expect(await objects(false)).toEqual([gone, short].sort());
  expect(await objects(true)).toEqual([gone, short, changed].sort());
  expect(await objects(true)).not.toContain(whole);
});

test('a policy drops old points with everything that only they need', async () => {
  const {repository, writer} = await stored();
  await writer.addPack([segment('acme', 0, 3)]);
  const young = {scratch: scratch(), nowMs: THEN + 1_000};
  expect(await compact(writer, 'acme', {...young, policy: {last: 2}})).not.toBeNull();
  expect(await points(repository)).toEqual([3, 4, 5]);
  expect(await expire(writer, {...young, policy: {last: 1}})).toMatchObject({objects: 0});
  expect(await points(repository)).toEqual([3, 5]);
});

test('in idle time each tenant is compacted when it has changed, and unneeded objects are removed', async () => {
  const {writer, packs} = await stored();
  let nowMs = Date.now();
  const housekeeping = new Housekeeping({writer, scratch: scratch(), policy: null, now: () => nowMs});
  expect(await housekeeping.turn()).toBeNull();
  nowMs += COMPACT_CHANGED_MS;
  expect(await housekeeping.turn()).toMatchObject({did: 'compacted', tenant: 'acme', compacted: {merged: 4}});
  expect(await housekeeping.turn()).toBeNull();
  expect(await housekeeping.turn()).toEqual({did: 'removed', objects: 0, bytes: 0});
  expect(await housekeeping.turn()).toBeNull();
  nowMs += GRACE_MS + 1_000;
  expect(await housekeeping.turn()).toBeNull(); // it has grown older
  expect(await housekeeping.turn()).toMatchObject({did: 'removed', objects: 4});
  expect(await packs()).toHaveLength(2);
});
