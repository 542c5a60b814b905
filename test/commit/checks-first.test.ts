import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import type {CommitGroups} from '../../engine/commit/group.ts';
import {deleteEffect, insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {OpenGroup} from '../../engine/commit/open-group.ts';
import {StorageQuota} from '../../engine/commit/storage-quota.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {QUOTA_FAR_BYTES, QUOTA_FAR_GROUPS} from '../../engine/limits.ts';
import {addIndexes} from '../../engine/schema/install.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {AssertionError} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {WrittenFile} from './written-file.ts';

let file: WrittenFile;
let db: Connection;
let writer: Writer;

beforeEach(() => {
  file = new WrittenFile('checks-first');
  ({db, writer} = file);
});

afterEach(() => file.close());

const groupsOf = (storageBytesMax?: number) => file.groups(storageBytesMax);

function outcomeOf(groups: CommitGroups, run: (writer: Writer) => string): Promise<string | ServiceError> {
  return new Promise(resolve => groups.submit<string>({run, checksFirst: true, settle: resolve}));
}

const all = (sql: string) => db.prepare(sql).pluck().all();

test('a refused write leaves nothing in the file, and the others of its group are made', async () => {
  const groups = groupsOf();
  await groups.perform(change => {
    addIndexes(change, change.table('t'), [{name: 'by_n', fields: ['n'], unique: true}]);
  });
  const long = 'x'.repeat(100_000);
  const outcomes = await Promise.all([
    outcomeOf(groups, insertEffect('t', {n: 1})),
    outcomeOf(groups, insertEffect('t', {n: 1})),
    outcomeOf(groups, insertEffect('t', {n: long})),
    outcomeOf(groups, deleteEffect('t', 'missing')),
    outcomeOf(groups, change => patchEffect('t', 'missing', {patch: {n: 2}})(change).id),
    outcomeOf(groups, insertEffect('t', {n: 2})),
  ]);
  expect(outcomes.map(outcome => (outcome instanceof ServiceError ? outcome.code : 'made'))).toEqual([
    'made',
    'op.unique_violation',
    'op.invalid_input',
    'op.not_found',
    'op.not_found',
    'made',
  ]);
  expect(all('SELECT body FROM documents')).toEqual(['{"n":1}', '{"n":2}']);
  expect(all('SELECT count(*) FROM index_entries')).toEqual([2]);
  expect(all("SELECT count(*) FROM journal WHERE record LIKE '%document.inserted%'")).toEqual([2]);
});

test('a delete that is refused because of a key leaves the document', async () => {
  const groups = groupsOf();
  const id = await groups.perform(insertEffect('t', {n: 'x'.repeat(100_000)}));
  await groups.perform(change => addIndexes(change, change.table('t'), [{name: 'by_n', fields: ['n'], unique: false}]));
  expect(await outcomeOf(groups, deleteEffect('t', id))).toMatchObject({code: 'op.invalid_input'});
  expect(all('SELECT id FROM documents')).toEqual([id]);
});

test('a write over the quota fails after its changes, and is rolled back', async () => {
  const groups = groupsOf(1);
  const outcome = await outcomeOf(groups, insertEffect('t', {n: 1}));
  expect(outcome).toMatchObject({code: 'session.storage_full'});
  expect(all('SELECT count(*) FROM documents')).toEqual([0]);
  expect(all('SELECT count(*) FROM journal')).toEqual([0]);
});

test.each([
  ['has none', 0, 0],
  ['is far', 2 * QUOTA_FAR_BYTES, 0],
  ['is near', QUOTA_FAR_BYTES, 1],
])(
  'a tenant whose quota %s (%i bytes): a write that checks first takes %i savepoints',
  async (_, storageBytesMax, savepoints) => {
    const taken = vi.spyOn(writer.statements.savepoint, 'run');
    expect(await outcomeOf(groupsOf(storageBytesMax), insertEffect('t', {n: 1}))).toMatch(/^[0-9a-z]{32}$/);
    expect(taken).toHaveBeenCalledTimes(savepoints);
  },
);

test('the usage of a tenant far from its quota is read again after some groups', () => {
  const usedBytes = new StorageQuota(db, 1).usedBytes;
  const quota = new StorageQuota(db, usedBytes + QUOTA_FAR_BYTES);
  quota.beginGroup();
  db.exec('CREATE TABLE large (body); INSERT INTO large VALUES (zeroblob(100000))');
  for (let group = 1; group < QUOTA_FAR_GROUPS; group++) {
    quota.beginGroup();
    expect(quota.isNear).toBe(false);
  }
  quota.beginGroup();
  expect(quota.isNear).toBe(true);
});

test('a write that fails after a change is a failed assertion, which ends the process', () => {
  const group = new OpenGroup({writer, log: createLogger({})});
  const late = (change: Writer) => {
    insertEffect('t', {n: 2})(change);
    throw new ServiceError('op.failed', 'too late');
  };
  const write = {run: late, checksFirst: true, settle: () => undefined};
  expect(() => group.run(write, 0)).toThrow(AssertionError);
  writer.statements.rollback.run();
});
