/** A process that ends at any request to the store, while it adds, compacts or removes, loses nothing that counts. */
import {expect, test} from 'vitest';
import {GRACE_MS} from '../../../copies/limits.ts';
import {check} from '../../../copies/repository/check.ts';
import {compact} from '../../../copies/repository/compact.ts';
import {expire} from '../../../copies/repository/expire.ts';
import {plan, pointsOf} from '../../../copies/repository/plan.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryError} from '../../../copies/repository/repository-error.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import {StoreError} from '../../../copies/store/store-error.ts';
import {nightly} from '../../harness/nightly.ts';
import {made, SERVER_A, scratch, segment} from './fixture.ts';
import {MemoryObjects} from './memory-objects.ts';

const TENANTS = ['a', 'b'];

/** Two tenants in the same packs, with a manifest of one. */
async function begun() {
  const store = new MemoryObjects();
  const {key, repository} = await made(store);
  const writer = await RepositoryWriter.open(repository, SERVER_A);
  await writer.addPack(TENANTS.map(tenant => segment(tenant, 0, 1)));
  for (const commit of [2, 3]) await writer.addPack(TENANTS.map(tenant => segment(tenant, commit, commit)));
  await writer.writeManifest('a');
  await writer.addPack(TENANTS.map(tenant => segment(tenant, 4, 4)));
  await writer.release();
  return {objects: store.objects, key};
}

/** @returns the newest commit that counts */
async function work(store: MemoryObjects, key: Buffer, directory: string): Promise<number> {
  let newest = 4;
  try {
    const writer = await RepositoryWriter.open(await Repository.open(store, key), SERVER_A);
    const due = TENANTS.filter(tenant => writer.newest(tenant)!.commit < 5);
    if (due.length > 0) await writer.addPack(due.map(tenant => segment(tenant, 5, 5)));
    newest = 5;
    for (const tenant of TENANTS) await compact(writer, tenant, {scratch: directory, policy: null, nowMs: Date.now()});
    const nowMs = Date.now() + GRACE_MS + 60_000;
    await expire(writer, {scratch: directory, policy: null, nowMs});
    await writer.release();
  } catch (caught) {
    const isEnd = caught instanceof StoreError || (caught instanceof RepositoryError && caught.code === 'unavailable');
    if (!isEnd) throw caught;
  }
  return newest;
}

async function compare(store: MemoryObjects, key: Buffer, least: number): Promise<void> {
  const repository = await Repository.open(store, key);
  const {findings} = await check(repository, {readData: true});
  expect(findings).toEqual([]);
  for (const tenant of TENANTS) {
    const copies = await repository.copies(tenant);
    expect(plan(copies, 'newest').end.last).toBeGreaterThanOrEqual(least);
    const points = copies.timelines.flatMap(pointsOf).map(({last}) => last);
    expect(points[0]).toBe(1);
  }
}

async function endedAt(from: Map<string, {bytes: Buffer; modifiedMs: number}>, key: Buffer, request: number) {
  for (const lastArrives of [false, true]) {
    const directory = scratch();
    const store = new MemoryObjects(new Map(from), request, lastArrives);
    const newest = await work(store, key, directory);
    await compare(new MemoryObjects(store.objects), key, newest);
    // The next process completes it.
    const next = new MemoryObjects(store.objects);
    await work(next, key, directory);
    await compare(new MemoryObjects(next.objects), key, 5);
  }
}

async function requestsOf(from: Map<string, {bytes: Buffer; modifiedMs: number}>, key: Buffer): Promise<number> {
  const store = new MemoryObjects(new Map(from));
  await work(store, key, scratch());
  return store.requests;
}

test('at each eighth request', async () => {
  const {objects, key} = await begun();
  const requests = await requestsOf(objects, key);
  expect(requests).toBeGreaterThan(50);
  for (let request = 0; request < requests; request += 8) await endedAt(objects, key, request);
});

nightly.test('at each request', async () => {
  const {objects, key} = await begun();
  const requests = await requestsOf(objects, key);
  for (let request = 0; request < requests; request++) await endedAt(objects, key, request);
});
