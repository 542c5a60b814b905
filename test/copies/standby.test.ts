/** A directory that follows a repository has each tenant's newest copy, and svc promote makes it a server's. */
import {spawn} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, rmSync, truncateSync} from 'node:fs';
import {hostname} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {keyName} from '../../copies/repository/object-names.ts';
import {RepositoryWriter} from '../../copies/repository/repository-writer.ts';
import {Standby} from '../../copies/restore/standby.ts';
import {serverPlace} from '../../supervisor/files/server-id.ts';
import {CLI, svc} from '../harness/command.ts';
import {directoryIn, startOrRefusal} from '../harness/data-directory.ts';
import {Service} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {CopiedTenant, type TestRepository, testRepository} from './copied-tenant.ts';
import {histories, SMALL, setBytes} from './model.ts';

const service = await sharedService();
let repository: TestRepository;
beforeAll(async () => {
  repository = await testRepository();
});
afterAll(() => repository.remove());

const steps = fc.array(
  fc.record({
    commits: fc.integer({min: 1, max: 3}),
    isBase: fc.boolean(),
    ends: fc.constantFrom('no', 'yes', 'damaged'),
  }),
  {minLength: 1, maxLength: 6},
);

test('after each step the file is the newest copy, whatever was stored and however the last run ended', async () => {
  const root = join(repository.path, '../model');
  let run = 0;
  await fc.assert(
    fc.asyncProperty(histories, steps, async (history, stored) => {
      const tenant = `m${run++}`;
      const timeline = run.toString(16).padStart(32, '0');
      const directoryOf = (name: string) => join(root, name);
      const file = join(directoryOf(tenant), 'tenant.sqlite');
      let standby = new Standby(repository.writer.repository, directoryOf);
      const sync = () => standby.sync(name => name === tenant);
      let commit = 0;
      for (const {commits, isBase, ends} of stored) {
        const last = Math.min(commit + commits, history.states.length);
        if (last === commit) break;
        const kinds = commit === 0 ? (['base'] as const) : isBase ? (['set', 'base'] as const) : (['set'] as const);
        for (const kind of kinds) {
          const bytes = setBytes(history, {first: kind === 'base' ? 0 : commit + 1, last, timeline});
          await repository.writer.addPack([{tenant, kind, bytes}]);
        }
        commit = last;
        if (ends !== 'no') standby = new Standby(repository.writer.repository, directoryOf);
        if (ends === 'damaged' && existsSync(file)) truncateSync(file, 512);
        const {failed} = ends === 'no' && existsSync(file) ? await standby.step() : await sync();
        expect(failed).toEqual([]);
        expect(readFileSync(file).equals(Buffer.concat(history.states[commit - 1]!))).toBe(true);
        expect(readdirSync(directoryOf(tenant)).sort()).toEqual(['tenant.sqlite', 'tenant.sqlite.position']);
      }
    }),
    {numRuns: 15},
  );
  rmSync(root, {recursive: true});
});

test('a pack that is lost takes nothing from a standby that has it, and is named if it has not', async () => {
  const own = await testRepository();
  const root = join(own.path, '../standby');
  const standby = new Standby(own.writer.repository, name => join(root, name));
  const stored = (first: number, last: number, tenant = 'acme') =>
    own.writer.addPack([{tenant, kind: first === 0 ? 'base' : 'set', bytes: setBytes(SMALL, {first, last})}]);
  const lose = () => rmSync(join(own.path, 'packs', readdirSync(join(own.path, 'packs')).sort()[1]!));
  const expectCommit = (commit: number) =>
    expect(readFileSync(join(root, 'acme/tenant.sqlite')).equals(Buffer.concat(SMALL.states[commit - 1]!))).toBe(true);
  await stored(0, 2);
  await stored(3, 3);
  await standby.sync();
  await stored(0, 1, 'beta'); // its pack names the one before
  lose();
  expect(await standby.sync()).toMatchObject({failed: []});
  expectCommit(3);
  await stored(4, 4);
  expect((await standby.sync()).gaps.has('acme')).toBe(false);
  expectCommit(4);
  const other = new Standby(own.writer.repository, name => join(own.path, '../other', name));
  expect((await other.sync()).gaps.get('acme')).toMatchObject({newest: {commit: 4}});
  await own.remove();
});

