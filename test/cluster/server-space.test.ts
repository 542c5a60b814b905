/** What is sent to NATS servers that are almost full: small records always, records of a log a little longer than bases. */
import {expect, test} from 'vitest';
import {NATS_RESERVE_SHARE, PART_BYTES} from '../../cluster/limits.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {ServerSpace} from '../../cluster/nats/server-space.ts';
import {SpacedEngine} from '../../cluster/nats/spaced-engine.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {committed, decided} from './harness/conformance.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {CLUSTER, commit, newTenant, opened} from './harness/rig.ts';

const MOST = 64 * PART_BYTES;
const RESERVE = MOST * NATS_RESERVE_SHARE;

/** A host, and its servers, of which the second has less space. */
async function hostWith(freeBytes: number) {
  const rig = memoryRig();
  let free = freeBytes;
  const page = (left: number) => ({config: {max_storage: MOST}, storage: MOST - RESERVE - left});
  const space = new ServerSpace({readAll: async () => [page(MOST), page(free), null]});
  await space.read();
  const log = new ReplicatedLog(new SpacedEngine(await rig.connect(), space), CLUSTER, rig.timing);
  const read = (left: number) => {
    free = left;
    return space.read();
  };
  return {rig, space, log, read};
}

test('a base ends where the reserve begins, also if there was space for it when it began', async () => {
  const {rig, space, log, read} = await hostWith(8 * PART_BYTES);
  await rig.run(async () => {
    const tenant = newTenant();
    const position = await opened(log.tenant(tenant), 1);
    const put = (parts: number) =>
      log.bases.put(tenant, {position, openedBy: 'a', file: sourceOf(Buffer.alloc(parts * PART_BYTES))});
    expect((await put(7)).kind).toBe('stored');
    expect(space.freeBytes).toBeLessThan(PART_BYTES);
    await read(5 * PART_BYTES);
    expect((await put(7)).kind).toBe('full');
    expect(space.freeBytes).toBeLessThan(PART_BYTES);
    expect(await log.bases.list(tenant)).toHaveLength(1);
    // The records that list the bases were stored meanwhile.
    await read(9 * PART_BYTES);
    expect((await put(7)).kind).toBe('stored');
  });
});

test('a record of a log may use half of the reserve, and none is sent beyond it', async () => {
  const {rig, space, log, read} = await hostWith(0);
  await rig.run(async () => {
    const tenant = newTenant();
    const first = await opened(log.tenant(tenant), 1);
    const bytes = 2 * PART_BYTES;
    const second = await committed(log.tenant(tenant).append(first, commit(1, 'one', bytes)));
    expect(space.freeBytes).toBe(0);
    await read(bytes - RESERVE / 2);
    expect((await decided(log.tenant(tenant).append(second, commit(1, 'two', bytes)))).kind).toBe('full');
    await read(0);
    expect((await committed(log.tenant(tenant).append(second, commit(1, 'two', bytes)))).n).toBe(3);
  });
});

test('without a page that tells a limit, none is known', async () => {
  const space = new ServerSpace({readAll: async () => [null, {config: {}, storage: 5}, {config: {max_storage: -1}}]});
  await space.read();
  space.spend(1);
  expect([space.freeBytes, space.takes({kind: 'bases'}, MOST)]).toEqual([null, true]);
});

test('a server that runs without its page has what it had, less what the others store; one that is down counts as none', async () => {
  const replicas = [{offline: false}, {offline: false}];
  let pages: unknown[] = [];
  const page = (left: number) => ({config: {max_storage: MOST}, storage: MOST - RESERVE - left});
  const space = new ServerSpace({readAll: async () => pages});
  const read = async (...all: unknown[]) => {
    pages = all;
    await space.read();
    return [space.freeBytes, space.hidden];
  };
  const led = (left: number, others: readonly unknown[]) => ({...page(left), meta_cluster: {replicas: others}});
  expect(await read(led(100, replicas), page(90), page(50))).toEqual([50, 0]);
  expect(await read(led(80, replicas), page(85), null)).toEqual([30, 1]);
  // Others that were trimmed say nothing about it.
  expect(await read(led(300, replicas), page(290), null)).toEqual([50, 1]);
  expect(await read(led(80, [{offline: false}, {offline: true}]), page(85), null)).toEqual([80, 0]);
  // Without the page of the leader, none is known to be down.
  expect(await read(null, page(85), page(45))).toEqual([45, 1]);
  expect(await read(led(80, replicas), page(85), page(40))).toEqual([40, 0]);
});
