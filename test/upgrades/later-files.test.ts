/** Files of a later version of svc: refused in a sentence that names the svc they need, and left as they are. */
import {cpSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, expect, test} from 'vitest';
import {openWriter} from '../../engine/storage/database.ts';
import {metaRow, SET_META} from '../../engine/storage/meta.ts';
import {STORAGE_VERSION} from '../../engine/storage/migrations.ts';
import {noteLayout} from '../../engine/storage/row-sums.ts';
import {checkFileIsThere, openTenantFile} from '../../engine/storage/tenant-file.ts';
import {laterFinding, readWrittenBy} from '../../engine/storage/written-by.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {readSqliteHeader, readUserVersion} from '../../shared/sqlite-header.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {VERSION} from '../../shared/version.ts';
import {claimServerFiles} from '../../supervisor/start/server-files.ts';
import {directoryIn, fingerprint} from '../harness/data-directory.ts';
import {unpackFixture} from './fixture.ts';

const OWNER = {tenant: 'a', generation: 1, createdMs: 1_800_000_000_000};
const LATER = STORAGE_VERSION + 2;
const work = mkdtempSync(join(tmpdir(), 'svc-later-'));
afterAll(() => rmSync(work, {recursive: true}));

/** A directory with a file as a later svc leaves it. @param isKilled its commits are still in the log */
function later(name: string, {readableFrom, isKilled}: {readableFrom: number; isKilled: boolean}): string {
  const directory = join(work, name);
  mkdirSync(directory);
  const path = join(directory, TENANT_FILE);
  openWriter(path).close();
  openTenantFile(directory, OWNER).close();
  const db = new Database(path);
  db.pragma('wal_autocheckpoint = 0');
  db.transaction(() => {
    db.exec('CREATE TABLE of_the_future (a INTEGER PRIMARY KEY)');
    for (const row of [metaRow('written_by', '7.1.0'), metaRow('readable_from', readableFrom)]) {
      db.prepare(SET_META).run(...row);
    }
    noteLayout(db);
    db.pragma(`user_version = ${LATER}`);
  }).immediate();
  if (!isKilled) {
    db.close();
    return directory;
  }
  const killed = join(work, `${name}-killed`);
  cpSync(directory, killed, {recursive: true});
  db.close();
  return killed;
}

const sentence = `the file has storage version ${LATER}, written by svc 7.1.0; svc ${VERSION} reads up to version ${STORAGE_VERSION}: use svc 7.1.0 or later`;

test.each([
  ['closed in order', false],
  ['of a server that was killed', true],
] as const)('a file %s is refused by name and not changed', (name, isKilled) => {
  const directory = later(name, {readableFrom: LATER, isKilled});
  const path = join(directory, TENANT_FILE);
  const before = fingerprint(directory);
  expect(readUserVersion(path)).toBe(LATER);
  expect(laterFinding(path)).toBe(sentence);
  expect(() => checkFileIsThere(directory)).toThrow(`the tenant is not served: ${sentence}`);
  expect(verifyFile(path, OWNER).findings).toEqual([`file: ${sentence}`]);
  expect(fingerprint(directory)).toEqual(before);
});

test('a later file that says that this svc can read it is opened and keeps its version', () => {
  const directory = later('readable', {readableFrom: STORAGE_VERSION, isKilled: false});
  checkFileIsThere(directory);
  openTenantFile(directory, OWNER).close();
  expect(readWrittenBy(join(directory, TENANT_FILE))).toEqual({
    ...{version: LATER, svc: VERSION, readableFrom: STORAGE_VERSION},
  });
});

test('a frame without a commit makes no file a later one', () => {
  const directory = later('torn', {readableFrom: LATER, isKilled: true});
  const log = join(directory, `${TENANT_FILE}-wal`);
  // Its last page ends the commit.
  truncateSync(log, statSync(log).size - 1);
  expect(laterFinding(join(directory, TENANT_FILE))).toBeNull();
  expect(readUserVersion(join(directory, TENANT_FILE))).toBe(STORAGE_VERSION);
});

test('the version of a file whose commits are all in its log is read there', () => {
  const killed = directoryIn(unpackFixture(14, join(work, 'fixture')), 'killed-14')!;
  const path = join(killed, TENANT_FILE);
  expect(readSqliteHeader(path)!.userVersion).toBe(0);
  expect(readUserVersion(path)).toBe(14);
  rmSync(`${path}-wal`);
  expect(readUserVersion(path)).toBeNull();
});

test("a server's own file of a later version is refused before any is opened", async () => {
  const data = join(work, 'server');
  mkdirSync(data);
  await claimServerFiles(data);
  const path = join(data, 'audit.sqlite');
  const db = new Database(path);
  db.pragma('user_version = 9');
  db.exec('CREATE TABLE t (a)');
  db.close();
  const before = fingerprint(data);
  await expect(claimServerFiles(data)).rejects.toThrow(
    `${path} has version 9; svc ${VERSION} knows version 1: use the svc that wrote it or a later one. Nothing was changed`,
  );
  expect(fingerprint(data)).toEqual(before);
  rmSync(path);
  // A server that was killed: the newer version is in the log of the registry, and in the note.
  writeFileSync(join(data, 'written-by.json'), JSON.stringify({svc: '7.1.0', files: {'registry.sqlite': 5}}));
  await expect(claimServerFiles(data)).rejects.toThrow('has version 5, written by svc 7.1.0');
});
