/** The registry is a cache of the tenants' directories: without it, or with an older or damaged one, no tenant is lost. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {copyOf, directoryIn, fingerprint, startOrRefusal} from '../harness/data-directory.ts';
import {firstOf} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let directory: string;
/** Tenants acme and beta with documents, `unused` without a file, `gone` deleted; stopped in order, and killed. */
let stopped: string;
let killed: string;
/** The registry of before beta and unused, while gone was there. */
let older: string;
let running: Service | null = null;
let copies = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-registry-'));
  const service = await Service.start({data: join(directory, 'data')});
  const make = async (id: string) => {
    await service.post('/api/tenants', {id});
    return Tenant.of(service, id);
  };
  await (await make('gone')).insert('t', {of: 'gone'});
  await (await make('acme')).insert('t', {of: 'acme'});
  await service.end('SIGTERM');
  older = join(directory, 'older.sqlite');
  copyFileSync(join(service.data, 'registry.sqlite'), older);
  await service.run();
  await (await make('beta')).insert('t', {of: 'beta'});
  await make('unused');
  expect((await service.request('DELETE', '/api/tenants/gone')).status).toBe(204);
  await service.killAll();
  killed = copyOf(service.data, join(directory, 'killed'));
  await service.run();
  for (const id of ['acme', 'beta']) await Tenant.of(service, id).list('t');
  await service.stop();
  stopped = service.data;
});
afterEach(async () => {
  await running?.stop();
  running = null;
});
afterAll(() => rmSync(directory, {recursive: true}));

function copy(of: string): string {
  return copyOf(of, join(directory, `copy-${++copies}`));
}

async function start(data: string): Promise<Service> {
  const started = await startOrRefusal(data);
  if (typeof started === 'string') throw new Error(started);
  running = started;
  started.showLogOnFailure();
  return started;
}

async function expectAllThere(data: string): Promise<void> {
  const service = await start(data);
  expect((await service.get('/api/tenants')).body).toEqual({tenants: ['acme', 'beta', 'unused']});
  for (const id of ['acme', 'beta']) expect(await Tenant.of(service, id).list('t')).toMatchObject([{of: id}]);
  expect(await Tenant.of(service, 'unused').list('t')).toEqual([]);
  expectError(await service.get('/api/tenants/gone/documents/t'), 404, 'session.tenant_not_found');
}

const registryOf = (data: string) => join(data, 'registry.sqlite');

describe('a start refuses, names the tenants and changes nothing; svc recover --adopt brings them back', () => {
  test.each<[string, () => string, (registry: string) => void, string]>(
    firstOf(2, [
      ['the registry is deleted', () => stopped, path => rmSync(path), 'is missing'],
      [
        'an older one was put back',
        () => stopped,
        path => copyFileSync(older, path),
        'does not name these directories',
      ],
      ['its log is lost after a kill', () => killed, path => rmSync(`${path}-wal`), 'does not name these directories'],
      ['it is deleted after a kill, its log is there', () => killed, path => rmSync(path), 'is missing'],
      ['it is emptied', () => stopped, path => truncateSync(path, 0), 'is empty'],
      ['only a header is left', () => stopped, writeHeader, 'is empty'],
      ['it is text', () => stopped, path => writeFileSync(path, 'something else\n'.repeat(500)), 'is damaged'],
      [
        'an id in it changed',
        () => stopped,
        path => change(path, "UPDATE tenants SET id = 'beua' WHERE id = 'beta'"),
        'does not name',
      ],
      [
        'a generation in it changed',
        () => stopped,
        path => change(path, "UPDATE tenants SET generation = 99 WHERE id = 'beta'"),
        'does not name',
      ],
      ['a row is gone', () => stopped, path => change(path, "DELETE FROM tenants WHERE id = 'beta'"), 'does not name'],
    ]),
  )('%s', async (_, base, damage, says) => {
    const data = copy(base());
    damage(registryOf(data));
    const before = fingerprint(join(data, 'tenants'));
    const said = await startOrRefusal(data);
    expect(said).toContain(says);
    expect(said).toMatch(/tenants\/t_beta_\d+: tenant beta/);
    expect(said).toContain(`svc recover --data ${data}`);
    expect(fingerprint(join(data, 'tenants'))).toEqual(before);

    const verified = await svc(['verify', '--data', data]);
    expect(verified).toMatchObject({code: 1, stderr: ''});
    const listed = await svc(['recover', '--data', data]);
    expect(listed).toMatchObject({code: 0, stderr: ''});
    expect(listed.stdout).toMatch(/^t_beta_\d+ +beta +(not in the registry|no registry) +1 +\d+ +20\d\d-/m);
    const adopted = await svc(['recover', '--data', data, '--adopt']);
    expect(adopted).toMatchObject({code: 0, stderr: ''});
    // What the old registry names and nobody finds is still asked for: the next test.
    const isOlder = adopted.stdout.includes('gone: its directory is missing');
    expect((await svc(['verify', '--data', data])).code).toBe(isOlder ? 1 : 0);
    if (isOlder) expect(says).toBe('does not name these directories');
    else await expectAllThere(data);
  });

  test('an older one: a tenant that was deleted since is 503, not back; deleting it again makes it 404', async () => {
    const data = copy(stopped);
    copyFileSync(older, registryOf(data));
    const adopted = await svc(['recover', '--data', data, '--adopt']);
    expect(adopted.stdout).toContain('gone: its directory is missing');
    const service = await start(data);
    for (const id of ['acme', 'beta']) expect(await Tenant.of(service, id).list('t')).toMatchObject([{of: id}]);
    expectError(await service.get('/api/tenants/gone/documents/t'), 503, 'op.storage_damaged');
    expect((await service.request('DELETE', '/api/tenants/gone')).status).toBe(204);
    expectError(await service.get('/api/tenants/gone/documents/t'), 404, 'session.tenant_not_found');
    expect((await svc(['verify', '--data', data])).code).toBe(0);
  });
});

