/** `svc backup init`, `list`, `check` and `expire`, from an empty directory on. */
import {readdirSync, readFileSync, rmSync, statSync, truncateSync} from 'node:fs';
import {join} from 'node:path';
import {afterEach, expect, test, vi} from 'vitest';
import {run} from '../../../cli/program.ts';
import {parseRepositoryKey} from '../../../copies/repository/keys.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {SERVER} from '../../../copies/repository/tenant-copies.ts';
import {DirectoryStore} from '../../../copies/store/directory-store.ts';
import {createLogger} from '../../../shared/log.ts';
import {AuditLog} from '../../../supervisor/keys/audit-log.ts';
import {SERVER_A, scratch, segment, writerOf} from './fixture.ts';

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = 0;
});

/** Runs a verb in this process. */
async function svc(...args: string[]): Promise<{code: number; out: string; err: string}> {
  const texts = {out: '', err: ''};
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(text => {
      texts.out += String(text);
      return true;
    }),
    vi.spyOn(process.stderr, 'write').mockImplementation(text => {
      texts.err += String(text);
      return true;
    }),
  ];
  process.exitCode = 0;
  try {
    await run(['node', 'svc', 'backup', ...args]);
    return {code: Number(process.exitCode), ...texts};
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.exitCode = 0;
  }
}

async function prepared() {
  const directory = scratch();
  const [path, key] = [join(directory, 'repository'), join(directory, 'key')];
  const made = await svc('init', '--to', path, '--key', key);
  const repository = await Repository.open(new DirectoryStore(path), parseRepositoryKey(readFileSync(key, 'utf8')));
  return {directory, path, key, made, repository, options: ['--from', path, '--key', key]};
}

test('init makes the repository and its key once', async () => {
  const {directory, path, key, made} = await prepared();
  expect(made).toMatchObject({code: 0, err: expect.stringContaining('keep a copy of the key somewhere else')});
  expect(statSync(key).mode & 0o777).toBe(0o600);
  expect(await svc('init', '--to', path, '--key', key)).toMatchObject({
    code: 1,
    err: expect.stringContaining('already'),
  });
  // A key that was made for a repository that could not be made does not stay.
  const other = join(directory, 'other');
  expect(await svc('init', '--to', path, '--key', other)).toMatchObject({code: 1});
  expect(readdirSync(directory).sort()).toEqual(['key', 'repository']);
  expect(await svc('init', '--key', key)).toMatchObject({code: 2});
  expect(await svc('list', '--from', directory, '--key', key)).toMatchObject({code: 4});
  expect(await svc('list', '--from', 'ftp://x', '--key', key)).toMatchObject({code: 2});
});

/** The names and bytes of everything in a directory. */
function snapshot(path: string): Map<string, string> {
  const files = readdirSync(path, {recursive: true, withFileTypes: true}).filter(entry => entry.isFile());
  return new Map(
    files.map(({parentPath, name}) => [join(parentPath, name), readFileSync(join(parentPath, name), 'hex')]),
  );
}

test('forget removes the key of a tenant, and asks before', async () => {
  const {repository, options} = await prepared();
  const writer = await writerOf(repository, SERVER_A);
  await writer.addPack([segment('acme', 0, 1), segment('other', 0, 2)]);
  const tenants = {tenants: [{id: 'acme', paused: null}]};
  const bytes = Buffer.from(JSON.stringify(tenants));
  await writer.addPack([{tenant: SERVER, kind: 'state', name: 'tenants.json', bytes}]);
  expect(await svc('forget', 'nobody', ...options, '--yes')).toMatchObject({code: 1});
  expect(await svc('forget', 'acme', ...options)).toMatchObject({
    code: 2,
    err: expect.stringContaining('goes on copying it'),
  });
  // The server does not have this one, but there is no terminal to confirm it.
  expect(await svc('forget', 'other', ...options)).toMatchObject({code: 2, err: expect.stringContaining('--yes')});
  expect(await repository.tenants()).toEqual(['acme', 'other']);
  expect(await svc('forget', 'acme', ...options, '--yes')).toMatchObject({code: 0});
  expect((await svc('list', ...options)).out).not.toContain('acme');
});

