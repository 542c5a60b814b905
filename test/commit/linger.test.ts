/** A group waits for those who were just answered, in a closed circle. In a model with a time of its own, then with a disk driven by hand. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {CommitGroups} from '../../engine/commit/group.ts';
import {Linger} from '../../engine/commit/linger.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {LINGER_MS_MAX, LINGER_SYNC_MS_MIN, LINGER_SYNCS, LINGER_WRITES_MAX} from '../../engine/limits.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {seededRandom} from '../harness/random.ts';

type Load = {
  syncMs: number;
  /** When writes arrive by themselves. */
  arrivals?: readonly number[];
  /** Writers of a closed circle: each writes again so long after it was answered. */
  writers?: number;
  thinkMs?: () => number;
  untilMs: number;
};
type Group = {writes: number; waitedMs: number; atMs: number};

/** Groups as `group.ts` makes them, in a time of its own. */
function simulate(load: Load, linger = new Linger()): Group[] {
  const {syncMs, arrivals = [], writers = 0, thinkMs = () => 0, untilMs} = load;
  const groups: Group[] = [];
  const events: {at: number; what: 'write' | 'synced' | 'timer'}[] = [];
  const add = (at: number, what: 'write' | 'synced' | 'timer') => {
    let index = events.length;
    while (index > 0 && events[index - 1]!.at < at) index--;
    events.splice(index, 0, {at, what});
  };
  let next = 0;
  let open = 0;
  let syncing = 0;
  let readyMs: number | null = null;
  for (let i = 0; i < writers; i++) add(thinkMs(), 'write');
  for (;;) {
    const arrivalMs = arrivals[next] ?? Number.POSITIVE_INFINITY;
    const isArrival = arrivalMs <= (events.at(-1)?.at ?? Number.POSITIVE_INFINITY);
    const event = isArrival ? {at: arrivalMs, what: 'write' as const} : events.pop();
    if (event === undefined || event.at >= untilMs) return groups;
    if (isArrival) next++;
    const nowMs = event.at;
    if (event.what === 'write') {
      open++;
      linger.ran();
    } else if (event.what === 'synced') {
      linger.synced(syncMs);
      linger.notified(syncing, open, nowMs);
      if (writers > 0) for (let i = 0; i < syncing; i++) add(nowMs + thinkMs(), 'write');
      syncing = 0;
    }
    if (syncing > 0 || open === 0) continue;
    readyMs ??= nowMs;
    const remainingMs = linger.remainingMs(nowMs);
    if (remainingMs > 0) {
      add(nowMs + remainingMs, 'timer');
      continue;
    }
    linger.committed();
    groups.push({writes: open, waitedMs: nowMs - readyMs, atMs: nowMs});
    [syncing, open, readyMs] = [open, 0, null];
    add(nowMs + syncMs, 'synced');
  }
}

function poisson(perMs: number, untilMs: number, random: () => number): number[] {
  const all: number[] = [];
  for (let at = 0; at < untilMs; all.push(at)) at += -Math.log(1 - random()) / perMs;
  return all;
}