describe('what the registry has no say in', () => {
  test.each<[string, string]>(
    firstOf(1, [
      ['whether a tenant is awake', 'UPDATE tenants SET awake = 1 - awake'],
      ['when it is due', 'UPDATE tenants SET next_due_ms = 1'],
      ['when it was created', 'UPDATE tenants SET created_ms = 1'],
      ['its checksums', 'UPDATE tenants SET checksum = checksum + 1'],
      ['the last generation', 'UPDATE generations SET last = 0'],
    ]),
  )('%s: all tenants are served', async (_, sql) => {
    const data = copy(stopped);
    change(registryOf(data), sql);
    await expectAllThere(data);
  });

  test('a tenant that was never used is there without its row', async () => {
    const data = copy(stopped);
    change(registryOf(data), "DELETE FROM tenants WHERE id = 'unused'");
    await expectAllThere(data);
  });
});

describe('svc recover', () => {
  test('--move-aside puts what the registry does not name out of the way, and deletes nothing', async () => {
    const data = copy(stopped);
    const name = directoryIn(data, 'beta')!.split('/').pop()!;
    change(registryOf(data), "DELETE FROM tenants WHERE id = 'beta'");
    const moved = await svc(['recover', '--data', data, '--move-aside']);
    expect(moved).toMatchObject({code: 0, stderr: ''});
    expect(existsSync(join(data, 'set-aside', name, 'tenant.sqlite'))).toBe(true);
    const service = await start(data);
    expect((await service.get('/api/tenants')).body).toEqual({tenants: ['acme', 'unused']});
    await service.end('SIGTERM');
    // And back again.
    cpSync(join(data, 'set-aside', name), join(data, 'tenants', name), {recursive: true});
    expect((await svc(['recover', '--data', data, '--adopt'])).code).toBe(0);
    await expectAllThere(data);
  });

  test('two directories of one tenant: adopts neither, and says which to move', async () => {
    const data = copy(stopped);
    const path = directoryIn(data, 'beta')!;
    const other = path.replace(/\d+$/, '77');
    mkdirSync(other);
    writeFileSync(join(other, 'tenant.sqlite'), 'x');
    const {code, stderr} = await svc(['recover', '--data', data, '--adopt']);
    expect(code).toBe(1);
    expect(stderr).toContain('tenant beta: ');
    expect((await svc(['recover', '--data', data, '--move-aside', 't_beta_77'])).code).toBe(0);
    await expectAllThere(data);
  });

  test("a file that is another tenant's is not adopted under the wrong name", async () => {
    const data = copy(stopped);
    copyFileSync(join(directoryIn(data, 'acme')!, 'tenant.sqlite'), join(directoryIn(data, 'beta')!, 'tenant.sqlite'));
    rmSync(registryOf(data));
    const {code, stderr} = await svc(['recover', '--data', data, '--adopt']);
    expect({code, stderr}).toMatchObject({code: 1, stderr: expect.stringContaining('its file is that of tenant acme')});
    expect(existsSync(registryOf(data))).toBe(false);
  });

  test.each<[string, () => string[], number, string]>(
    firstOf(3, [
      ['nothing is wrong: says so', () => ['--data', stopped], 0, ''],
      ['nothing to adopt', () => ['--data', stopped, '--adopt'], 0, ''],
      ['no data directory', () => ['--data', join(directory, 'absent')], 1, 'is not a data directory'],
      [
        'both at once',
        () => ['--data', stopped, '--adopt', '--move-aside'],
        2,
        'are steps: one, a look at the list, then another',
      ],
      [
        "a tenant's own directory",
        () => ['--data', stopped, '--move-aside', readdirSync(join(stopped, 'tenants'))[0]!],
        1,
        'delete the tenant instead',
      ],
      ['a directory that is not there', () => ['--data', stopped, '--move-aside', 't_x_1'], 1, 'there is no directory'],
    ]),
  )('%s', async (_, args, code, says) => {
    const before = fingerprint(stopped);
    const outcome = await svc(['recover', ...args()]);
    expect({code: outcome.code, stderr: outcome.stderr}).toEqual({code, stderr: expect.stringContaining(says)});
    expect(outcome.stderr).not.toMatch(/\n +at /);
    expect(fingerprint(stopped).filter(isOurs)).toEqual(before.filter(isOurs));
  });

  test('a server that runs keeps its registry', async () => {
    const data = copy(stopped);
    await start(data);
    for (const what of ['--adopt', '--move-aside']) {
      const {code, stderr} = await svc(['recover', '--data', data, what]);
      expect({code, stderr}).toEqual({code: 1, stderr: expect.stringContaining('stop it first')});
    }
  });
});

/** A look leaves the empty files that SQLite reads beside a database; a lock is one. */
function isOurs(file: string): boolean {
  return !/-(wal|shm) |svc\.lock /.test(file);
}

/** As a registry is whose log was lost before the first checkpoint. */
function writeHeader(path: string): void {
  rmSync(path);
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.close();
  expect(existsSync(path)).toBe(true);
}

function change(path: string, sql: string): void {
  const db = new Database(path);
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
}
