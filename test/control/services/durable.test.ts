/**
 * What is asked of a service is on disk when it is answered, whatever the service does by itself meanwhile. On a real file and real commit groups,
 * whose syncs end when the test says so; a process never comes to be.
 */
import {existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {BackgroundWrites} from '../../../engine/commit/background.ts';
import {CommitGroups} from '../../../engine/commit/group.ts';
import {Writer} from '../../../engine/commit/writer.ts';
import {Catalog} from '../../../engine/storage/catalog.ts';
import type {Connection} from '../../../engine/storage/connection.ts';
import {openWriter} from '../../../engine/storage/database.ts';
import {metaRow, SET_META} from '../../../engine/storage/meta.ts';
import {ACTIVE_KEY} from '../../../engine/storage/stored-settings.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {createLogger} from '../../../shared/log.ts';
import {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import type {ServiceRecord} from '../../../shared/protocol/services.ts';
import {guardedByKey} from '../../../worker/api/operations/answer.ts';
import type {ControlParts} from '../../../worker/control/control-parts.ts';
import {serviceRecords} from '../../../worker/control/record-table.ts';
import {Services} from '../../../worker/control/services/services.ts';
import type {FunctionPlatform} from '../../../worker/functions/platform.ts';

type HostAsked = PromiseWithResolvers<FunctionPlatform>;

let directory: string;
let db: Connection;
let groups: CommitGroups;
let services: Services;
/** Syncs that are under way; null: they end at once. */
let syncs: (() => void)[] | null;
/** What waits for the function platform: first the check of a definition, then each process that is being prepared. */
let hosts: HostAsked[];
let isHostThere: boolean;
/** Whether the active deployment has the module of a service. */
let isCodeThere: boolean;
let parts: ControlParts;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-services-'));
  db = openWriter(join(directory, 'tenant.sqlite'));
  syncs = null;
  hosts = [];
  isHostThere = true;
  isCodeThere = true;
  const log = createLogger({}, {write: () => undefined});
  const metrics = new WorkerMetrics();
  const sync = (done: (error: Error | null) => void) => {
    if (syncs === null) setImmediate(done, null);
    else syncs.push(() => done(null));
  };
  groups = new CommitGroups({writer: new Writer(db, Catalog.read(db), Date.now), metrics, log, stages: [], sync});
  const background = new BackgroundWrites(groups, log, (kind, error) => {
    throw new Error(`${kind} failed`, {cause: error});
  });
  const digest = () => {
    if (isCodeThere) return '';
    throw new ServiceError('op.invalid_input', 'there is no such module');
  };
  const platform = {services: {digest, forgetOthers: () => Promise.resolve()}} as unknown as FunctionPlatform;
  const functions = (): Promise<FunctionPlatform> => {
    if (isHostThere) return Promise.resolve(platform);
    hosts.push(Promise.withResolvers());
    return hosts.at(-1)!.promise;
  };
  const clock = Date.now;
  parts = {
    ...{directory, db, groups, background, metrics, log, clock, functions, changed: () => undefined},
    servicesMemoryMbMax: 2_048,
  } as unknown as ControlParts;
  services = new Services(parts);
});
afterEach(async () => {
  endSyncs();
  await services.close();
  await groups.close();
  db.close();
  rmSync(directory, {recursive: true});
});

/** All that are under way, and those to come. */
function endSyncs(): void {
  const ended = syncs ?? [];
  syncs = null;
  for (const end of ended) end();
}

async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve));
}

/** What the writer has written last: the disk has it after the sync. */
function stored(name: string): ServiceRecord | null {
  const row = serviceRecords(db)
    .all()
    .find(({id}) => id === name);
  return row === undefined ? null : (JSON.parse(row.record) as ServiceRecord);
}

const SOURCE = {type: 'inline', code: 'export default () => {};'} as const;

/** One that is being prepared, for as long as its `HostAsked` is not settled. */
async function starting(name: string): Promise<HostAsked> {
  const body = {name, source: SOURCE, autostart: false};
  await services.create(body, store => groups.perform(store));
  isHostThere = false;
  await services.start(name);
  await turns();
  isHostThere = true;
  expect(services.get(name).state).toBe('starting');
  return hosts.at(-1)!;
}

const NOT_NOW = new ServiceError('session.worker_unavailable', 'not now');

