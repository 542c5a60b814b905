/** A server with --backup-to, from outside: what it copies, and what happens when the copier, the server or the store fail. */
import {cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {newRepositoryKey} from '../../../copies/repository/keys.ts';
import {SERVER} from '../../../copies/repository/tenant-copies.ts';
import type {BackupStatus} from '../../../shared/protocol/backups.ts';
import {svc} from '../../harness/command.ts';
import {type TestRepository, testRepository} from '../../harness/repository.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';

let repository: TestRepository;
let service: Service;
beforeAll(async () => {
  repository = await testRepository(afterAll);
  service = await Service.start({args: repository.args});
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

async function status(): Promise<NonNullable<BackupStatus['backup']>> {
  const {backup}: BackupStatus = (await service.get('/api/backup')).body;
  return backup!;
}

/** @returns the sequence of the journal after them */
async function inserted(tenant: string, count = 1): Promise<number> {
  for (let n = 0; n < count; n++) {
    const {status: code} = await service.post(`/api/tenants/${tenant}/documents`, {table: 't', fields: {n}});
    expect(code).toBe(201);
  }
  const {records}: {records: {sequence: number}[]} = (await service.get(`/api/tenants/${tenant}/journal`)).body;
  return records.at(-1)!.sequence;
}

async function run(): Promise<void> {
  expect(await service.post('/api/backup/run')).toMatchObject({status: 200});
}

async function stored(tenant: string): Promise<number | undefined> {
  const opened = await repository.open();
  return (await opened.newest(tenant))?.sequence;
}

test('what was durable when a run is requested is in the repository, with the copies of the server', async () => {
  const [a, b] = [await service.tenant(), await service.tenant()];
  const sequences = [await inserted(a, 5), await inserted(b)];
  await run();
  expect([await stored(a), await stored(b)]).toEqual(sequences);
  const opened = await repository.open();
  await until('the state of the server', async () => {
    const {files} = await opened.copies(SERVER).catch(() => ({files: []}));
    const names = files.map(({name}) => name).sort();
    return names.join() === 'audit.sqlite,keys.sqlite,refusals.sqlite,tenants.json';
  });
  const {puts} = {puts: readdirSync(join(repository.directory, 'packs')).length};
  await run();
  expect(readdirSync(join(repository.directory, 'packs')).length, 'nothing has changed').toBe(puts);
  expect(await status()).toMatchObject({state: 'running', age_ms: 0, last_fault: null});
});

test('a tenant that falls asleep is copied to its end, and is not woken for it', async () => {
  const tenant = await service.tenant();
  const sequence = await inserted(tenant);
  expect(await service.post(`/api/tenants/${tenant}/sleep`)).toMatchObject({status: 200});
  await until('the copy', async () => (await stored(tenant)) === sequence);
  expect(service.ownerOf(tenant)).toBeNull();
});

test('kill -9 of the copier, and then of the whole server, loses nothing', async () => {
  const tenant = await service.tenant();
  await inserted(tenant);
  await run();
  process.kill(service.children('copier')[0]!, 'SIGKILL');
  const second = await inserted(tenant, 3);
  await until('another copier', async () => (await stored(tenant)) === second);
  const third = await inserted(tenant, 3);
  await service.killAll();
  await service.run();
  await run();
  expect(await stored(tenant)).toBe(third);
});

test('a sleeping tenant without a copy gets a base in a process of its own, and one that answers reads from its worker', async () => {
  const other = await testRepository(afterAll);
  const [tenant, reads] = [await service.tenant(), await service.tenant()];
  const sequence = await inserted(tenant);
  await inserted(reads);
  await service.post(`/api/tenants/${tenant}/sleep`);
  expect((await service.post(`/api/tenants/${reads}/pause?serve=reads`)).status).toBe(200);
  await service.end('SIGTERM');
  await service.run(other.args);
  expect((await service.get(`/api/tenants/${reads}/journal`)).status).toBe(200);
  await run();
  const opened = await other.open();
  expect((await opened.newest(reads))?.sequence).toBe(1);
  await until('the base', async () => (await opened.newest(tenant))?.sequence === sequence);
  expect(service.ownerOf(tenant)).toBeNull();
  await service.end('SIGTERM');
  await service.run();
  await run();
});

test('a server without backups removes what they left, and the next one that makes them copies all again', async () => {
  const tenant = await service.tenant();
  await inserted(tenant);
  await run();
  await until('copies of the server', () => readdirSync(join(service.data, 'backup-state')).length === 4);
  await service.end('SIGTERM');
  expect(readdirSync(join(service.directoryOf(tenant)!, 'spool'))).toContain('position');
  mkdirSync(join(service.data, 'scratch/drill-1'), {recursive: true});
  mkdirSync(join(service.data, 'scratch-copies/compact-Ab1_x2'), {recursive: true});
  writeFileSync(join(service.data, 'scratch-copies/not-of-svc'), '');
  await service.run([]);
  const sequence = await inserted(tenant, 2);
  expect(readdirSync(service.directoryOf(tenant)!)).not.toContain('spool');
  const left = readdirSync(service.data).filter(name => /^(?:backup-state|scratch.*)$/.test(name));
  expect(left).toEqual(['scratch-copies']);
  expect(readdirSync(join(service.data, 'scratch-copies'))).toEqual(['not-of-svc']);
  await service.end('SIGTERM');
  await service.run();
  await run();
  expect(await stored(tenant)).toBe(sequence);
  expect(service.ownerOf(tenant)).toBeNull();
});

test('a second server, a wrong key, and a directory without a repository are refused in a sentence', async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const wrong = join(root, 'wrong');
  writeFileSync(wrong, newRepositoryKey());
  const refusal = async (to: string, key: string): Promise<string> => {
    const data = join(root, 'data');
    const {code, stderr} = await svc(['start', '--port', '0', '--data', data, '--backup-to', to, '--backup-key', key]);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refusal(repository.directory, repository.keyFile)).toMatch(
    /^svc: the server \w+ on .* writes to file:/m,
  );
  expect(await refusal(repository.directory, wrong)).toContain('the key is not that of the repository');
  expect(await refusal(root, repository.keyFile)).toContain('has no repository: svc backup init makes one');
  expect(await refusal(repository.directory, join(root, 'none'))).toContain('cannot be read: it does not exist');
  rmSync(root, {recursive: true});
});

test('a copy of the data directory does not take the lease of the server that lives, which goes on', async () => {
  const tenant = await service.tenant();
  await inserted(tenant);
  await run();
  const data = mkdtempSync(join(tmpdir(), 'svc-test-copy-'));
  cpSync(service.data, data, {recursive: true});
  const copy = await Service.start({data, args: repository.args});
  const {backup}: BackupStatus = (await copy.get('/api/backup')).body;
  expect(backup).toMatchObject({state: 'failing', last_fault: {kind: 'locked'}});
  const sequence = await inserted(tenant);
  await run();
  expect(await stored(tenant)).toBe(sequence);
  await copy.stop();
  rmSync(data, {recursive: true});
  expect(await status()).toMatchObject({state: 'running', last_fault: null});
});

test('while the store is gone writes go on and the age grows; then everything follows', async () => {
  const tenant = await service.tenant();
  await inserted(tenant);
  await run();
  renameSync(repository.directory, `${repository.directory}.gone`);
  const sequence = await inserted(tenant, 3);
  const failing = await until('it fails', async () => {
    const now = await status();
    return now.state === 'failing' && now.age_ms > 0 ? now : null;
  });
  expect(failing.last_fault).toMatchObject({kind: 'unavailable'});
  renameSync(`${repository.directory}.gone`, repository.directory);
  await run();
  expect(await stored(tenant)).toBe(sequence);
  expect(await status()).toMatchObject({state: 'running', age_ms: 0});
});
