/**
 * The second wall, from inside: what code can do that has left its isolate and is the worker. A script that is started as workers
 * are, with what stands before their executable, becomes the tenant's user as they do, and tries. Each attempt has to fail with
 * the system's own error. Where the machine does not give the wall, these tests are skipped by name, with the reason.
 */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {readdirSync, readFileSync, statSync} from 'node:fs';
import {createServer, type Server} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {findConfinement} from '../../supervisor/confinement/confinement.ts';
import {userOf} from '../harness/processes.ts';
import {missingLayer, runDirectoryOf} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import type {Try} from './attack.ts';

const SCRIPT = fileURLToPath(new URL('./attack.ts', import.meta.url));

let service: Service;
let missing: string | null;
let own: string;
let answers: Record<string, string>;
let status: string;
let worker: number;
let waiting: Server | undefined;
beforeAll(async () => {
  service = await Service.start({spares: 1});
  missing = missingLayer(service, 'users');
  if (missing !== null) return;
  const [tenant, victim] = [await Tenant.make(service), await Tenant.make(service)];
  for (const one of [tenant, victim]) await one.insert('t', {n: 1});
  own = service.directoryOf(tenant.id)!;
  worker = await service.workerOf(tenant.id);
  ({answers, status} = await attack(await tries(victim)));
});
afterAll(async () => {
  waiting?.close();
  await service.stop();
});
beforeEach(({skip}) => {
  service.showLogOnFailure();
  skip(missing !== null, `no wall "users" on this machine: ${missing}`);
});

async function tries(victim: Tenant): Promise<Record<string, Try>> {
  const its = service.directoryOf(victim.id)!;
  const itsWorker = await service.workerOf(victim.id);
  const [router] = service.children('router');
  const spare = await until('a spare', () =>
    service.children('worker').find(pid => pid !== worker && pid !== itsWorker && userOf(pid) === 0),
  );
  const run = runDirectoryOf(service);
  const sockets = readdirSync(run)
    .filter(name => /^w\d+$/.test(name))
    .map(name => ({path: join(run, name), uid: statSync(join(run, name)).uid}));
  const socketOf = (directory: string) => sockets.find(({uid}) => uid === statSync(directory).uid)!.path;
  const endpointOf = (directory: string) =>
    readdirSync(run).find(name => /^d\d+$/.test(name) && statSync(join(run, name)).gid === statSync(directory).uid)!;
  const endpoint = endpointOf(own);
  // As the egress process makes one, under a name that the attacker knows.
  const connection = join(run, endpointOf(its), 'connection');
  waiting = createServer().listen({path: connection, readableAll: true, writableAll: true});
  await once(waiting, 'listening');
  const {data} = service;
  return {
    'its own file': {what: 'read', path: join(own, 'tenant.sqlite')},
    'a new file of its own': {what: 'write', path: join(own, 'made')},
    "another tenant's file": {what: 'read', path: join(its, 'tenant.sqlite')},
    "another tenant's file, to write": {what: 'open', path: join(its, 'tenant.sqlite')},
    "another tenant's directory": {what: 'list', path: its},
    "a file in another tenant's directory": {what: 'write', path: join(its, 'planted')},
    'the list of tenants': {what: 'list', path: join(data, 'tenants')},
    'a directory among those of tenants': {what: 'write', path: join(data, 'tenants', 'planted')},
    'the registry': {what: 'read', path: join(data, 'registry.sqlite')},
    'the credentials': {what: 'read', path: join(data, 'admin.json')},
    'the data directory': {what: 'list', path: data},
    'a file in the data directory': {what: 'write', path: join(data, 'planted')},
    'the reserve of all tenants': {what: 'open', path: join(data, 'reserve')},
    'the compile cache': {what: 'list', path: join(data, 'cache')},
    'a file in the compile cache': {what: 'write', path: join(data, 'cache', 'planted')},
    'a file beside versions of Node': {what: 'write', path: join(data, 'node')},
    "the code of svc's workers": {what: 'open', path: fileURLToPath(new URL('../../dist/worker.js', import.meta.url))},
    'the run directory': {what: 'list', path: run},
    'a socket in the run directory': {what: 'write', path: join(run, 'planted')},
    "another worker's socket": {what: 'connect', path: join(socketOf(its), 's')},
    "a file beside another worker's socket": {what: 'write', path: join(socketOf(its), 'planted')},
    "another tenant's connection": {what: 'connect', path: connection},
    'a file beside its own way out': {what: 'write', path: join(run, endpoint, 'planted')},
    "the supervisor's environment": {what: 'read', path: `/proc/${service.pid}/environ`},
    "the router's environment": {what: 'read', path: `/proc/${router}/environ`},
    "another worker's environment": {what: 'read', path: `/proc/${itsWorker}/environ`},
    "another worker's memory": {what: 'open', path: `/proc/${itsWorker}/mem`},
    "another worker's descriptors": {what: 'list', path: `/proc/${itsWorker}/fd`},
    "a spare's memory": {what: 'open', path: `/proc/${spare}/mem`},
    "the memory of its own tenant's worker": {what: 'open', path: `/proc/${worker}/mem`},
    'a signal to the supervisor': {what: 'signal', pid: service.pid},
    'a signal to the router': {what: 'signal', pid: router!},
    'a signal to another worker': {what: 'signal', pid: itsWorker},
    'a signal to a spare': {what: 'signal', pid: spare},
    'to be root': {what: 'become', id: 0},
    'to be another tenant': {what: 'become', id: statSync(its).uid},
    'to give a file to another tenant': {what: 'give', path: join(own, 'made'), id: statSync(its).uid},
  };
}

