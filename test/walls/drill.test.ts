/**
 * A drill: code that has left its isolate and runs in a real worker, with all sandbox layers. It tries what reaches beyond its tenant, while
 * a neighbour is asked all the time: every answer of the neighbour has to be right.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {isAlive} from '../harness/processes.ts';
import {missingLayer, runDirectoryOf} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Runs in each worker, and does what the file `attack` in its tenant's directory says. What it finds, in codes of the system's errors, is
 * in `answers`.
 */
const ATTACK = `
import {spawn, spawnSync} from 'node:child_process';
import {existsSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync} from 'node:fs';
import {connect, Server} from 'node:net';

const links = new Set();
const {emit} = Server.prototype;
Server.prototype.emit = function (name, ...given) {
  if (name === 'connection') links.add(given[0]);
  return emit.call(this, name, ...given);
};

async function tried(tries) {
  const answers = {};
  for (const [name, make] of Object.entries(tries)) {
    try {
      await make();
      answers[name] = 'done';
    } catch (error) {
      answers[name] = error.code;
    }
  }
  return answers;
}

const connected = path => new Promise((resolve, reject) => connect({path}).once('connect', resolve).once('error', reject));

const attacks = {
  async output() {
    const answers = await tried({
      terminal: () => openSync('/dev/tty', 'r+'),
      output: () => openSync('/proc/self/fd/1', 'r+'),
      go_on: () => process.kill(process.ppid, 'SIGCONT'),
      stop: () => process.kill(process.ppid, 'SIGSTOP'),
      end_group: () => process.kill(-process.ppid, 'SIGKILL'),
    });
    console.log('svc listening on http://evil.example');
    process.stderr.write('\\u001b]0;evil\\u0007\\n' + JSON.stringify({level: 'error', message: 'evil', process: 'supervisor', tenant: 'neighbour', pid: 1}) + '\\n');
    await new Promise(resolve => process.stderr.write('evil flood\\n'.repeat(1_000_000), resolve));
    return answers;
  },
  look: ({run, directories, sockets}) =>
    tried({
      'the run directory': () => readdirSync(run),
      'a file in the run directory': () => writeFileSync(run + '/planted', ''),
      ...Object.fromEntries(directories.map(path => [path, () => readdirSync(path)])),
      ...Object.fromEntries(sockets.map(path => [path, () => connected(path)])),
    }),
  files: ({directory}) => ['tenant.new', 'damaged.txt'].map(name => spawnSync('mkfifo', [directory + '/' + name]).status),
  link: () => links.forEach(link => link.write(Buffer.alloc(64, 0xee))),
  channel: () => writeSync(3, 'no message\\n'),
  // It outlives the worker, and then ends all that takes its user.
  leave: () => spawn('sh', ['-c', 'while kill -0 $PPID; do :; done; while :; do kill -KILL -1; done'], {detached: true, stdio: 'ignore'}).pid,
};

export function attack({directory}) {
  const [order, answers] = [directory + '/attack', directory + '/answers'];
  setInterval(async () => {
    if (process.getuid() === 0 || !existsSync(order)) return;
    const {name, ...given} = JSON.parse(readFileSync(order, 'utf8'));
    rmSync(order);
    const said = await attacks[name]({directory, ...given});
    writeFileSync(answers + '.new', JSON.stringify(said ?? null));
    renameSync(answers + '.new', answers);
  }, 10).unref();
}
`;

let base: string;
let service: Service;
let missing: string | null;
let neighbour: Tenant;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'svc-test-'));
  chmodSync(base, 0o755);
  const dist = join(base, 'dist');
  cpSync(join(ROOT, 'dist'), dist, {recursive: true});
  cpSync(join(ROOT, 'package.json'), join(base, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(base, 'node_modules'));
  const worker = join(dist, 'worker.js');
  const told =
    "import {attack} from './attack.js'; process.on('message', m => { if (m.type === 'open') attack(m.settings); });";
  writeFileSync(worker, `${told}\n${readFileSync(worker, 'utf8')}`);
  writeFileSync(join(dist, 'attack.js'), ATTACK);
  service = await Service.start({dist});
  missing = missingLayer(service, 'users') ?? missingLayer(service, 'network') ?? missingLayer(service, 'privileges');
  neighbour = await Tenant.make(service);
  await neighbour.insert('t', {n: 1});
});
afterAll(async () => {
  await service.stop();
  rmSync(base, {recursive: true, force: true});
});
beforeEach(({skip}) => {
  service.showLogOnFailure();
  skip(missing !== null, `not every sandbox layer stands: ${missing}`);
});

/** A tenant that is awake. */
async function hostile(): Promise<Tenant> {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  return tenant;
}

