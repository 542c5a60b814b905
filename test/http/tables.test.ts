import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {makeOlder} from '../harness/older-file.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

async function counts(): Promise<Record<string, number>> {
  const {body} = await tenant.request('GET', '/tables');
  const {tables} = body as {tables: {name: string; documents: number}[]};
  return Object.fromEntries(tables.map(({name, documents}) => [name, documents]));
}

async function numbered(table: string, count: number): Promise<string[]> {
  return await Promise.all(Array.from({length: count}, (_, n) => tenant.insert(table, {n})));
}

async function verified(): Promise<void> {
  expect(await svc(['verify', '--data', service.data])).toMatchObject({code: 0});
}

describe('GET tables: how many documents each table has', () => {
  test('follows every write; one that fails changes nothing', async () => {
    const ids = await numbered('a', 20);
    await numbered('b', 3);
    await Promise.all(ids.slice(0, 5).map(id => tenant.delete('a', id)));
    await tenant.patch('a', ids[10]!, {n: 100});
    expect(await counts()).toEqual({a: 15, b: 3});
    expectError(await tenant.request('DELETE', `/documents/a/${ids[0]}`), 404, 'op.not_found');
    await tenant.putSchema('b', [{name: 'n', field_type: 'number', required: true}]);
    const violation = {table: 'b', fields: {n: 'text'}};
    expectError(await tenant.request('POST', '/documents', violation), 400, 'op.schema_violation');
    expect(await counts()).toEqual({a: 15, b: 3});
  });

  test('a table without documents is there only if it has a schema', async () => {
    const [id] = await numbered('a', 1);
    await tenant.delete('a', id!);
    await tenant.putSchema('b', []);
    expect(await counts()).toEqual({b: 0});
  });

  test('is kept on disk: after a kill it is what it was', async () => {
    const ids = await numbered('a', 30);
    await Promise.all(ids.slice(0, 7).map(id => tenant.delete('a', id)));
    await service.killAll();
    await service.run();
    expect(await counts()).toEqual({a: 23});
    await verified();
  });

  test('a file from before counts were kept is counted once; writes go on meanwhile', async () => {
    const ids = await numbered('a', 2_500);
    await numbered('b', 3);
    await service.end('SIGTERM');
    const db = new Database(join(service.directoryOf(tenant.id)!, 'tenant.sqlite'));
    makeOlder(db, 3);
    db.close();
    await service.run();
    const writes = [...ids.slice(0, 200).map(id => tenant.delete('a', id)), numbered('a', 100), numbered('new', 2)];
    const [early] = await Promise.all([counts(), ...writes]);
    expect(early).toMatchObject({b: 3});
    expect(await counts()).toEqual({a: 2_400, b: 3, new: 2});
    await verified();
  });
});
