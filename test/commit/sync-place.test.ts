/** The thread that writes syncs while the disk is quick, and a slow disk holds it up a bounded number of times. */
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {
  SYNC_IN_THREAD_BYTES_MAX,
  SYNC_IN_THREAD_MS_MAX,
  SYNC_POOL_GROUPS_MAX,
  SYNC_POOL_GROUPS_MIN,
  SYNC_POOL_MS_MAX,
} from '../../shared/limits.ts';
import {SyncPlace} from '../../worker/commit/sync-place.ts';

/** Both hand-overs. */
const HAND_OVER_MS = 0.3;

/** Syncs groups on a disk; returns for each whether the thread made it. */
function run(place: SyncPlace, disk: readonly number[], bytes = 1_000): boolean[] {
  return disk.map(ms => {
    const isThread = place.isThread(bytes);
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

test('on a disk whose syncs are just too slow, one in thousands is', () => {
  const tries = run(new SyncPlace(), times(100_000, SYNC_POOL_MS_MAX - HAND_OVER_MS));
  expect(inThread(tries)).toBeLessThan(40);
});

test('the first slow one goes back to the pool; enough quick ones make the next stay short again', () => {
  const place = new SyncPlace();
  const slow = [SYNC_IN_THREAD_MS_MAX + 0.1];
  const quick = (count: number) => inThread(run(place, times(count, 0.2)));
  expect(quick(SYNC_POOL_GROUPS_MIN)).toBe(0);
  for (let round = 0; round < 3; round++) {
    expect(run(place, slow)).toEqual([true]);
    expect(quick(SYNC_POOL_GROUPS_MIN)).toBe(0);
    expect(quick(SYNC_POOL_GROUPS_MIN)).toBe(SYNC_POOL_GROUPS_MIN);
  }
});

test('a disk that stays slow is tried less and less', () => {
  const place = new SyncPlace();
  const made = run(place, times(30_000, SYNC_IN_THREAD_MS_MAX + 0.1));
  const tries = made.flatMap((isThread, i) => (isThread ? [i] : []));
  const stays = tries.slice(1).map((at, i) => at - tries[i]! - 1);
  expect(stays.slice(0, 4)).toEqual([8, 16, 32, 64]);
  expect(Math.max(...stays)).toBe(SYNC_POOL_GROUPS_MAX);
});

test('groups of many bytes go to the pool, and say nothing of the others', () => {
  const place = new SyncPlace();
  run(place, times(SYNC_POOL_GROUPS_MIN, 0.2));
  expect(inThread(run(place, times(100, 8), SYNC_IN_THREAD_BYTES_MAX + 1))).toBe(0);
  expect(inThread(run(place, times(100, 0.2), SYNC_IN_THREAD_BYTES_MAX))).toBe(100);
});

test('whatever the disk does, slow syncs of the thread are few: at most one for each stay in the pool', () => {
  fc.assert(
    fc.property(fc.array(fc.double({min: 0, max: 20, noNaN: true}), {maxLength: 2_000}), disk => {
      const made = run(new SyncPlace(), disk);
      const slow = made.filter((isThread, i) => isThread && disk[i]! > SYNC_IN_THREAD_MS_MAX).length;
      const pooled = made.length - inThread(made);
      expect(slow * SYNC_POOL_GROUPS_MIN).toBeLessThanOrEqual(pooled);
    }),
  );
});
