/** The copy of what workers run, for a server whose Node or code lies where other users cannot go. */
import {spawnSync} from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {openCopy, type WorkerCode} from '../../supervisor/processes/worker-code.ts';
import {missingLayer} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const log = createLogger({}, {write: () => undefined});

/** Two open directories: one with a closed one in it, where the code is, and one for the data. */
let base: string;
let own: WorkerCode;
let data: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o755);
  data = join(base, 'data');
  const closed = join(base, 'closed');
  for (const directory of [data, closed]) mkdirSync(directory, {mode: 0o700});
  cpSync(join(ROOT, 'dist'), join(closed, 'dist'), {recursive: true});
  cpSync(join(ROOT, 'package.json'), join(closed, 'package.json'));
  const packages = ['better-sqlite3', 'croner', 'isolated-vm', 'node-gyp-build', 'piscina', 'uWebSockets.js', '@uwsjs'];
  for (const name of packages) {
    cpSync(join(ROOT, 'node_modules', name), join(closed, 'node_modules', name), {recursive: true});
  }
  own = {executable: process.execPath, entry: join(closed, 'dist/worker.js')};
});
afterEach(() => rmSync(base, {recursive: true, force: true}));

test('is made once, is open to read for all, and is made again when the code has changed', async () => {
  const first = (await openCopy(own, data, log))!;
  const modes = readdirSync(join(data, 'code'), {recursive: true, withFileTypes: true}).map(
    entry => statSync(join(entry.parentPath, entry.name)).mode & (entry.isDirectory() ? 0o777 : 0o666),
  );
  expect(new Set(modes)).toEqual(new Set([0o755, 0o644]));
  expect(statSync(first.executable).mode & 0o777).toBe(0o755);
  const made = statSync(first.entry).ino;
  expect(await openCopy(own, data, log)).toEqual(first);
  expect(statSync(first.entry).ino).toBe(made);

  utimesSync(own.entry, 1, 1);
  const second = (await openCopy(own, data, log))!;
  expect(second.entry).not.toBe(first.entry);
  expect(readdirSync(join(data, 'code'))).toHaveLength(1);
});

test('has all that a worker imports', async () => {
  const {executable, entry} = (await openCopy(own, data, log))!;
  const script = `const load = require('node:module').createRequire(${JSON.stringify(entry)});
    const Database = load('better-sqlite3'); new Database(':memory:').close();
    const vm = load('isolated-vm'); new vm.Isolate().dispose();
    new (load('croner').Cron)('0 3 * * *', {paused: true}).nextRun();
    load('piscina');`;
  const {status, stderr} = spawnSync(executable, ['--no-node-snapshot', '-e', script], {cwd: '/', encoding: 'utf8'});
  expect({status, stderr}).toEqual({status: 0, stderr: ''});
});

test('is not made where others can reach the code, nor where they cannot reach the data; an older one goes', async () => {
  expect(await openCopy(own, data, log)).not.toBe(null);
  chmodSync(base, 0o700);
  expect(await openCopy(own, data, log)).toBe(null);
  expect(existsSync(join(data, 'code'))).toBe(true);
  expect(readdirSync(join(data, 'code'))).toEqual([]);
});

test('a server whose code is closed separates its tenants by users all the same', async ({skip}) => {
  const service = await Service.start({dist: join(base, 'closed/dist'), data});
  try {
    service.showLogOnFailure();
    skip(process.geteuid?.() !== 0, 'the server was not started as root');
    expect(missingLayer(service, 'users')).toBe(null);
    const tenant = await Tenant.make(service);
    await tenant.insert('t', {n: 1});
    const sandbox = await service.post(`/api/tenants/${tenant.id}/sandboxes`, {runtime: 'isolate'});
    expect(sandbox.status).toBe(201);
    expect(await tenant.list('t')).toMatchObject([{n: 1}]);
  } finally {
    await service.stop();
  }
});
