/** A commit that waits for a second durability, which the test completes by hand. */
import {rmSync} from 'node:fs';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {BackgroundWrites} from '../../engine/commit/background.ts';
import type {Durability, DurabilityEvents} from '../../engine/commit/durability.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import type {Write} from '../../engine/commit/write.ts';
import {Writer} from '../../engine/commit/writer.ts';
import type {CommitFacts} from '../../engine/copies/captured-set.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';

const log = createLogger({}, {write: () => undefined});
let directory: string;
let db: ReturnType<typeof openWriter>;
let groups: CommitGroups;
/** Of the commit that waits. */
let pending: {facts: CommitFacts; events: DurabilityEvents} | null;
let refusal: ServiceError | null;
let syncs: (() => void)[];
let seen: number[];

beforeEach(() => {
  vi.useFakeTimers({toFake: ['setTimeout']});
  directory = makeMemoryDirectory('svc-undecided-');
  db = openWriter(`${directory}/tenant.sqlite`);
  [pending, refusal, syncs, seen] = [null, null, [], []];
  const durability: Durability = {
    refusal: () => refusal,
    begin: (facts, events) => {
      expect(pending).toBeNull();
      pending = {facts, events};
    },
    beforeCheckpoint: () => true,
  };
  groups = new CommitGroups({
    writer: new Writer(db, Catalog.read(db), Date.now),
    metrics: new WorkerMetrics(),
    log,
    stages: [{committed: ({lastSequence}) => void seen.push(lastSequence)}],
    sync: done => void syncs.push(() => done(null)),
    inThread: {place: {isThread: () => true, inThread: () => undefined, inPool: () => undefined}, sync: neverHere},
    durability,
  });
});
afterEach(() => {
  vi.useRealTimers();
  db.close();
  rmSync(directory, {recursive: true});
});

function neverHere(): never {
  throw new Error('with a second durability the pool makes each sync');
}

const INSERT = insertEffect('t', {n: 1});

/** The outcome of a client's write, once it has one. */
function write(change: Partial<Pick<Write<unknown>, 'answersClient'>> = {answersClient: true}): () => string {
  let outcome = 'waits';
  groups.submit({
    ...change,
    run: INSERT,
    settle: settled => {
      outcome = settled instanceof ServiceError ? settled.code : 'done';
    },
  });
  return () => outcome;
}

function complete(which: 'sync' | 'log'): void {
  if (which === 'sync') syncs.shift()!();
  else {
    const {events} = pending!;
    pending = null;
    events.done();
  }
}

const documents = () => db.prepare<[], number>('SELECT count(*) FROM documents').pluck().get();

test.each([
  ['sync', 'log'],
  ['log', 'sync'],
] as const)('a commit is seen when %s and %s have completed', async (first, second) => {
  const outcome = write();
  await nextTurn();
  expect(pending!.facts).toMatchObject({commit: 2, sequence: 1});
  complete(first);
  const next = write();
  await nextTurn();
  expect([outcome(), seen, groups.durableSequence]).toEqual(['waits', [], 0]);
  complete(second);
  expect([outcome(), next(), seen]).toEqual(['done', 'waits', [1]]);
  // The next group has gathered meanwhile.
  expect(pending!.facts).toMatchObject({commit: 3, sequence: 2});
});

test('while a commit is undecided its clients know so, new writes get 503, and it stays pending', async () => {
  const [client, own] = [write(), write({})];
  await nextTurn();
  const gathered = write();
  await nextTurn();
  const queued = write();
  pending!.events.undecided();
  expect([client(), own(), gathered(), queued()]).toEqual([
    'session.outcome_unknown',
    'waits',
    'session.overloaded',
    'session.overloaded',
  ]);
  expect([write()(), seen]).toEqual(['session.overloaded', []]);
  complete('sync');
  complete('log');
  expect([client(), own(), seen]).toEqual(['session.outcome_unknown', 'done', [2]]);
  expect(documents()).toBe(2);

  const after = write();
  await nextTurn();
  complete('sync');
  complete('log');
  expect([after(), seen]).toEqual(['done', [2, 3]]);
});

test('work that no request waits for is put off while a commit is undecided, and is done once', async () => {
  const background = new BackgroundWrites(groups, log, (_, error) => expect.unreachable(String(error)));
  const first = background.perform('work', INSERT);
  await nextTurn();
  const second = background.perform('work', INSERT);
  pending!.events.undecided();
  await nextTurn();
  expect(background.isParked('work')).toBe(true);
  complete('sync');
  complete('log');
  await first;
  vi.runAllTimers();
  await nextTurn();
  await nextTurn();
  complete('sync');
  complete('log');
  await second;
  expect(documents()).toBe(2);
});

test('a long write that is under way when a commit becomes undecided ends, and is refused', async () => {
  write();
  await nextTurn();
  let steps = 0;
  let outcome: unknown;
  groups.submit({
    *slices() {
      for (;;) {
        if (++steps > 1) return;
        vi.spyOn(performance, 'now').mockReturnValueOnce(Number.POSITIVE_INFINITY);
        yield;
      }
    },
    settle: settled => {
      outcome = settled;
    },
  });
  await nextTurn();
  expect(steps).toBe(1);
  pending!.events.undecided();
  expect(outcome).toBeUndefined();
  await nextTurn();
  expect([steps, (outcome as ServiceError).code]).toEqual([2, 'session.overloaded']);
  expect(db.inTransaction).toBe(false);
});

test('a log without space refuses a group before its COMMIT, and takes one that writes nothing', async () => {
  refusal = new ServiceError('session.storage_full', 'full');
  const full = write();
  let nothing: unknown;
  await nextTurn();
  groups.submit({run: () => 'nothing', settle: settled => (nothing = settled)});
  await nextTurn();
  expect([full(), nothing, documents(), pending, seen]).toEqual(['session.storage_full', 'nothing', 0, null, [0]]);
  refusal = null;
  const outcome = write();
  await nextTurn();
  complete('log');
  complete('sync');
  expect([outcome(), seen]).toEqual(['done', [0, 1]]);
});
