import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
let tenant: Tenant;
beforeEach(async () => {
  service = await Service.start();
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});
afterEach(() => service.stop());

/** Changes the file while nobody has it open. */
async function tamper(sql: string): Promise<void> {
  await service.end('SIGTERM');
  const db = new Database(join(service.directoryOf(tenant.id)!, 'tenant.sqlite'));
  db.exec(sql);
  db.close();
  await service.run();
}

describe('a failed assertion ends the process, which starts again from disk', () => {
  test('inside a write: its outcome is unknown, and what was acknowledged is there', async () => {
    const kept = await tenant.insert('t', {n: 1});
    await tenant.insert('other', {n: 1});
    // The table has given all its numbers: the next insert finds that out in the middle of its group.
    await tamper("UPDATE tables SET last_n = 137438953471 WHERE name = 't'");
    await tenant.insert('other', {n: 2});
    const worker = await service.workerOf(tenant.id);
    const refused = await tenant.request('POST', '/documents', {table: 't', fields: {n: 2}});
    expectError(refused, 503, 'session.outcome_unknown');
    await until('the failure in the log', () => service.log.includes('out of document numbers'));
    expect(await until('documents again', async () => await tenant.get('t', kept))).toMatchObject({n: 1});
    expect(await service.workerOf(tenant.id)).not.toBe(worker);
    await tenant.insert('other', {n: 3});
    expect((await tenant.list('other')).map(({n}) => n)).toEqual([1, 2, 3]);
  });
});
