/** The cluster process reads files that workers wrote: what they say is found without SQL, so no file of a tenant stops it. */
import {copyFileSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import type Database from 'better-sqlite3';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {runOrder} from '../../cluster/standby/file-work.ts';
import {fileStateOf} from '../../engine/copies/file-state.ts';
import {closedFileState, moveLog} from '../../engine/replication/closed-file.ts';
import {savePlace} from '../../engine/replication/place-file.ts';
import {numberTransaction} from '../../engine/storage/commit-number.ts';
import {openReader, openWriter} from '../../engine/storage/database.ts';
import {metaRow, SET_META} from '../../engine/storage/meta.ts';
import {snapshotOf} from '../copies/tenant-capture.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';

let root: string;
let path: string;

beforeEach(() => {
  root = makeMemoryDirectory('svc-closed-');
  path = join(root, 'tenant.sqlite');
});

afterEach(() => rmSync(root, {recursive: true}));

/** As a worker that was killed leaves them. */
function leaveFiles(db: Database.Database): void {
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, join(root, `left.sqlite${suffix}`));
  db.close();
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, {force: true});
  path = join(root, 'left.sqlite');
}

/** Each record has a commit of its own. @param bytes of each */
function writeRecords(db: Database.Database, from: number, bytes: readonly number[]): void {
  const add = db.prepare('INSERT INTO journal (sequence, record, digest, commit_number) VALUES (?, ?, ?, ?)');
  for (const [i, length] of bytes.entries()) add.run(from + i, 'x'.repeat(length), 'd'.repeat(64), 100 + from + i);
}

function bySql(file: string) {
  const db = openReader(file);
  try {
    const sequence = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck().get() ?? 0;
    return fileStateOf(db, {sequence}, 7);
  } finally {
    db.close();
  }
}

describe('a closed file says the same as its SQL', () => {
  test.each<[string, readonly number[]]>([
    ['without records', []],
    ['one record', [10]],
    ['records on many pages', Array.from({length: 3_000}, () => 200)],
    ...Array.from(
      {length: 24},
      (_, i) => [`a last record of ${3_950 + 6 * i} bytes`, [5, 3_950 + 6 * i]] satisfies [string, number[]],
    ),
    ...Array.from(
      {length: 24},
      (_, i) => [`a last record of ${12_200 + i} bytes`, [5, 12_200 + i]] satisfies [string, number[]],
    ),
    ['a last record of a megabyte', [5, 1_000_000]],
  ])('%s', (_, bytes) => {
    const db = openWriter(path);
    writeRecords(db, 1, bytes.slice(0, -1));
    db.pragma('wal_checkpoint(TRUNCATE)');
    writeRecords(db, Math.max(1, bytes.length), bytes.slice(-1));
    leaveFiles(db);
    const {commitsInLog, ...state} = closedFileState(path, 7);
    const {logFrames, ...expected} = bySql(path);
    expect(state).toEqual(expected);
    expect(commitsInLog).toBe(Math.min(bytes.length, 1));
    expect(logFrames! > 0).toBe(commitsInLog > 0);
  });

  test('a commit without a record is the newest one', () => {
    const db = openWriter(path);
    writeRecords(db, 1, [10]);
    db.transaction(() => numberTransaction(db))();
    leaveFiles(db);
    expect(closedFileState(path, 7)).toMatchObject({commit: 102, sequence: 1});
  });
});

test.each([900, 1_000, 1_100, 1_300, 1_600, 2_500, 4_100, 9_000])('other values can have %i bytes', length => {
  const db = openWriter(path);
  writeRecords(db, 1, [10]);
  for (const key of ['a_value', 'function_settings', 'z_value']) {
    db.prepare(SET_META).run(...metaRow(key, 'x'.repeat(length)));
  }
  db.transaction(() => numberTransaction(db))();
  leaveFiles(db);
  expect(closedFileState(path, 7)).toMatchObject({commit: 102, sequence: 1, timeline: bySql(path).timeline});
});

test('what the log has is moved into the file', () => {
  const db = openWriter(path);
  writeRecords(
    db,
    1,
    Array.from({length: 500}, () => 5_000),
  );
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.exec('DELETE FROM journal WHERE sequence > 20; VACUUM');
  writeRecords(db, 21, [100, 9_000]);
  leaveFiles(db);
  const before = snapshotOf(path);
  moveLog(path, 4_096);
  expect(snapshotOf(path)).toEqual(before);
});

describe('a file that a hostile worker has made is refused, and reading it ends', () => {
  const ENDLESS =
    'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n AS sequence, n AS commit_number FROM t';

  /** Changes the bytes of the page. */
  function change(number: number, bytes: (page: Buffer) => void): void {
    const content = readFileSync(path);
    bytes(content.subarray((number - 1) * 4_096, number * 4_096));
    writeFileSync(path, content);
  }

  function rootOf(table: string): number {
    const db = openReader(path);
    try {
      return db.prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table)!;
    } finally {
      db.close();
    }
  }

  test.each<[string, (db: Database.Database) => void, () => void, string]>([
    [
      'journal is a view without end',
      db => db.exec(`DROP TABLE journal; CREATE VIEW journal AS ${ENDLESS}`),
      () => {},
      'it has no table journal',
    ],
    [
      'meta is a view without end',
      db => db.exec(`DROP TABLE meta; CREATE VIEW meta AS SELECT sequence AS key FROM (${ENDLESS})`),
      () => {},
      'has no timeline',
    ],
    [
      'the schema contains itself',
      () => {},
      () =>
        change(1, page => {
          page[100] = 5;
          page.writeUInt16BE(0, 103);
          page.writeUInt32BE(1, 108);
        }),
      'more pages than this reads',
    ],
    [
      'a page of the journal contains itself',
      () => {},
      () => change(rootOf('journal'), page => page.writeUInt32BE(rootOf('journal'), 8)),
      'deeper than SQLite makes one',
    ],
  ])('%s', (_, bySqlite, byHand, why) => {
    const db = openWriter(path);
    writeRecords(
      db,
      1,
      Array.from({length: 100}, () => 2_000),
    );
    bySqlite(db);
    db.pragma('wal_checkpoint(TRUNCATE)');
    leaveFiles(db);
    byHand();
    const at = {timeline: '0'.repeat(32), pageBytes: 4_096, commit: 1, sequence: 1, timeMs: 1, pages: 1};
    savePlace(path, {at: {...at, digest: Buffer.alloc(32)}, log: '{}'});
    const order = {kind: 'find', path, owner: null, end: new Int32Array(new SharedArrayBuffer(4))} as const;
    expect(runOrder(order, 1)).toEqual({kind: 'unusable', sentence: expect.stringContaining(why)});
  });
});
