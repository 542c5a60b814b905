/** A group waits for those who were just told, and for nobody else. The disk is driven by hand. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {LINGER_MS_MAX, LINGER_SKIPPED_MAX, LINGER_SYNC_MS_MIN} from '../../shared/limits.ts';
import {createLogger} from '../../shared/log.ts';
import {CommitGroups} from '../../worker/commit/group.ts';
import {Linger} from '../../worker/commit/linger.ts';
import {insertEffect} from '../../worker/commit/mutation.ts';
import {Writer} from '../../worker/commit/writer.ts';
import {WorkerMetrics} from '../../worker/metrics.ts';
import {Catalog} from '../../worker/storage/catalog.ts';
import {openWriter} from '../../worker/storage/database.ts';

describe('how long a group is held back', () => {
  function afterSyncs(ms: number): Linger {
    const linger = new Linger();
    linger.synced(ms);
    return linger;
  }

  test('until as many have run as were told, or two syncs have passed', () => {
    const linger = afterSyncs(1);
    linger.told(2, 100);
    expect(linger.remainingMs(100)).toBe(2);
    expect(linger.remainingMs(101.5)).toBe(0.5);
    linger.ran();
    expect(linger.remainingMs(101.5)).toBe(0.5);
    linger.ran();
    expect(linger.remainingMs(101.5)).toBe(0);
  });

  test('not beyond two syncs', () => {
    const linger = afterSyncs(1);
    linger.told(2, 100);
    expect(linger.remainingMs(102)).toBe(0);
  });

  test('never longer than the limit, however slow the disk is', () => {
    const linger = afterSyncs(1_000);
    linger.told(2, 100);
    expect(linger.remainingMs(100)).toBe(LINGER_MS_MAX);
  });

  test.each([
    ['a disk on which syncs cost nothing', LINGER_SYNC_MS_MIN / 2],
    ['a disk that nothing is known of', 0],
  ])('not on %s', (_, ms) => {
    const linger = afterSyncs(ms);
    linger.told(2, 100);
    expect(linger.remainingMs(100)).toBe(0);
  });

  test('a lone writer never waits for anybody', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({syncMs: fc.double({min: 0, max: 50, noNaN: true}), thinkMs: fc.nat(20)})),
        all => {
          const linger = new Linger();
          let nowMs = 0;
          for (const {syncMs, thinkMs} of all) {
            linger.ran();
            expect(linger.remainingMs(nowMs)).toBe(0);
            linger.committed();
            linger.synced(syncMs);
            nowMs += syncMs;
            linger.told(1, nowMs);
            nowMs += thinkMs;
          }
        },
      ),
    );
  });

  test('where nobody comes back, fewer and fewer groups wait; where they do, each one', () => {
    const linger = afterSyncs(1);
    let nowMs = 0;
    /** @returns whether this group waited */
    const group = (comeBack: number): boolean => {
      nowMs += 10;
      linger.told(4, nowMs);
      for (let i = 0; i < comeBack; i++) linger.ran();
      const waited = linger.remainingMs(nowMs) > 0;
      if (linger.remainingMs(nowMs + 10) > 0) expect.fail('it waits longer than two syncs');
      linger.committed();
      return waited;
    };
    const inVain = Array.from({length: 16 * LINGER_SKIPPED_MAX}, () => group(0));
    expect(inVain.slice(0, 10)).toEqual([true, false, true, false, false, true, false, false, false, false]);
    expect(inVain.filter(Boolean).length).toBe(6 + 15);
    for (let i = 0; i < LINGER_SKIPPED_MAX; i++) group(0);
    while (!group(3)) {} // bounded: a group waits after LINGER_SKIPPED_MAX at the latest
    expect(Array.from({length: 5}, () => group(3))).toEqual([true, true, true, true, true]);
  });
});

describe('groups', () => {
  type Disk = {end: (() => void) | null; groups: number[]};

  function newGroups(linger: Linger): {groups: CommitGroups; disk: Disk; insert: (then?: () => void) => Promise<void>} {
    const directory = mkdtempSync(join(tmpdir(), 'svc-linger-'));
    const db = openWriter(join(directory, 'tenant.sqlite'));
    onTestFinished(() => {
      db.close();
      rmSync(directory, {recursive: true});
    });
    const disk: Disk = {end: null, groups: []};
    const groups = new CommitGroups({
      writer: new Writer(db, Catalog.read(db), Date.now),
      metrics: new WorkerMetrics(),
      log: createLogger({}),
      stages: [{committed: ({changes}) => disk.groups.push(changes.length)}],
      sync: done => {
        disk.end = () => {
          disk.end = null;
          done(null);
        };
      },
      linger,
    });
    linger.synced(60_000);
    const insert = (then = () => {}) =>
      new Promise<void>(resolve => {
        const settle = () => {
          then();
          resolve();
        };
        groups.submit({run: writer => insertEffect('t', {a: 1})(writer), settle});
      });
    return {groups, disk, insert};
  }

  /** However busy the machine is: no group has worked for too long, and no wait is over. */
  function timeStands(): void {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    onTestFinished(() => now.mockRestore());
  }

  test('those who were told and those who wrote meanwhile share the next one', async () => {
    timeStands();
    const {disk, insert} = newGroups(new Linger(60_000));
    const again: Promise<void>[] = [];
    const told = Promise.all([insert(() => again.push(insert())), insert(() => again.push(insert()))]);
    await nextTurn();
    const meanwhile = insert();
    await nextTurn();
    disk.end!();
    await told;
    await nextTurn();
    await nextTurn();
    disk.end!();
    await Promise.all([meanwhile, ...again]);
    expect(disk.groups).toEqual([2, 3]);
  });

  test('one who does not come back is not waited for longer than the limit', async () => {
    const {groups, disk, insert} = newGroups(new Linger(1));
    const told = insert();
    await nextTurn();
    const meanwhile = insert();
    await nextTurn();
    disk.end!();
    await told;
    while (disk.end === null) await nextTurn();
    disk.end();
    await meanwhile;
    await groups.idle();
    expect(disk.groups).toEqual([1, 1]);
  });

  test('a close waits for nobody', async () => {
    timeStands();
    const {groups, disk, insert} = newGroups(new Linger(60_000));
    const told = insert();
    await nextTurn();
    const meanwhile = insert();
    await nextTurn();
    disk.end!();
    await told;
    expect(disk.end).toBeNull();
    const closed = groups.close();
    expect(disk.end).not.toBeNull();
    disk.end!();
    await Promise.all([meanwhile, closed]);
    expect(disk.groups).toEqual([1, 1]);
  });
});