test('list shows deploys and bulk tasks beside the points, from the audit log of the server', async () => {
  const {directory, repository, options} = await prepared();
  const path = join(directory, 'audit.sqlite');
  const log = new AuditLog(path, () => 1_700_000_000_003, createLogger({process: 'test'}));
  const by = {key: null, key_name: 'admin', address: '::1', request_id: 'r'};
  const done = (operation: string, tenant: string, subject: Record<string, string>, status: number) =>
    log.outcome({of: log.intent({operation, tenant, subject, ...by}), status, code: null});
  done('deployments.activate', 'acme', {deployment_id: '7'}, 200);
  done('tasks.create', 'acme', {type: 'delete', table: 'notes'}, 202);
  done('deployments.create', 'acme', {}, 200); // a dry run
  done('tasks.create', 'acme', {type: 'patch', table: 'notes'}, 400);
  done('tasks.create', 'other', {type: 'patch', table: 'notes'}, 202);
  log.close();
  const writer = await writerOf(repository, SERVER_A);
  await writer.addPack([segment('acme', 0, 1), segment('other', 0, 1)]);
  await writer.addPack([segment('acme', 2, 5)]);
  expect((await svc('list', 'acme', ...options)).out).not.toMatch(/deploy|task/);
  await writer.addPack([{tenant: SERVER, kind: 'state', name: 'audit.sqlite', bytes: readFileSync(path)}]);
  const {out} = await svc('list', 'acme', ...options);
  const shown = out.split('\n').map(line => line.replace(/^ +\S+ +/, ''));
  expect(shown.slice(1, -1)).toEqual([
    'sequence 10  commit 1',
    'deploy 7 activated by admin',
    'task delete in notes by admin',
    'sequence 50  commit 5',
  ]);
});

test('list and check say what is there and what is damaged, and a server in use is left alone', async () => {
  const {path, repository, options} = await prepared();
  const writer = await writerOf(repository, SERVER_A);
  await writer.addPack([segment('acme', 0, 1)]);
  await writer.addPack([segment('acme', 2, 4), segment('other', 0, 2)]);
  await writer.writeManifest('acme');
  const listed = await svc('list', ...options, '--json');
  expect(listed.code).toBe(0);
  expect(
    listed.out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  ).toMatchObject([
    {tenant: 'acme', points: 2, sequence: 40, finding: null},
    {tenant: 'other', points: 1, sequence: 20},
  ]);
  expect((await svc('list', 'acme', ...options)).out).toContain('sequence 40');
  expect(await svc('check', '--read-data', ...options)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/all is well/),
  });
  const expire = ['expire', '--to', path, '--key', options.at(-1)!, '--keep-last', '1', '--json'];
  expect(await svc(...expire)).toMatchObject({code: 5, err: expect.stringContaining('server-a on alpha')});
  // A dry run only reads.
  const before = snapshot(path);
  expect(JSON.parse((await svc(...expire, '--dry-run')).out)).toMatchObject({items: 0, dry_run: true});
  expect(snapshot(path)).toEqual(before);
  await writer.release();
  expect(await svc(...expire)).toMatchObject({code: 0});

  const [place] = (await repository.copies('acme')).timelines[0]!.bases.map(base => base.place);
  truncateSync(join(path, place!.pack), 30);
  const checked = await svc('check', ...options, '--json');
  expect(checked).toMatchObject({code: 3, out: expect.stringContaining(`{"object":"${place!.pack}","tenant":"acme"`)});
});

test('a tenant whose key is lost is named by every verb that reads it', async () => {
  const {path, repository, options} = await prepared();
  const writer = await writerOf(repository, SERVER_A);
  await writer.addPack([segment('acme', 0, 1), segment('other', 0, 1)]);
  for (const tenant of ['acme', 'other']) await writer.writeManifest(tenant);
  await writer.release();
  rmSync(join(path, 'keys/acme.json'));
  const named = expect.stringContaining('the object keys/acme.json is damaged: it is missing');
  expect(await svc('list', ...options)).toMatchObject({code: 3, out: named});
  expect(await svc('list', 'acme', ...options)).toMatchObject({code: 1, err: named});
  expect(await svc('check', ...options)).toMatchObject({code: 3, out: named});
  expect(await svc('drill', '--tenant', 'acme', ...options)).toMatchObject({code: 1, out: named});
});
