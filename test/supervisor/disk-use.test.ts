/** The tenants with the largest files, measured at most once a minute, and what the disk has left. */
import {tmpdir} from 'node:os';
import {expect, test} from 'vitest';
import {SERVER_TENANTS_SHOWN} from '../../shared/limits.ts';
import {DISK_USE_BATCH, DISK_USE_MS} from '../../supervisor/limits.ts';
import {DiskUse} from '../../supervisor/server/disk-use.ts';

test('names the largest of many tenants; concurrent requests share a measurement, which is kept for a while', async () => {
  const count = DISK_USE_BATCH * 2 + 1;
  const tenants = Array.from({length: count}, (_, n) => ({id: `t${n}`, generation: n}));
  let reads = 0;
  let nowMs = 1_000;
  const use = new DiskUse({
    directory: tmpdir(),
    tenants: () => tenants,
    bytesOf: (_, generation) => {
      reads++;
      return (generation * 7) % count;
    },
    now: () => nowMs,
  });
  const [one, other] = await Promise.all([use.measured(), use.measured()]);
  expect(one.tenants.map(({bytes}) => bytes)).toEqual(
    Array.from({length: SERVER_TENANTS_SHOWN}, (_, n) => count - 1 - n),
  );
  expect(one).toMatchObject({tenants_bytes: (count * (count - 1)) / 2, measured_at: 1_000});
  expect(other.tenants).toEqual(one.tenants);
  expect(one.free_bytes).toBeGreaterThan(0);
  expect(one.bytes).toBeGreaterThanOrEqual(one.free_bytes!);
  nowMs += DISK_USE_MS - 1;
  expect((await use.measured()).measured_at).toBe(1_000);
  expect(reads).toBe(count);
  nowMs++;
  expect((await use.measured()).measured_at).toBe(nowMs);
  expect(reads).toBe(2 * count);
});

test('a measurement that fails is not kept', async () => {
  let isBroken = true;
  const use = new DiskUse({
    directory: tmpdir(),
    tenants: () => [{id: 'one', generation: 1}],
    bytesOf: () => {
      if (isBroken) throw new Error('EIO');
      return 7;
    },
    now: () => 1_000,
  });
  await expect(use.measured()).rejects.toThrow('EIO');
  isBroken = false;
  expect(await use.measured()).toMatchObject({tenants_bytes: 7});
});
