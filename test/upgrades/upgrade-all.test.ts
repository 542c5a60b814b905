/** Sleeping tenants with files of an older version: the server counts them, and migrates them without a request. */
import {copyFileSync, mkdtempSync, rmSync, statSync, utimesSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {isDeepStrictEqual} from 'node:util';
import {afterAll, expect, test} from 'vitest';
import {STORAGE_VERSION} from '../../engine/storage/migrations.ts';
import type {UpgradeStatus} from '../../shared/protocol/upgrades.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {svc} from '../harness/command.ts';
import {directoryIn} from '../harness/data-directory.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';
import {unpackFixture} from './fixture.ts';

const VERSION = 14;
const KILLS = rounds({commit: 3, nightly: 20});
/** After the request. The server needs some 200 ms. */
const KILLED_WITHIN_MS = 400;
const work = mkdtempSync(join(tmpdir(), 'svc-upgrade-all-'));
afterAll(() => rmSync(work, {recursive: true}));

const APP = `app-${VERSION}`;

test('svc upgrade --all migrates sleeping tenants, which sleep again, and skips paused ones', async () => {
  const data = unpackFixture(VERSION, join(work, 'data'));
  const service = await Service.start({data});
  service.showLogOnFailure();
  const state = async () => (await service.get('/api/upgrade')).body as UpgradeStatus;
  const counted = (current: number, older: number) => ({
    storage_version: STORAGE_VERSION,
    versions: [
      {storage_version: STORAGE_VERSION, tenants: current},
      ...(older > 0 ? [{storage_version: VERSION, tenants: older}] : []),
      {storage_version: null, tenants: 1},
    ],
  });
  const all = () => svc(['upgrade', '--all', '--data', data, '--url', service.url]);
  try {
    // Its job is due, so this server opens it, and the tenant whose worker was killed. From then on only its file is an
    // older one.
    await until('the job', async () => {
      const body = {table: 'notes', filters: [], limit: 100};
      return (await service.post(`/api/tenants/${APP}/query`, body)).text.includes('from a job');
    });
    await until('both to be migrated', async () => isDeepStrictEqual((await state()).versions, counted(2, 0).versions));
    // Nothing is due when the next server starts.
    expect((await service.request('DELETE', `/api/tenants/${APP}/crons/hourly`)).status).toBe(204);
    await service.end('SIGTERM');
    makeOlder(data);
    await service.run();
    expect(await state()).toMatchObject({...counted(1, 1), run: null});

    expect((await service.post(`/api/tenants/${APP}/pause`)).status).toBe(200);
    expect(await all()).toMatchObject({
      code: 0,
      stdout: `0 tenants were migrated to storage version ${STORAGE_VERSION}, 0 failed, 1 are paused and were skipped\n`,
    });
    expect((await service.post(`/api/tenants/${APP}/resume`)).status).toBe(200);
    expect(await all()).toMatchObject({
      code: 0,
      stdout: `1 tenants were migrated to storage version ${STORAGE_VERSION}, 0 failed\n`,
    });
    await service.asleep(APP);
    const run = {is_running: false, tenants: 1, done: 1, paused: 0, failed: 0, failures: []};
    expect(await state()).toMatchObject({...counted(2, 0), run});
  } finally {
    await service.killAll();
  }
}, 60_000);

test('a server that is killed while it migrates all goes on at the next request, and loses nothing', async () => {
  const data = unpackFixture(VERSION, join(work, 'killed'));
  const service = await Service.start({data});
  service.showLogOnFailure();
  const all = () => svc(['upgrade', '--all', '--data', data, '--url', service.url]);
  const notes = async () => {
    const {body} = await service.post(`/api/tenants/${APP}/query`, {table: 'notes', filters: [], limit: 100});
    return (body as {data: unknown[]}).data;
  };
  try {
    await until('the job', async () => JSON.stringify(await notes()).includes('from a job'));
    expect((await service.request('DELETE', `/api/tenants/${APP}/crons/hourly`)).status).toBe(204);
    await service.end('SIGTERM');
    for (let kill = 0; kill < KILLS; kill++) {
      makeOlder(data);
      await service.run();
      const interrupted = service.post('/api/upgrade').catch(() => null);
      await delay((KILLED_WITHIN_MS * (kill + Math.random())) / KILLS);
      await service.killAll();
      await interrupted;
      await service.run();
      expect(await all()).toMatchObject({code: 0, stdout: expect.stringContaining(', 0 failed\n')});
      // The job of the older file was due once more.
      await until('the job', async () => JSON.stringify(await notes()).includes('from a job'));
      const state = (await service.get('/api/upgrade')).body as UpgradeStatus;
      expect(state.versions.map(({storage_version: version}) => version)).toEqual([STORAGE_VERSION, null]);
      await service.end('SIGTERM');
    }
    expect((await svc(['verify', '--data', data])).code).toBe(0);
  } finally {
    await service.killAll();
  }
}, 180_000);

/** Puts the file of the fixture back, as a server that knows nothing of it finds it. */
function makeOlder(data: string): void {
  const older = unpackFixture(VERSION, join(work, 'older'));
  const [source, target] = [older, data].map(from => join(directoryIn(from, APP)!, TENANT_FILE)) as [string, string];
  // A file that has changed meanwhile is opened at the start.
  const {mtimeMs} = statSync(target);
  copyFileSync(source, target);
  const seconds = (Math.floor(mtimeMs) + 0.5) / 1000;
  utimesSync(target, seconds, seconds);
}