describe('how long a group is held back', () => {
  const seed = fc.integer({min: 1, max: 2 ** 31});

  test('never for longer than the limits, whatever arrives', () => {
    fc.assert(
      fc.property(
        fc.double({min: 0.1, max: 40, noNaN: true}),
        fc.array(fc.double({min: 0, max: 300, noNaN: true}), {maxLength: 200}),
        fc.nat(20),
        fc.double({min: 0, max: 20, noNaN: true}),
        (syncMs, some, writers, thinkMs) => {
          const arrivals = [...some].sort((a, b) => a - b);
          for (const {waitedMs} of simulate({syncMs, arrivals, writers, thinkMs: () => thinkMs, untilMs: 300})) {
            expect(waitedMs).toBeLessThanOrEqual(Math.min(LINGER_SYNCS * syncMs, LINGER_MS_MAX) + 1e-6);
            if (syncMs < LINGER_SYNC_MS_MIN) expect(waitedMs).toBe(0);
          }
        },
      ),
    );
  });

  test('where writes arrive by themselves, hardly ever', () => {
    fc.assert(
      fc.property(
        seed,
        fc.double({min: 0.05, max: 40, noNaN: true}),
        fc.double({min: LINGER_SYNC_MS_MIN, max: 10, noNaN: true}),
        (from, perSync, syncMs) => {
          const untilMs = 1_000 * syncMs;
          const arrivals = poisson(perSync / syncMs, untilMs, seededRandom(from));
          const groups = simulate({syncMs, arrivals, untilMs});
          expect(groups.filter(({waitedMs}) => waitedMs > 0).length).toBeLessThanOrEqual(0.03 * groups.length + 3);
        },
      ),
      {numRuns: 100},
    );
  });

  test('where they arrive in equal times, in one group of four at most', () => {
    for (const perSync of [0.3, 0.7, 1.3, 2.2, 3.6, 5.5, 11.3, 23.7, 37.1]) {
      const arrivals = Array.from({length: Math.ceil(1_000 * perSync)}, (_, i) => (5 * i) / perSync);
      const groups = simulate({syncMs: 5, arrivals, untilMs: 5_000});
      const waiting = groups.filter(({waitedMs}) => waitedMs > 0).length;
      expect(waiting, `${perSync} per sync`).toBeLessThanOrEqual(groups.length / 4);
    }
  });

  test('in a closed circle until all are there: each sync serves all of them', () => {
    fc.assert(
      fc.property(
        seed,
        fc.integer({min: 2, max: 64}),
        fc.double({min: 2, max: 10, noNaN: true}),
        (from, writers, syncMs) => {
          const random = seededRandom(from);
          const thinkMs = () => random() * 0.8 * Math.min(syncMs, LINGER_MS_MAX);
          const groups = simulate({syncMs, writers, thinkMs, untilMs: 100 * syncMs});
          expect(groups.slice(30).filter(({writes}) => writes !== writers)).toEqual([]);
        },
      ),
    );
  });

  test('not for more writers than the limit, and hardly where they take longer than a sync', () => {
    const linger = new Linger();
    simulate({syncMs: 5, writers: 8, thinkMs: () => 1, untilMs: 1_000}, linger);
    linger.notified(LINGER_WRITES_MAX, 0, 2_000);
    expect(linger.remainingMs(2_000)).toBe(Math.min(LINGER_SYNCS * 5, LINGER_MS_MAX));
    linger.notified(LINGER_WRITES_MAX, 1, 2_000);
    expect(linger.remainingMs(2_000)).toBe(0);
    const random = seededRandom(7);
    const slow = simulate({syncMs: 4, writers: 8, thinkMs: () => 4.2 + random() * 10, untilMs: 4_000});
    expect(slow.filter(({waitedMs}) => waitedMs > 0).length).toBeLessThan(0.05 * slow.length);
  });

  test('a circle in which one wrote late waits again after few groups', () => {
    let writes = 0;
    const thinkMs = () => (++writes % 400 === 0 ? 30 : 1);
    const groups = simulate({syncMs: 5, writers: 16, thinkMs, untilMs: 10_000}).slice(30);
    expect(groups.filter(({writes}) => writes >= 15).length).toBeGreaterThan(0.6 * groups.length);
  });

  test('a circle that ends is forgotten after some groups', () => {
    const linger = new Linger();
    simulate({syncMs: 4, writers: 8, thinkMs: () => 0.5, untilMs: 400}, linger);
    const arrivals = poisson(0.5, 4_000, seededRandom(3));
    const waits = simulate({syncMs: 4, arrivals, untilMs: 4_000}, linger).filter(({waitedMs}) => waitedMs > 0);
    expect(waits.length).toBeLessThan(32);
  });

  test('a lone writer never waits for anybody', () => {
    fc.assert(
      fc.property(
        fc.double({min: 0.5, max: 50, noNaN: true}),
        fc.double({min: 0, max: 20, noNaN: true}),
        (syncMs, thinkMs) => {
          const groups = simulate({syncMs, writers: 1, thinkMs: () => thinkMs, untilMs: 100 * (syncMs + thinkMs)});
          expect(groups.filter(({waitedMs}) => waitedMs > 0)).toEqual([]);
        },
      ),
    );
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
    // A closed circle, for long.
    linger.synced(60_000);
    for (let i = 0; i < 100; i++) {
      linger.notified(2, 0, i);
      for (let n = 0; n < 2; n++) linger.ran();
    }
    linger.committed();
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

  test('writers that were answered and those that wrote meanwhile share the next one', async () => {
    timeStands();
    const {disk, insert} = newGroups(new Linger(60_000));
    const again: Promise<void>[] = [];
    const notified = Promise.all([insert(() => again.push(insert())), insert(() => again.push(insert()))]);
    await nextTurn();
    const meanwhile = insert();
    await nextTurn();
    disk.end!();
    await notified;
    await nextTurn();
    await nextTurn();
    disk.end!();
    await Promise.all([meanwhile, ...again]);
    expect(disk.groups).toEqual([2, 3]);
  });

  test('one who does not come back is not waited for longer than the limit', async () => {
    const {groups, disk, insert} = newGroups(new Linger(1));
    const notified = insert();
    await nextTurn();
    const meanwhile = insert();
    await nextTurn();
    disk.end!();
    await notified;
    while (disk.end === null) await nextTurn();
    disk.end();
    await meanwhile;
    await groups.idle();
    expect(disk.groups).toEqual([1, 1]);
  });

  test('a close waits for nobody', async () => {
    timeStands();
    const {groups, disk, insert} = newGroups(new Linger(60_000));
    const notified = insert();
    await nextTurn();
    const meanwhile = insert();
    await nextTurn();
    disk.end!();
    await notified;
    expect(disk.end).toBeNull();
    const closed = groups.close();
    expect(disk.end).not.toBeNull();
    disk.end!();
    await Promise.all([meanwhile, closed]);
    expect(disk.groups).toEqual([1, 1]);
  });
});