test('one that would take more memory than the operator allows is refused, with the name of the setting', async () => {
  parts.servicesMemoryMbMax = 100;
  const creating = services.create({name: 'it', source: SOURCE, memory_mb: 101}, store => groups.perform(store));
  await expect(creating).rejects.toMatchObject({
    code: 'op.rate_limited',
    message: expect.stringMatching(
      /at most 100 MiB together, with this one it would be 101.*--tenant-services-memory-mb/,
    ),
  });
  expect(stored('it')).toBeNull();
});

describe('a service that ends by itself while', () => {
  test('it is stopped: it is wanted stopped from the write on, and on disk when that is answered', async () => {
    const host = await starting('it');
    syncs = [];
    const seen: (string | undefined)[] = [];
    const stopping = services.stop('it').then(() => seen.push(stored('it')?.desired_state));
    await turns();
    expect(stored('it')?.desired_state).toBe('stopped');
    host.reject(NOT_NOW);
    await turns();
    expect(services.get('it').state).toBe('backoff');
    expect(stored('it')?.desired_state).toBe('stopped');
    endSyncs();
    await stopping;
    expect(seen).toEqual(['stopped']);
    await turns();
    expect(stored('it')).toEqual(services.get('it'));
  });

  test('it is changed: the new definition stays on disk', async () => {
    const host = await starting('it');
    syncs = [];
    const updating = services.update('it', {source: SOURCE, memory_mb: 64});
    await turns();
    host.reject(NOT_NOW);
    await turns();
    expect(stored('it')?.memory_mb).toBe(64);
    endSyncs();
    await updating;
    expect(stored('it')?.memory_mb).toBe(64);
    await turns();
    expect(stored('it')).toEqual(services.get('it'));
  });
});

test('what waits for its turn when the tenant is closed starts nothing any more', async () => {
  await starting('it');
  syncs = [];
  const stopping = services.stop('it');
  await turns();
  isHostThere = false;
  const asked = hosts.length;
  const restarting = services.restart('it').then(
    () => 'done',
    (error: ServiceError) => error.code,
  );
  const closing = services.close();
  endSyncs();
  await Promise.all([stopping, closing]);
  expect(await restarting).toBe('session.worker_unavailable');
  await turns();
  expect([hosts.length, services.get('it').state]).toEqual([asked, 'stopped']);
});

test('what was answered under an Idempotency-Key is answered again when its module has gone', async () => {
  const body = {name: 'it', source: {type: 'module', path: 'gone'}, autostart: false} as const;
  const request = {op: 'services.create', params: {}, key: 'once', body: Buffer.from(JSON.stringify(body))} as const;
  const create = () =>
    services.create(body, store =>
      groups.perform(guardedByKey(request, writer => JSON.stringify({service: store(writer)}))),
    );
  const first = await create();
  isCodeThere = false;
  expect(await create()).toBe(first);
  await expect(services.create({...body, name: 'other'}, store => groups.perform(store))).rejects.toThrow(
    'there is no such module',
  );
});

test('a new service has no line of one of its name whose log outlived it', async () => {
  const left = join(directory, 'service-logs/it');
  mkdirSync(left, {recursive: true});
  writeFileSync(join(left, 'service-0.jsonl'), '{"n":1,"at":1,"level":"info","line":"of another"}\n');
  await services.create({name: 'it', source: SOURCE, autostart: false}, store => groups.perform(store));
  expect(existsSync(left)).toBe(false);
});

test.each([
  ['before the deployment that serves was made is started, as that deploy would have done', 10, 'starting'],
  ['with it stays failed', 30, 'failed'],
])('one that failed %s', async (_name, failedAt, state) => {
  const record = {
    name: 'old',
    source: SOURCE,
    restart: 'never',
    state: 'failed',
    desired_state: 'running',
    restarts: 0,
  };
  const last_exit = {at: failedAt, reason: 'threw', message: null};
  serviceRecords(db).put('old', JSON.stringify({...record, env: {}, memory_mb: 64, last_exit, created_at: 1}));
  db.exec(`INSERT INTO deployments (id, created_at, activated_at, manifest, files, modified_ms, seed, hash)
    VALUES (1, 20, 20, '{}', '[]', 1, '', '')`);
  db.prepare(SET_META).run(...metaRow(ACTIVE_KEY, 1));
  isHostThere = false;
  const next = new Services(parts);
  expect(next.get('old').state).toBe(state);
  const closing = next.close();
  for (const {reject} of hosts) reject(NOT_NOW);
  await closing;
});
