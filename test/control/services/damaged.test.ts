/** A service whose row is not what was written: refused and never run; another one runs, and it can be deleted. */
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, expect, test} from 'vitest';
import {svc} from '../../harness/command.ts';
import {makeOlder} from '../../harness/older-file.ts';

import {Service} from '../../harness/service.ts';
import {expectError, Tenant} from '../../harness/tenant.ts';
import {ServiceClient} from '../service-client.ts';

let service: Service;
afterEach(() => service.stop());

const STAYS = `export default async (ctx, signal, log) => {
  log.info('word', process.env.WORD);
  await new Promise(done => signal.addEventListener('abort', done));
};`;

async function inFile(tenant: Tenant, act: (db: Database.Database) => void): Promise<void> {
  await service.end('SIGTERM');
  const db = new Database(join(service.directoryOf(tenant.id)!, 'tenant.sqlite'));
  act(db);
  db.close();
}

test('a damaged service is refused and not run, another one is, and the damaged one can be deleted', async () => {
  service = await Service.start();
  const tenant = await Tenant.make(service);
  const services = new ServiceClient(tenant);
  for (const name of ['bad', 'sound']) {
    await services.inline(name, STAYS, {env: {WORD: 'right'}});
    await services.says(name, "'word' 'right'");
  }
  await inFile(tenant, db => {
    const change = db.prepare("UPDATE services SET record = replace(record, 'right', 'wrong') WHERE name = 'bad'");
    expect(change.run().changes).toBe(1);
  });
  const {code, stdout} = await svc(['verify', '--data', service.data, '--tenant', tenant.id]);
  expect([code, stdout]).toEqual([1, expect.stringContaining('the service "bad" is damaged in the file')]);
  await service.run();
  await services.is('sound', 'running');
  expectError(await tenant.request('GET', '/services/bad'), 503, 'op.storage_damaged');
  expectError(await tenant.request('GET', '/services'), 503, 'op.storage_damaged');
  expectError(await tenant.request('POST', '/services/bad/start'), 503, 'op.storage_damaged');
  const taken = {name: 'bad', source: {type: 'inline', code: STAYS}};
  expectError(await tenant.request('POST', '/services', taken), 409, 'op.conflict');
  expect((await tenant.request('DELETE', '/services/bad')).status).toBe(204);
  const {body} = await tenant.request('GET', '/services');
  expect((body as {services: {name: string}[]}).services.map(({name}) => name)).toEqual(['sound']);
  await services.inline('bad', STAYS, {autostart: false});
});

test('a file from before services opens, and takes them', async () => {
  service = await Service.start();
  const tenant = await Tenant.make(service);
  const id = await tenant.insert('t', {a: 1});
  await inFile(tenant, db => {
    makeOlder(db, 12);
  });
  await service.run();
  expect(await tenant.get('t', id)).toMatchObject({a: 1});
  const services = new ServiceClient(tenant);
  await services.inline('it', STAYS);
  await services.is('it', 'running');
});
