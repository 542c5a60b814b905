/** A spare worker that expects a tenant with code has started the process of its isolates. */
import {readdirSync, readlinkSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {App} from '../functions/app.ts';
import {isolateProcesses} from '../functions/isolate-process/processes.ts';
import {isAlive, userOf} from '../harness/processes.ts';
import {missingLayer} from '../harness/sandbox-layers.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const APP = {
  'notes.ts': `
    import {actionGeneric as action, mutationGeneric as mutation, queryGeneric as query} from 'svc/server';
    export const all = query({handler: ctx => ctx.db.query('notes').collect()});
    export const now = query({handler: () => Date.now() > 0});
    export const add = mutation({handler: ctx => ctx.db.insert('notes', {text: 'a'})});
    export const act = action({handler: ctx => ctx.runQuery('notes:all' as never, {})});
  `,
};

let service: Service;
let app: App;
let plain: Tenant;
beforeAll(async () => {
  service = await Service.start({spares: 1});
  app = await App.deploy(service, APP);
  plain = await Tenant.make(service);
  await plain.insert('notes', {text: 'a'});
});
beforeEach(async () => {
  service.showLogOnFailure();
  await service.end('SIGTERM');
  await service.run();
});
afterAll(() => service.stop());

/** The spare, when it is ready: its isolates, too, if it has any. */
async function ready(): Promise<{worker: number; isolates: number[]}> {
  await service.spareIsReady();
  const worker = service.children('worker').at(-1)!;
  return {worker, isolates: isolateProcesses(worker)};
}

/** Files of the data directory that a process has open. */
function filesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`))
    .filter(path => path.startsWith(service.data) && !path.includes('/code/'));
}

test('it answers the first calls, as the user of the tenant, and has opened no file before', async () => {
  const {worker, isolates} = await ready();
  expect(isolates).toHaveLength(1);
  const [process] = isolates;
  expect(filesOf(process!)).toEqual([]);
  expect(await app.query('notes:all', {})).toEqual([]);
  expect(await app.action('notes:act', {})).toEqual([]);
  expect(await service.workerOf(app.tenant)).toBe(worker);
  expect(isolateProcesses(worker)).toEqual(isolates);
  const directory = service.directoryOf(app.tenant)!;
  expect(new Set(filesOf(process!).map(path => path.replace(/-wal$|-shm$/, '')))).toEqual(
    new Set([join(directory, 'tenant.sqlite')]),
  );
  if (missingLayer(service, 'users') === null) expect(userOf(process!)).toBe(statSync(directory).uid);
});

test('a tenant that is deployed to first never has one that is still of the spare', async () => {
  const {isolates} = await ready();
  expect(isolates).toHaveLength(1);
  const fresh = await App.deploy(service, APP);
  const worker = await service.workerOf(fresh.tenant);
  if (missingLayer(service, 'users') === null) {
    const user = statSync(service.directoryOf(fresh.tenant)!).uid;
    await until('its end, or its user', () => isolates.every(pid => !isAlive(pid) || userOf(pid) === user));
  }
  expect(await fresh.mutation('notes:add', {})).toEqual(expect.any(String));
  expect(await fresh.query('notes:all', {})).toHaveLength(1);
  const user = userOf(worker);
  expect(isolateProcesses(worker).map(userOf)).toEqual([user]);
});

test('of a tenant without code it ends, and the next spare has none', async () => {
  const {worker, isolates} = await ready();
  expect(isolates).toHaveLength(1);
  expect(await plain.list('notes')).toMatchObject([{text: 'a'}]);
  expect(await service.workerOf(plain.id)).toBe(worker);
  await until('its end', () => !isAlive(isolates[0]!));
  const next = await ready();
  expect(next.worker).not.toBe(worker);
  expect(next.isolates).toEqual([]);
  expect(await app.query('notes:all', {})).toEqual([]);
  await until('a spare with one', async () => (await ready()).isolates.length === 1);
});

test('one that ended while it waited is replaced with the first call', async () => {
  const {worker, isolates} = await ready();
  process.kill(isolates[0]!, 'SIGKILL');
  await until('its end', () => !isAlive(isolates[0]!));
  expect(await app.query('notes:now', {})).toBe(true);
  expect(await service.workerOf(app.tenant)).toBe(worker);
  expect(isolateProcesses(worker)).toHaveLength(1);
});

test('of a killed spare it ends, too', async () => {
  const {worker, isolates} = await ready();
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(isolates[0]!));
});

// Last: a tenant that was not closed in order is woken when the server starts again.
test('it ends with its worker, after it has changed its user', async () => {
  const {worker, isolates} = await ready();
  await app.query('notes:all', {});
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(isolates[0]!));
});
