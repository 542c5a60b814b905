/** A commit that waits for caches in other processes, which the test lets answer by hand. */
import {rmSync} from 'node:fs';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import type {Commit} from '../../engine/commit/commit.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import type {RemoteCaches} from '../../engine/commit/remote-caches.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openReader, openWriter} from '../../engine/storage/database.ts';
import {Reader} from '../../engine/storage/reader.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';

const log = createLogger({}, {write: () => undefined});
let directory: string;
let db: ReturnType<typeof openWriter>;
let readerDb: ReturnType<typeof openReader>;
let reader: Reader;
let groups: CommitGroups;
let isInThread: boolean;
let mustWait: boolean;
/** Of the commit that waits. */
let answered: (() => void) | null;
let told: Commit[];
let syncs: (() => void)[];
let seen: number[];

beforeEach(() => {
  directory = makeMemoryDirectory('svc-caches-');
  db = openWriter(`${directory}/tenant.sqlite`);
  readerDb = openReader(`${directory}/tenant.sqlite`);
  reader = new Reader(readerDb, Catalog.read(db), {cachesRows: false});
  [answered, told, syncs, seen, mustWait] = [null, [], [], [], true];
  const caches: RemoteCaches = {
    get mayWait() {
      return mustWait;
    },
    committing: (commit, done) => {
      told.push(commit);
      answered = done;
      return mustWait;
    },
  };
  groups = new CommitGroups({
    writer: new Writer(db, Catalog.read(db), Date.now),
    metrics: new WorkerMetrics(),
    log,
    stages: [{committed: ({lastSequence}) => void seen.push(lastSequence)}],
    sync: done => void syncs.push(() => done(null)),
    inThread: {
      place: {isThread: () => isInThread, inThread: () => undefined, inPool: () => undefined},
      sync: () => undefined,
    },
    snapshot: {hold: () => reader.hold(), advance: () => reader.endSnapshot()},
    caches,
  });
});
afterEach(() => {
  reader.endSnapshot();
  readerDb.close();
  db.close();
  rmSync(directory, {recursive: true});
});

function insert(): () => boolean {
  let isDone = false;
  groups.submit({
    run: insertEffect('t', {n: 1}),
    settle: () => {
      isDone = true;
    },
  });
  return () => isDone;
}

/** How many documents a reader of this turn sees. */
function documents(): number {
  reader.inSnapshot();
  return readerDb.prepare<[], number>('SELECT count(*) FROM documents').pluck().get()!;
}

describe.each([
  ['this thread makes the sync', true],
  ['the pool makes the sync', false],
])('%s', (_, inThread) => {
  beforeEach(() => {
    isInThread = inThread;
  });

  test('caches drop what a commit changes before anyone sees it, and it is seen when they have confirmed', async () => {
    const isDone = insert();
    await nextTurn();
    expect(told.map(({lastSequence}) => lastSequence)).toEqual([1]);
    syncs.shift()?.();
    expect([isDone(), documents(), seen, groups.durableSequence]).toEqual([false, 0, [], 0]);
    answered!();
    expect([isDone(), documents(), seen, groups.durableSequence]).toEqual([true, 1, [1], 1]);
  });

  test('the group that gathered meanwhile is committed then, and waits for its own answer', async () => {
    insert();
    await nextTurn();
    syncs.shift()?.();
    const isNextDone = insert();
    await nextTurn();
    expect(told.length).toBe(1);
    answered!();
    syncs.shift()?.();
    expect(told.map(({lastSequence}) => lastSequence)).toEqual([1, 2]);
    expect([isNextDone(), documents()]).toEqual([false, 1]);
    answered!();
    expect([isNextDone(), documents()]).toEqual([true, 2]);
  });

  test('a commit does not wait for caches that need not confirm', async () => {
    mustWait = false;
    const isDone = insert();
    await nextTurn();
    syncs.shift()?.();
    expect([told.length, isDone(), documents()]).toEqual([1, true, 1]);
  });
});

test('a commit that is not synced is not seen, although the caches have answered', async () => {
  isInThread = false;
  const isDone = insert();
  await nextTurn();
  answered!();
  expect([isDone(), documents(), seen]).toEqual([false, 0, []]);
  syncs.shift()!();
  expect([isDone(), documents(), seen]).toEqual([true, 1, [1]]);
});
