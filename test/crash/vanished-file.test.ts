/** A tenant's file that vanished is 503 and said so, asleep or awake; an empty one is never put in its place. */
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {firstOf, nightly, rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

/** How it is lost. */
type Loss = [name: string, lose: () => void];

let service: Service;
let tenant: Tenant;
let other: Tenant;
/** Of `tenant`. */
let directory: string;
let path: string;
beforeEach(async () => {
  service = await Service.start();
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
  other = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  await other.insert('t', {n: 1});
  directory = service.directoryOf(tenant.id)!;
  path = join(directory, 'tenant.sqlite');
});
afterEach(() => service.stop());

const insert = () => tenant.request('POST', '/documents', {table: 't', fields: {n: 2}});

async function expectLost(): Promise<void> {
  for (let attempt = 0; attempt < rounds({commit: 1, nightly: 3}); attempt++) {
    expectError(await tenant.request('GET', '/documents/t'), 503, 'op.storage_damaged');
    expectError(await insert(), 503, 'op.storage_damaged');
  }
  expect(service.log).toMatch(/"level":"error","message":"(a tenant's file is missing|the tenant could not be opened)/);
  expect(await other.list('t')).toMatchObject([{n: 1}]);
}

describe('while its tenant is asleep', () => {
  const losses: Loss[] = [
    ['the file is deleted', () => rmSync(path)],
    ['only a header is left', writeHeader],
    ['the file is cut to nothing', () => truncateSync(path, 0)],
    ['all files in its directory are deleted', emptyDirectory],
    ['its directory is deleted', () => rmSync(directory, {recursive: true})],
  ];
  test.each(firstOf(1, losses))(
    '%s: 503, an error in the log, a finding of svc verify, and nothing in its place',
    async (_, lose) => {
      await service.end('SIGTERM');
      const kept = join(service.data, 'kept.sqlite');
      copyFileSync(path, kept);
      lose();
      const left = existsSync(path) ? readFileSync(path) : null;
      const {code, stdout, stderr} = await svc(['verify', '--data', service.data]);
      expect({code, stderr}).toEqual({code: 1, stderr: ''});
      expect(stdout).toMatch(new RegExp(`^${tenant.id}: NOT OK: .*\\n  file: `, 'm'));
      await service.run();
      await expectLost();
      expect(existsSync(path) ? readFileSync(path) : null).toEqual(left);
      if (!existsSync(directory)) return;
      await service.end('SIGTERM');
      copyFileSync(kept, path);
      await service.run();
      expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    },
  );

  test('its log is lost before it was ever put into the file: 503, not an empty tenant', async () => {
    await service.killAll();
    rmSync(`${path}-wal`);
    await service.run();
    await expectLost();
  });

  nightly.test('such a tenant can be deleted, and made again', async () => {
    await service.end('SIGTERM');
    rmSync(directory, {recursive: true});
    await service.run();
    expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
    expectError(await tenant.request('GET', '/documents/t'), 404, 'session.tenant_not_found');
    expect((await service.post('/api/tenants', {id: tenant.id})).status).toBe(201);
    expect(await tenant.list('t')).toEqual([]);
  });

  nightly.test('a creation whose file was half made is made again: nothing was in it', async () => {
    const fresh = await Tenant.make(service);
    await service.end('SIGTERM');
    const its = service.directoryOf(fresh.id)!;
    expect(readdirSync(its)).toEqual(['tenant.new']);
    writeFileSync(join(its, 'tenant.sqlite'), '');
    await service.run();
    expect(await fresh.list('t')).toEqual([]);
    await fresh.insert('t', {n: 1});
    expect(readdirSync(its)).not.toContain('tenant.new');
    await service.killAll();
    await service.run();
    expect(await fresh.list('t')).toMatchObject([{n: 1}]);
  });
});

describe('while the server is down', () => {
  test('a log with commits is removed: 503 until an operator takes the note away', async () => {
    await service.end('SIGTERM');
    await service.run();
    expect((await insert()).status).toBe(201);
    await service.killAll();
    removeLog();
    await expectLostLog();
  });

  test('nothing is missed after an end in order, which leaves no log', async () => {
    await service.end('SIGTERM');
    expect(readdirSync(directory)).not.toContain('tenant.logged');
    removeLog();
    await service.run();
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  });
});

describe('while its tenant is awake', () => {
  const losses: Loss[] = [
    ['its directory is renamed', () => renameSync(directory, join(service.data, 'elsewhere'))],
    ['its log is deleted', () => rmSync(`${path}-wal`)],
    ['its log is cut to nothing', () => truncateSync(`${path}-wal`, 0)],
    ['its log is cut to half', () => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size >> 1)],
    ['the file is deleted', () => rmSync(path)],
    ['its log and the index of that are deleted', removeLog],
    ['its directory is deleted', () => rmSync(directory, {recursive: true})],
    ['the file is cut to nothing', () => truncateSync(path, 0)],
  ];
  test.each(firstOf(1, losses))('%s: the next write is not acknowledged, and the tenant is 503', async (_, lose) => {
    lose();
    const reply = await insert();
    expect(reply.status).toBe(503);
    await until('the finding in the log', () =>
      service.log.includes("the tenant's file is not the one that was opened"),
    );
    await until('the tenant to be refused', async () => (await insert()).text.includes('op.storage_damaged'));
    await expectLost();
  });

  nightly.test(
    'a log that was removed is not forgotten: the tenant stays 503 until an operator takes the note away',
    async () => {
      // Once in order, so that the file is whole without its log, and would be served as it was then.
      await service.end('SIGTERM');
      await service.run();
      expect((await insert()).status).toBe(201);
      removeLog();
      await until('the tenant to be refused', async () => (await insert()).text.includes('op.storage_damaged'));
      await service.end('SIGTERM');
      await expectLostLog();
    },
  );

  test.each(['the tenant falls asleep', 'the server ends'])(
    'its log is cut to nothing, and %s: the file stays as it is, and what was lost is said',
    async end => {
      // Once in order, so that the file is whole without its log.
      await service.end('SIGTERM');
      await service.run();
      const kept = readFileSync(path);
      expect((await insert()).status).toBe(201);
      expect(readFileSync(path).equals(kept)).toBe(true); // the insert is in the log alone
      truncateSync(`${path}-wal`, 0);
      if (end === 'the server ends') await service.end('SIGTERM');
      else await tenant.request('POST', '/sleep');
      await until('the finding in the log', () =>
        service.log.includes("the tenant's file is not the one that was opened"),
      );
      expect(readFileSync(path).equals(kept)).toBe(true);
      expect(readdirSync(directory)).toContain('tenant.logged');
      if (end !== 'the server ends') await service.end('SIGTERM');
      rmSync(`${path}-shm`); // it knows of the lost pages, so it goes first, see "A damaged log" in docs/operating.md
      await expectLostLog();
    },
  );

  nightly.test('and there are no writes: it is noticed all the same', async () => {
    rmSync(directory, {recursive: true});
    await until('the finding in the log', () =>
      service.log.includes("the tenant's file is not the one that was opened"),
    );
    await until('the tenant to be refused', async () => {
      return (await tenant.request('GET', '/documents/t')).text.includes('op.storage_damaged');
    });
  });
});

/** All that was ever in the file is there: nothing in it tells that there was more. */
function removeLog(): void {
  rmSync(`${path}-wal`, {force: true});
  rmSync(`${path}-shm`, {force: true});
}

/** Of a stopped server; ends with the older state served, once an operator wants that. */
async function expectLostLog(): Promise<void> {
  const {code, stdout} = await svc(['verify', '--data', service.data]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/sqlite-wal is (missing|empty), and had commits/)]);
  await service.run();
  await expectLost();
  await service.end('SIGTERM');
  rmSync(join(directory, 'tenant.logged'));
  await service.run();
  expect(await tenant.list('t')).toMatchObject([{n: 1}]);
}

function emptyDirectory(): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name));
}

/** As a file is whose log was lost before the first checkpoint. */
function writeHeader(): void {
  rmSync(path);
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.close();
}
