/** `svc backup run` on the data directory of a stopped server. */
import {cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {run} from '../../../cli/program.ts';
import {parseRepositoryKey} from '../../../copies/repository/keys.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {SERVER} from '../../../copies/repository/tenant-copies.ts';
import {DirectoryStore} from '../../../copies/store/directory-store.ts';
import {numberTransaction, storedCommitNumber} from '../../../engine/storage/commit-number.ts';
import {openWriter} from '../../../engine/storage/database.ts';
import {keepLogFiles} from '../../../engine/storage/file-guard.ts';
import {claimFile} from '../../../engine/storage/identity.ts';
import {acquireOwnerLock} from '../../../shared/owner-lock.ts';
import {LOGGED_FILE, TENANT_FILE} from '../../../shared/tenant-directory.ts';
import {TenantFiles} from '../../../supervisor/files/tenant-files.ts';
import {openRegistry} from '../../../supervisor/start/open-registry.ts';
import {SERVER_B, scratch, writerOf} from './fixture.ts';

let data = '';
let to = '';
let key = '';
let directory = '';
let verb: readonly string[] = [];

beforeEach(async () => {
  const root = scratch();
  [data, to, key] = [join(root, 'data'), join(root, 'repository'), join(root, 'key')];
  mkdirSync(data);
  const files = await TenantFiles.open(data);
  const registry = openRegistry(join(data, 'registry.sqlite'), files);
  registry.create('a', 1, 1);
  registry.create('unused', 2, 1);
  registry.close();
  directory = files.path('a', 1);
  mkdirSync(directory);
  await files.create('unused', 2, 1);
  write(1);
  await svc('init', '--to', to, '--key', key);
  verb = ['run', '--data', data, '--to', to, '--key', key, '--url', 'http://127.0.0.1:9'];
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

/** Commits of a server without backups, which closed the file in order. @returns the newest */
function write(commits: number): number {
  const path = join(directory, TENANT_FILE);
  const db = openWriter(path);
  claimFile(db, {tenant: 'a', generation: 1, createdMs: 1});
  for (let commit = 0; commit < commits; commit++) db.transaction(() => numberTransaction(db)).immediate();
  const newest = storedCommitNumber(db);
  db.close();
  keepLogFiles(path);
  return newest;
}

/** Runs a verb in this process. */
async function svc(...args: string[]): Promise<{code: number; out: string; err: string}> {
  const texts = {out: '', err: ''};
  for (const [name, stream] of [
    ['out', process.stdout],
    ['err', process.stderr],
  ] as const) {
    vi.spyOn(stream, 'write').mockImplementation(text => {
      texts[name] += String(text);
      return true;
    });
  }
  process.exitCode = 0;
  await run(['node', 'svc', 'backup', ...args]).finally(() => vi.restoreAllMocks());
  return {code: Number(process.exitCode), ...texts};
}

async function opened(): Promise<Repository> {
  return Repository.open(new DirectoryStore(to), parseRepositoryKey(readFileSync(key, 'utf8')));
}

async function stored(): Promise<number | undefined> {
  return (await (await opened()).newest('a'))?.commit;
}

const packs = (): number => readdirSync(join(to, 'packs')).length;

test('what a server left is in the repository, with its own files, also what it wrote without backups', async () => {
  expect(await svc(...verb)).toMatchObject({code: 0, out: expect.stringMatching(/^copied 1 tenant in \d+ ms\n$/)});
  expect(await stored()).toBe(write(0));
  const {files} = await (await opened()).copies(SERVER);
  expect(files.map(({name}) => name).sort()).toEqual([
    'audit.sqlite',
    'keys.sqlite',
    'refusals.sqlite',
    'tenants.json',
  ]);
  const before = packs();
  expect(await svc(...verb, '--json')).toMatchObject({code: 0, out: expect.stringContaining('"tenants":1')});
  expect(packs(), 'nothing has changed').toBe(before);
  const newest = write(3);
  expect(await svc(...verb)).toMatchObject({code: 0});
  expect(await stored()).toBe(newest);
});

test('a tenant whose directory was replaced by an older copy begins a new timeline, and what was copied stays', async () => {
  await svc(...verb);
  const older = `${directory}-older`;
  cpSync(directory, older, {recursive: true});
  const ended = write(3);
  await svc(...verb);
  rmSync(directory, {recursive: true});
  renameSync(older, directory);
  const now = write(1);
  expect(now).toBeLessThan(ended);
  expect(await svc(...verb)).toMatchObject({code: 0, err: ''});
  const {timelines} = await (await opened()).copies('a');
  expect(timelines.map(({bases, sets}) => [...bases, ...sets].at(-1)!.last)).toEqual([ended, now + 1]);
  expect(new Set(timelines.map(({timeline}) => timeline)).size).toBe(2);
  const before = packs();
  expect(await svc(...verb)).toMatchObject({code: 0});
  expect(packs(), 'nothing has changed').toBe(before);
});

test('a tenant that cannot be copied is named, and the others are copied', async () => {
  writeFileSync(join(directory, LOGGED_FILE), '');
  expect(await svc(...verb)).toMatchObject({
    code: 3,
    err: expect.stringMatching(/1 tenant cannot be copied: a: it did not close in order.*\nmissing: a/),
  });
  rmSync(join(directory, LOGGED_FILE));
  symlinkSync('/tmp', join(directory, 'spool'));
  expect(await svc(...verb)).toMatchObject({code: 3, err: expect.stringContaining('spool is no directory')});
  expect(await stored()).toBeUndefined();
});

test('each refusal has the exit code of the other verbs', async () => {
  const other = `${key}-2`;
  await svc('init', '--to', `${to}-2`, '--key', other);
  const options = ['run', '--data', data, '--url', 'http://127.0.0.1:9'];
  expect(await svc(...options, '--to', to)).toMatchObject({code: 2});
  expect(await svc(...options, '--to', data, '--key', key)).toMatchObject({code: 4});
  expect(await svc(...options, '--to', to, '--key', other)).toMatchObject({code: 6});
  expect(await svc(...options, '--to', to, '--key', `${key}-none`)).toMatchObject({code: 6});
  expect(await svc('run', '--data', to, '--to', to, '--key', key)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not the data directory of a server'),
  });
  const writer = await writerOf(await opened(), SERVER_B);
  expect(await svc(...verb)).toMatchObject({code: 5});
  await writer.release();
  const lock = await acquireOwnerLock(join(data, 'svc'));
  expect(await svc(...verb)).toMatchObject({
    code: 1,
    err: expect.stringContaining('to copy a stopped one, give --to and --key'),
  });
  lock.release();
  writeFileSync(join(to, 'packs'), '');
  expect(await svc(...verb)).toMatchObject({code: 1});
});
