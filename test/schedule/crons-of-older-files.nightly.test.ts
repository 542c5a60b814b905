/** Crons of a file from before their outcomes were stored. */
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Cron} from '../../shared/protocol/schedule.ts';
import {makeOlder} from '../harness/older-file.ts';
import {Service} from '../harness/service.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

test('a cron of a file from before outcomes were kept has none yet, and runs on', async () => {
  const tenant = await service.tenant();
  const path = `/api/tenants/${tenant}/crons`;
  const list = async () => ((await service.get(path)).body as {crons: Cron[]}).crons;
  const create = async (name: string) => {
    const mutation = {type: 'delete', table: 't', id: 'nothing'};
    expect((await service.post(path, {name, schedule: {type: 'interval', seconds: 1}, mutation})).status).toBe(201);
  };
  const ran = (name: string) =>
    until(`cron ${name} to run`, async () => (await list()).find(cron => cron.name === name && cron.last_run !== null));
  await create('late');
  const before = await ran('late');
  await service.end('SIGTERM');
  const db = new Database(join(service.directoryOf(tenant)!, 'tenant.sqlite'));
  db.exec("UPDATE crons SET interval_ms = 3600000, next_run = next_run + 3600000 WHERE name = 'late'");
  makeOlder(db, 5);
  db.close();
  await service.run();
  const [late] = await list();
  expect(late).toMatchObject({name: 'late', last_outcome: null, last_error: null, failures: 0});
  expect(late!.last_run).toBeGreaterThanOrEqual(before.last_run!);
  await create('new');
  expect(await ran('new')).toMatchObject({last_outcome: 'failed'});
});
