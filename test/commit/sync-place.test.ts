/** The thread that writes syncs while the disk is quick, and a slow disk holds it up a bounded number of times. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {SyncPlace} from '../../engine/commit/sync-place.ts';
import {
  SYNC_ALONE_MS_MAX,
  SYNC_CROWD_MS_MAX,
  SYNC_FEW_WRITES_MAX,
  SYNC_IN_THREAD_BYTES_MAX,
  SYNC_IN_THREAD_MS_MAX,
  SYNC_MEAN_GROUPS,
  SYNC_POOL_GROUPS_MAX,
  SYNC_POOL_GROUPS_MIN,
  SYNC_POOL_MS_MAX,
} from '../../engine/limits.ts';

/** Both hand-overs. */
const HAND_OVER_MS = 0.3;

/** Syncs groups on a disk; returns for each whether the thread made it. */
function run(place: SyncPlace, disk: readonly number[], {writes = 1, bytes = 1_000} = {}): boolean[] {
  return disk.map(ms => {
    const isThread = place.isThread(writes, bytes);
    if (isThread) place.inThread(ms);
    else place.inPool(ms + HAND_OVER_MS);
    return isThread;
  });
}

const times = (count: number, ms: number): number[] => Array.from({length: count}, () => ms);
const inThread = (made: readonly boolean[]) => made.filter(Boolean).length;

test('on a quick disk all but the first are made by the thread that writes', () => {
  expect(inThread(run(new SyncPlace(), times(1_000, 0.2)))).toBe(1_000 - SYNC_POOL_GROUPS_MIN);
});

test('on a disk of 5 ms none ever is', () => {
  expect(inThread(run(new SyncPlace(), times(100_000, 5)))).toBe(0);
});

test('on a quick disk with slow syncs now and then nearly all are', () => {
  const disk = times(10_000, 0.2).map((ms, i) => (i % 40 === 0 ? 5 : ms));
  expect(inThread(run(new SyncPlace(), disk))).toBeGreaterThan(9_900);
});

test('on a disk whose syncs are just too slow, one in hundreds is', () => {
  const tries = run(new SyncPlace(), times(100_000, SYNC_POOL_MS_MAX - HAND_OVER_MS));
  expect(inThread(tries)).toBeLessThan(400);
});

test('slow ones go back to the pool; enough quick ones make the next stay short again', () => {
  const place = new SyncPlace();
  const slow = [SYNC_MEAN_GROUPS * SYNC_IN_THREAD_MS_MAX + 0.1];
  const quick = (count: number) => inThread(run(place, times(count, 0.2)));
  expect(quick(SYNC_POOL_GROUPS_MIN)).toBe(0);
  for (let round = 0; round < 3; round++) {
    expect(run(place, slow)).toEqual([true]);
    expect(quick(SYNC_POOL_GROUPS_MIN)).toBe(0);
    expect(quick(SYNC_POOL_GROUPS_MIN)).toBe(SYNC_POOL_GROUPS_MIN);
  }
});

test('a disk that stays slow is tried less and less', () => {
  const disk = times(30_000, SYNC_POOL_MS_MAX - HAND_OVER_MS);
  const tries = run(new SyncPlace(), disk).flatMap((isThread, i) => (isThread ? [i] : []));
  const stays = tries.slice(1).flatMap((at, i) => (at - tries[i]! > 1 ? [at - tries[i]! - 1] : []));
  expect(stays.slice(0, 4)).toEqual([8, 16, 32, 64]);
  expect(Math.max(...stays)).toBe(SYNC_POOL_GROUPS_MAX);
});

test('groups of many bytes go to the pool, and say nothing of the others', () => {
  const place = new SyncPlace();
  run(place, times(SYNC_POOL_GROUPS_MIN, 0.2));
  expect(inThread(run(place, times(100, 8), {bytes: SYNC_IN_THREAD_BYTES_MAX + 1}))).toBe(0);
  expect(inThread(run(place, times(100, 0.2), {writes: SYNC_FEW_WRITES_MAX, bytes: SYNC_IN_THREAD_BYTES_MAX}))).toBe(
    100,
  );
});

