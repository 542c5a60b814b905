import Database from 'better-sqlite3';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {allOrNothing, dryRun} from '../../engine/commit/attempt.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import {insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {DEFERRED_CHANGES_MAX, QUOTA_FAR_BYTES} from '../../engine/limits.ts';
import {addIndexes} from '../../engine/schema/install.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {AssertionError} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {WrittenFile} from './written-file.ts';

let file: WrittenFile;
let db: Connection;
let writer: Writer;

beforeEach(() => {
  file = new WrittenFile('deferred-changes');
  ({db, writer} = file);
});

afterEach(() => {
  vi.restoreAllMocks();
  file.close();
});

const groupsOf = (storageBytesMax?: number) => file.groups(storageBytesMax);

/** Of a write all of which can be rolled back. */
function outcomeOf<T>(groups: CommitGroups, run: (writer: Writer) => T): Promise<T | ServiceError> {
  return written(groups, change => allOrNothing(change, () => run(change)));
}

function written<T>(groups: CommitGroups, run: (writer: Writer) => T): Promise<T | ServiceError> {
  return new Promise(resolve => groups.submit<T>({run, checksFirst: true, settle: resolve}));
}

const numbers = () => db.prepare("SELECT body ->> 'n' FROM documents ORDER BY doc").pluck().all();
const insert = (n: number) => insertEffect('t', {n});
const refused = () => new ServiceError('op.failed', 'no');
function full(): never {
  throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
}

test.each([
  ['in memory', 1, 0],
  ['more than are held in memory', DEFERRED_CHANGES_MAX, 1],
])('%s: a failure leaves nothing, and the others of its group are made', async (_, changes, savepoints) => {
  const groups = groupsOf();
  await groups.perform(change => addIndexes(change, change.table('t'), [{name: 'n', fields: ['n'], unique: false}]));
  const taken = vi.spyOn(writer.statements.savepoint, 'run');
  const fails = (change: Writer) => {
    for (let n = 0; n < changes; n++) insert(100 + n)(change);
    throw refused();
  };
  const outcomes = await Promise.all([insert(1), fails, insert(2)].map(run => outcomeOf<unknown>(groups, run)));
  expect(outcomes.map(outcome => outcome instanceof ServiceError)).toEqual([false, true, false]);
  expect(taken).toHaveBeenCalledTimes(savepoints);
  expect(numbers()).toEqual([1, 2]);
  expect(db.prepare('SELECT count(*) FROM index_entries').pluck().get()).toBe(2);
  expect(db.prepare('SELECT documents FROM tables').pluck().get()).toBe(2);
  expect(db.prepare("SELECT count(*) FROM journal WHERE record LIKE '%inserted%'").pluck().get()).toBe(2);
});

test('a document is read as its deferred changes leave it', async () => {
  const groups = groupsOf();
  const id = await groups.perform(insert(1));
  const taken = vi.spyOn(writer.statements.savepoint, 'run');
  const read = await outcomeOf(groups, change => {
    const bodies: unknown[] = [];
    const see = (at: string) => bodies.push(change.documentById(at)?.body ?? null);
    patchEffect('t', id, {patch: {n: 2}})(change);
    see(id);
    const other = insert(3)(change);
    see(other);
    change.delete(change.table('t'), change.documentById(id)!);
    see(id);
    return bodies;
  });
  expect(read).toEqual(['{"n":2}', '{"n":3}', null]);
  expect(taken).not.toHaveBeenCalled();
  expect(numbers()).toEqual([3]);
});

test('a unique index counts deferred changes, and a refusal can be caught', async () => {
  const groups = groupsOf();
  await groups.perform(change => addIndexes(change, change.table('t'), [{name: 'n', fields: ['n'], unique: true}]));
  const caught = await outcomeOf(groups, change => {
    insert(1)(change);
    try {
      insert(1)(change);
    } catch (violation) {
      insert(2)(change);
      return (violation as ServiceError).code;
    }
    return 'made';
  });
  expect(caught).toBe('op.unique_violation');
  expect(numbers()).toEqual([1, 2]);
});

test('over the quota the write is rolled back, although its changes have been stored', async () => {
  const groups = groupsOf(1);
  expect(await outcomeOf(groups, insert(1))).toMatchObject({code: 'session.storage_full'});
  expect(numbers()).toEqual([]);
});

test.each([
  ['has no quota', 0],
  ['is near its quota', QUOTA_FAR_BYTES],
])('a tenant that %s: what follows a part that failed stays, and the part does not', async (_, storageBytesMax) => {
  const groups = groupsOf(storageBytesMax);
  await groups.perform(insert(1));
  for (const readsFile of [false, true]) {
    const outcome = await written(groups, change => {
      const part = () => {
        insert(2)(change);
        if (readsFile) expect(change.documentsFrom(0, Number.MAX_SAFE_INTEGER, 10)).not.toEqual([]);
        insert(3)(change);
        throw refused();
      };
      expect(() => allOrNothing(change, part)).toThrow(ServiceError);
      return insert(4)(change);
    });
    expect(outcome).toMatch(/^[0-9a-z]{32}$/);
  }
  expect(numbers()).toEqual([1, 4, 4]);
});

test.each([
  ['stored', false],
  ['read', true],
])('the disk is full when a document is %s: the group fails, and the next one is made', async (_, isRead) => {
  const groups = groupsOf();
  const id = await groups.perform(insert(1));
  const {documentById, insertDocument, savepoint} = writer.statements;
  const reads = (change: Writer) => {
    insert(2)(change);
    return change.documentById(id)?.body;
  };
  const readsWhenFull = (change: Writer) => {
    vi.spyOn(insertDocument, 'run').mockImplementation(full);
    if (isRead) vi.spyOn(documentById, 'get').mockImplementation(full);
    return reads(change);
  };
  const outcomes = await Promise.all([insert(3), readsWhenFull].map(run => outcomeOf<unknown>(groups, run)));
  expect(outcomes).toMatchObject([{code: 'session.storage_full'}, {code: 'session.storage_full'}]);
  expect(numbers()).toEqual([1]);
  vi.restoreAllMocks();
  const taken = vi.spyOn(savepoint, 'run');
  expect(await outcomeOf(groups, reads)).toBe('{"n":1}');
  expect(taken).not.toHaveBeenCalled();
  expect(numbers()).toEqual([1, 2]);
});

test('only the first part of a write can be rolled back by itself', async () => {
  const outcome = written(groupsOf(), change => {
    insert(1)(change);
    expect(() => allOrNothing(change, () => undefined)).toThrow(AssertionError);
  });
  expect(await outcome).toBeUndefined();
});

test('a dry run leaves nothing open, whether or not it fails', async () => {
  const groups = groupsOf();
  const dry = (fails: boolean) =>
    new Promise(resolve => {
      function* slices(change: Writer) {
        const takeBack = dryRun(change);
        insert(1)(change);
        if (fails) throw refused();
        yield takeBack();
      }
      groups.submit({slices, settle: resolve});
    });
  const ended = [dry(false), dry(true)];
  const after = written(groups, change => {
    expect(() => change.db.exec('RELEASE w')).toThrow('no such savepoint');
    return insert(2)(change);
  });
  expect(await after).toMatch(/^[0-9a-z]{32}$/);
  expect(await Promise.all(ended)).toMatchObject([undefined, {code: 'op.failed'}]);
  expect(numbers()).toEqual([2]);
});