test("a damaged key of the server's own files is named by both commands, and the tenants are there all the same", async () => {
  const own = await testRepository();
  await own.writer.addPack([
    {tenant: '.server', kind: 'state', name: 'tenants.json', bytes: Buffer.from('{"tenants": []}')},
    {tenant: 'acme', kind: 'base', bytes: setBytes(SMALL, {first: 0, last: 2})},
  ]);
  const data = join(own.path, '../damaged-state');
  const object = keyName('.server');
  truncateSync(join(own.path, object), 40);
  const said = await follow(own, data, '1 page set', 'SIGTERM');
  expect(said).toContain(`the object ${object} is damaged`);
  const {code, stderr} = await svc(['promote', '--data', data]);
  expect({code, stderr}).toMatchObject({code: 3, stderr: expect.stringContaining(`the object ${object} is damaged`)});
  await own.remove();
});

test('a lost data key is named by both commands, and what was followed before is promoted', async () => {
  const own = await testRepository();
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 0});
  const copied = await CopiedTenant.begin(service, tenant.id, own);
  const data = join(own.path, '../lost-key-data');
  await follow(own, data, '1 page set', 'SIGTERM');
  copied.close();
  await own.writer.addPack([{tenant: 'late', kind: 'base', bytes: setBytes(SMALL, {first: 0, last: 2})}]);
  for (const name of [tenant.id, 'late']) {
    await own.writer.writeManifest(name);
    rmSync(join(own.path, keyName(name)));
  }
  expect(await follow(own, data, keyName('late'), 'SIGTERM')).toContain(keyName(tenant.id));
  const {code, stdout, stderr} = await svc(['promote', '--data', data]);
  expect({code, stdout}).toMatchObject({code: 3, stdout: expect.stringContaining('promoted 1 tenant')});
  const [older, missing] = stderr.split('these were not followed');
  expect(older).toContain(keyName(tenant.id));
  expect(missing).toContain(keyName('late'));
  const promoted = await Service.start({data});
  expect((await Tenant.of(promoted, tenant.id).list('t')).map(({n}) => n)).toEqual([0]);
  await promoted.end('SIGTERM');
  await own.remove();
});

test('a directory follows, is killed, follows again, and is promoted to the server that others are not', async () => {
  const own = await testRepository();
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 0});
  const copied = await CopiedTenant.begin(service, tenant.id, own);
  const data = join(own.path, '../standby-data');
  const follows = (said: string, signal: NodeJS.Signals) => follow(own, data, said, signal);
  await follows('1 page set', 'SIGKILL');
  await tenant.insert('t', {n: 1});
  await copied.point();
  expect(await startOrRefusal(data)).toContain(`svc promote --data ${data}`);
  await follows('1 page set', 'SIGTERM');
  await tenant.insert('t', {n: 2});
  const {commit} = await copied.point(); // promote applies it
  copied.close();
  const name = `${'a'.repeat(128)}.tgz`;
  await own.writer.addPack([{tenant: tenant.id, kind: 'package', name, bytes: Buffer.from('a package')}]);
  expect(await svc(['promote', '--data', data])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('promoted 1 tenant'),
  });
  await expect(
    own.writer.addPack([{tenant: 'x', kind: 'package', name: 'p', bytes: Buffer.from('x')}]),
  ).rejects.toMatchObject({
    code: 'locked',
  });
  const {repository: theirs} = own.writer;
  await expect(RepositoryWriter.open(theirs, {host: 'test', serverId: 'test'})).rejects.toMatchObject({code: 'locked'});
  const {server_id: serverId} = JSON.parse(readFileSync(join(data, 'backup.json'), 'utf8')) as {server_id: string};
  const promotedAt = {host: hostname(), serverId, place: serverPlace(data)};
  await (await RepositoryWriter.open(theirs, promotedAt)).release();
  expect(existsSync(join(data, 'standby'))).toBe(false);
  expect(readFileSync(join(directoryIn(data, tenant.id)!, 'packages', name), 'utf8')).toBe('a package');
  const promoted = await Service.start({data});
  const of = Tenant.of(promoted, tenant.id);
  expect((await of.list('t')).map(({n}) => n)).toEqual([0, 1, 2]);
  await of.insert('t', {n: commit});
  await promoted.end('SIGTERM');
  expect(await svc(['promote', '--data', data])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('follows no'),
  });
  await own.remove();
});

/** Runs `svc restore --follow` until it has said something. @returns all that it said */
async function follow(own: TestRepository, data: string, what: string, signal: NodeJS.Signals): Promise<string> {
  const args = ['restore', '--follow', '--every', '100ms', ...own.options, '--data', data];
  const child = spawn(process.execPath, [CLI, ...args], {stdio: ['ignore', 'pipe', 'inherit'], timeout: 30_000});
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until(`${what} was said`, () => said.includes(what));
  const ended = new Promise(resolve => child.once('exit', resolve));
  child.kill(signal);
  await ended;
  return said;
}