/** As `supervisor/processes/child.ts` starts a worker. */
async function attack(attempts: Record<string, Try>): Promise<{answers: Record<string, string>; status: string}> {
  const user = {id: statSync(own).uid, group: statSync(service.data).gid};
  const setting = {first: user.group, last: user.group + 100_000};
  const found = await findConfinement({
    ...{setting, data: service.data, reads: [], runs: [], passes: '/'},
    socketBases: [tmpdir()],
  });
  const node = [process.execPath, '--experimental-strip-types', '--no-warnings', SCRIPT];
  const [command, ...args] = [...found.worker, ...node, JSON.stringify([user, attempts])];
  const child = spawn(command!, args, {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {PATH: process.env.PATH},
  });
  let said = '';
  child.stdout!.on('data', chunk => {
    said += String(chunk);
  });
  await new Promise(resolve => child.once('close', resolve));
  return JSON.parse(said) as {answers: Record<string, string>; status: string};
}

test('what is tried is tried by the same user, with the same rights, as its worker has', () => {
  const ofWorker = readFileSync(`/proc/${worker}/status`, 'utf8');
  const rights = (text: string) => text.match(/^(Uid|Gid|Groups|Cap\w+|NoNewPrivs|Umask):.*$/gm);
  expect(rights(status)?.filter(line => !line.startsWith('Umask'))).toEqual(
    rights(ofWorker)?.filter(line => !line.startsWith('Umask')),
  );
});

test.each(['its own file', 'a new file of its own'])('%s is in reach', name => {
  expect(answers[name]).toBe('done');
});

describe('out of reach is', () => {
  test.each([
    "another tenant's file",
    "another tenant's file, to write",
    "another tenant's directory",
    "a file in another tenant's directory",
    'the list of tenants',
    'a directory among those of tenants',
    'the registry',
    'the credentials',
    'the data directory',
    'a file in the data directory',
    'the reserve of all tenants',
    'the compile cache',
    'a file in the compile cache',
    'a file beside versions of Node',
    "the code of svc's workers",
    'the run directory',
    'a socket in the run directory',
    "another worker's socket",
    "a file beside another worker's socket",
    "another tenant's connection",
    'a file beside its own way out',
    "the supervisor's environment",
    "the router's environment",
    "another worker's environment",
    "another worker's memory",
    "another worker's descriptors",
    "a spare's memory",
    "the memory of its own tenant's worker",
  ])('%s', name => {
    expect(answers[name]).toBe('EACCES');
  });

  test.each([
    'a signal to the supervisor',
    'a signal to the router',
    'a signal to another worker',
    'a signal to a spare',
    'to be root',
    'to be another tenant',
    'to give a file to another tenant',
  ])('%s', name => {
    expect(answers[name]).toBe('EPERM');
  });
});