describe('of groups of many writes', () => {
  const many = {writes: SYNC_FEW_WRITES_MAX + 1};
  const few = SYNC_IN_THREAD_MS_MAX - 0.1;

  test('the thread makes the syncs of a very quick disk', () => {
    expect(inThread(run(new SyncPlace(), times(1_000, SYNC_CROWD_MS_MAX - 0.1), many))).toBe(
      1_000 - SYNC_POOL_GROUPS_MIN,
    );
  });

  test('on a disk that is quick enough for small ones, one in hundreds is tried', () => {
    expect(inThread(run(new SyncPlace(), times(10_000, few)))).toBe(10_000 - SYNC_POOL_GROUPS_MIN);
    expect(inThread(run(new SyncPlace(), times(100_000, few), many))).toBeLessThan(400);
  });

  test('one sends the next groups to the pool with it, until none came for a while', () => {
    const place = new SyncPlace();
    run(place, times(SYNC_POOL_GROUPS_MIN, few));
    run(place, times(SYNC_POOL_GROUPS_MAX, few), many);
    const made = run(place, times(100, few));
    expect(made.indexOf(true)).toBe(SYNC_POOL_GROUPS_MIN - 1);
    expect(inThread(made)).toBe(101 - SYNC_POOL_GROUPS_MIN);
  });

  test('they say nothing of small ones', () => {
    const place = new SyncPlace();
    run(place, times(SYNC_POOL_GROUPS_MIN, 0.2));
    run(place, times(1_000, few), many);
    run(place, times(SYNC_POOL_GROUPS_MIN - 1, 5)); // these still count as large
    expect(inThread(run(place, times(100, 0.2)))).toBe(100);
  });
});

describe('without company', () => {
  const slow = SYNC_POOL_MS_MAX - HAND_OVER_MS - 0.1;

  test('the thread makes slower syncs as well', () => {
    expect(inThread(run(new SyncPlace(() => true), times(1_000, slow)))).toBe(1_000 - SYNC_POOL_GROUPS_MIN);
  });

  test('none on a disk of 5 ms', () => {
    expect(inThread(run(new SyncPlace(() => true), times(100_000, 5)))).toBe(0);
  });

  test('the first group with company goes to the pool, and so do the next ones, until there was none for a while', () => {
    let isAlone = true;
    const place = new SyncPlace(() => isAlone);
    run(place, times(100, slow));
    isAlone = false;
    expect(run(place, times(1, slow))).toEqual([false]);
    isAlone = true;
    const made = run(place, times(100, slow));
    expect(made.indexOf(true)).toBe(SYNC_POOL_GROUPS_MIN - 1);
    expect(inThread(made)).toBe(101 - SYNC_POOL_GROUPS_MIN);
  });

  test('quick syncs stay in the thread when company comes', () => {
    let isAlone = true;
    const place = new SyncPlace(() => isAlone);
    run(place, times(100, 0.2));
    isAlone = false;
    expect(inThread(run(place, times(100, 0.2)))).toBe(100);
  });
});

test.each([
  ['', false, 1, SYNC_IN_THREAD_MS_MAX],
  ['of large groups ', false, SYNC_FEW_WRITES_MAX + 1, SYNC_CROWD_MS_MAX],
  ['without company ', true, 1, SYNC_ALONE_MS_MAX],
])(
  'whatever the disk does, the thread %sis held up for little more than the limit a sync, but for the last of each stay',
  (_, isAlone, writes, msMax) => {
    fc.assert(
      fc.property(fc.array(fc.double({min: 0, max: 20, noNaN: true}), {maxLength: 2_000}), disk => {
        const made = run(new SyncPlace(() => isAlone), disk, {writes});
        let [syncs, ms] = [0, 0];
        for (const [i, isThread] of made.entries()) {
          const isLast = made[i + 1] !== true;
          if (isThread && !isLast) [syncs, ms] = [syncs + 1, ms + disk[i]!];
          else [syncs, ms] = [0, 0];
          expect(ms).toBeLessThanOrEqual((syncs + SYNC_MEAN_GROUPS) * msMax);
        }
      }),
    );
  },
);