/** Has the code in its worker do this. */
function attack({id}: Tenant, name: string, given: object = {}): void {
  const order = join(service.directoryOf(id)!, 'attack');
  writeFileSync(`${order}.new`, JSON.stringify({name, ...given}));
  chmodSync(`${order}.new`, 0o644);
  renameSync(`${order}.new`, order);
}

async function answersOf({id}: Tenant): Promise<unknown> {
  const path = join(service.directoryOf(id)!, 'answers');
  await until('the answers of an attack', () => existsSync(path));
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Asks the neighbour all the time while this goes on: every answer has to be right. */
async function beside<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const probe = async () => {
    while (!isOver) expect(await neighbour.list('t')).toMatchObject([{n: 1}]);
    expect(await neighbour.list('t')).toMatchObject([{n: 1}]);
  };
  const [result] = await Promise.all([
    work().finally(() => {
      isOver = true;
    }),
    probe(),
  ]);
  return result;
}

test('a worker that was taken over reaches no terminal, no log and no other process, and its neighbour notices nothing', async () => {
  const tenant = await hostile();
  attack(tenant, 'output');
  expect(await beside(() => answersOf(tenant))).toEqual({
    terminal: 'ENXIO',
    output: 'ENXIO',
    go_on: 'EPERM',
    stop: 'EPERM',
    end_group: expect.stringMatching(/^(?:EPERM|ESRCH)$/),
  });
  await until('the end of the flood', () => service.log.includes('lines of a child process were dropped'));
  expect(service.output.join('\n')).not.toContain('evil');
  const lines = service.log
    .split('\n')
    .slice(1, -1)
    .map(line => JSON.parse(line) as Record<string, unknown>);
  const written = lines.filter(line => JSON.stringify(line).includes('evil'));
  expect(written).not.toEqual([]);
  for (const line of written) expect(line).toMatchObject({process: 'worker', tenant: tenant.id});
  expect(service.log).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
});

test('sockets and ways out of other tenants are out of its reach, also under names that it knows', async () => {
  const tenant = await hostile();
  const run = runDirectoryOf(service);
  const {uid} = statSync(service.directoryOf(neighbour.id)!);
  const isTheirs = (path: string) => [statSync(path).uid, statSync(path).gid].includes(uid);
  const theirs = readdirSync(run)
    .filter(name => /^[wd]\d+$/.test(name))
    .map(name => join(run, name))
    .filter(isTheirs);
  expect(theirs.map(path => path.slice(run.length + 1)[0]).sort()).toEqual(['d', 'w']);
  const directories = [service.directoryOf(neighbour.id)!, ...theirs];
  const sockets = theirs.flatMap(path => readdirSync(path).map(name => join(path, name)));
  expect(sockets).not.toEqual([]);
  attack(tenant, 'look', {run, directories, sockets});
  const answers = (await beside(() => answersOf(tenant))) as object;
  expect(Object.keys(answers)).toHaveLength(2 + directories.length + sockets.length);
  expect(new Set(Object.values(answers))).toEqual(new Set(['EACCES']));
});

test('nonsense on the link and on the channel ends its own worker alone, which comes back', async () => {
  const routers = service.children('router');
  for (const [name, ended] of [
    ['link', /^svc_malformed_links_total 1$/m],
    ['channel', /^svc_process_kills_total\{.*nonsense.*\} 2$/m],
  ] as const) {
    const tenant = await hostile();
    const worker = await service.workerOf(tenant.id);
    await beside(async () => {
      attack(tenant, name);
      await until('the end of its worker', () => service.ownerOf(tenant.id) !== worker);
      expect(await tenant.list('t')).toMatchObject([{n: 1}]);
    });
    expect((await service.get('/metrics')).text).toMatch(ended);
  }
  expect(service.children('router')).toEqual(routers);
});

test('a process that it leaves behind, and that ends whatever has its user, ends with its tenant', async () => {
  const tenant = await hostile();
  const {uid} = statSync(service.directoryOf(tenant.id)!);
  attack(tenant, 'leave');
  await beside(async () => {
    const left = (await answersOf(tenant)) as number;
    expect(isAlive(left)).toBe(true);
    expect((await service.request('DELETE', `/api/tenants/${tenant.id}`)).status).toBe(204);
    expect(isAlive(left)).toBe(false);
    const next = await hostile();
    expect(statSync(service.directoryOf(next.id)!).uid).not.toBe(uid);
    expect(await next.list('t')).toMatchObject([{n: 1}]);
  });
});

test('a FIFO in its directory instead of a note is waited for by no start', async () => {
  const tenant = await hostile();
  attack(tenant, 'files');
  expect(await beside(() => answersOf(tenant))).toEqual([0, 0]);
  expect(await service.end('SIGTERM')).toBe(0);
  await service.run();
  await beside(async () => {
    expect((await tenant.request('GET', '/documents/t')).status).toBe(503);
  });
});
