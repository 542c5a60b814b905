/** Clones without processes: a file is held at one commit while it is copied, and what goes wrong leaves nothing. */
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {copyFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import type {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {copyPackages} from '../../supervisor/files/packages-copy.ts';
import {copyShared} from '../../supervisor/files/shared-copy.ts';
import type {Worker} from '../../supervisor/processes/worker-pool.ts';
import {Clones} from '../../supervisor/tenants/clones.ts';
import {TenantEntry} from '../../supervisor/tenants/tenant-entry.ts';
import {FileHold} from '../../worker/api/bulk/export/file-hold.ts';

let data = '';
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'svc-clones-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(data, {recursive: true});
});

const at = (name: string): string => join(data, name);

function written(path: string, rows: number): Database.Database {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE t (n INTEGER, filler BLOB)');
  add(db, rows);
  return db;
}

function add(db: Database.Database, rows: number): void {
  for (let row = 0; row < rows; row++) db.exec('INSERT INTO t SELECT coalesce(max(n), 0) + 1, randomblob(9000) FROM t');
}

function rowsIn(path: string): {rows: number; newest: number; check: string} {
  const db = new Database(path);
  const found = db.prepare('SELECT count(*) AS rows, max(n) AS newest FROM t').get() as {rows: number; newest: number};
  const check = db.pragma('integrity_check', {simple: true}) as string;
  db.close();
  return {...found, check};
}

test.each([
  ['commits that only the log has', () => undefined],
  ['a log that has been moved into the file', (db: Database.Database) => db.pragma('wal_checkpoint(PASSIVE)')],
  [
    'a log that has been moved, and has commits behind',
    (db: Database.Database) => {
      db.pragma('wal_checkpoint(PASSIVE)');
      add(db, 3);
    },
  ],
])('a file that is held is one commit, however it is written meanwhile: %s', async (_, before) => {
  const db = written(at('a'), 20);
  before(db);
  const {rows} = rowsIn(at('a'));
  const hold = new FileHold(at('a'), () => Promise.resolve());
  const logBytes = hold.begin();
  add(db, 5);
  db.pragma('wal_checkpoint(PASSIVE)');
  await copyShared(at('a'), at('b'), null);
  add(db, 30);
  db.pragma('wal_checkpoint(PASSIVE)');
  add(db, 5);
  if (logBytes > 0) await copyShared(at('a-wal'), at('b-wal'), logBytes);
  expect(await hold.end()).toBe(true);
  expect(rowsIn(at('b'))).toEqual({rows, newest: rows, check: 'ok'});
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
});

test('a hold that takes too long ends by itself, and says so', async () => {
  written(at('a'), 1).close();
  vi.useFakeTimers({toFake: ['setInterval', 'clearInterval', 'performance']});
  const hold = new FileHold(at('a'), () => Promise.resolve());
  hold.begin();
  vi.advanceTimersByTime(3_600_000);
  expect(await hold.end()).toBe(false);
});

test('blocks are shared where the file system says that it can, and copied where it says that it cannot', async () => {
  writeFileSync(at('a'), 'of a tenant');
  const shares = vi.fn<typeof copyFile>(async (from, to) => copyFileSync(from, to));
  expect(await copyShared(at('a'), at('b'), 4, shares)).toBe(true);
  expect(shares.mock.calls.map(([, , mode]) => mode! & constants.COPYFILE_FICLONE_FORCE)).not.toContain(0);
  for (const code of ['ENOTSUP', 'EXDEV', 'EINVAL']) {
    const cannot = vi.fn<typeof copyFile>((from, to, mode) =>
      mode! & constants.COPYFILE_FICLONE_FORCE
        ? Promise.reject(Object.assign(new Error(code), {code}))
        : copyFile(from, to, mode),
    );
    expect(await copyShared(at('a'), at(code), 4, cannot)).toBe(false);
    expect(readFileSync(at(code), 'utf8')).toBe('of a');
  }
  const full = () => Promise.reject(Object.assign(new Error('full'), {code: 'ENOSPC'}));
  await expect(copyShared(at('a'), at('c'), null, full)).rejects.toThrow('full');
  // Whether this machine can or not.
  await copyShared(at('a'), at('real'), null);
  expect(readFileSync(at('real'), 'utf8')).toBe('of a tenant');
  await expect(copyShared(at('a'), at('real'), null)).rejects.toMatchObject({code: 'EEXIST'});
});

