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