test('a link, a directory and a file with a second name are not copied', async () => {
  writeFileSync(at('secret'), 'of another tenant');
  symlinkSync(at('secret'), at('link'));
  linkSync(at('secret'), at('second'));
  mkdirSync(at('directory'));
  for (const name of ['link', 'second', 'directory']) {
    await expect(copyShared(at(name), at('copy'), null)).rejects.toThrow(/ELOOP|other names|not a file/);
  }
  expect(readdirSync(data)).not.toContain('copy');
});

test('of packages only files are copied that a tenant can have, and nothing that its code has linked there', async () => {
  const [sound, link, second] = ['a', 'b', 'c'].map(digit => `${digit.repeat(128)}.tgz`) as [string, string, string];
  mkdirSync(at('of-another'));
  writeFileSync(at(join('of-another', sound)), 'its');
  mkdirSync(at('t'));
  symlinkSync(at('of-another'), at('t/packages'));
  await copyPackages(at('t'), at('made'));
  expect(existsSync(at('made'))).toBe(false);
  rmSync(at('t/packages'));
  mkdirSync(at('t/packages'));
  writeFileSync(join(at('t/packages'), sound), 'a package');
  symlinkSync(at(join('of-another', sound)), join(at('t/packages'), link));
  linkSync(at(join('of-another', sound)), join(at('t/packages'), second));
  mkdirSync(join(at('t/packages'), 'a'.repeat(128)));
  writeFileSync(join(at('t/packages'), 'other.tgz'), '');
  await copyPackages(at('t'), at('made'));
  expect(readdirSync(at('made'))).toEqual([sound]);
  expect(readFileSync(join(at('made'), sound), 'utf8')).toBe('a package');
});

test.each<[string, Partial<Worker>, string]>([
  ['a worker that ends before', {holdFile: async () => null}, 'session.worker_unavailable'],
  ['a worker that ends meanwhile', {releaseFile: async () => null}, 'session.worker_unavailable'],
  ['a hold that was lost', {releaseFile: async () => false}, 'session.overloaded'],
  ['a copy that is not adopted', {}, 'op.invalid_input'],
])('%s fails the clone and leaves nothing', async (_, says, code) => {
  mkdirSync(at('incoming'));
  mkdirSync(at('a'));
  const db = written(join(at('a'), TENANT_FILE), 2);
  const entry = new TenantEntry({id: 'a', generation: 1, createdMs: 1}, {isMarkedAwake: true, isToOpen: false});
  entry.worker = {holdFile: async () => 100, releaseFile: async () => true, ...says} as Worker;
  const adopt = vi.fn(() => Promise.reject(Object.assign(new Error(), {code: 'op.invalid_input'})));
  const clones = new Clones({
    tenants: {checkAdoption: () => undefined},
    placement: {find: () => entry},
    control: {wake: async () => 0},
    files: {path: () => at('a')},
    adopt,
    cluster: null,
    directory: at('incoming'),
    log: createLogger({process: 'test'}),
  });
  const cloning = clones.clone({action: 'tenant_clone', tenant: 'a', as: 'b', live: false});
  const again = clones.clone({action: 'tenant_clone', tenant: 'a', as: 'c', live: false});
  await expect(again).rejects.toMatchObject({code: 'op.conflict'} satisfies Partial<ServiceError>);
  await expect(cloning).rejects.toMatchObject({code});
  expect(adopt).toHaveBeenCalledTimes(code === 'op.invalid_input' ? 1 : 0);
  expect(readdirSync(at('incoming'))).toEqual([]);
  expect(entry.busyUntilMs).toBe(0);
  db.close();
});
