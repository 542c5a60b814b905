/** The limits of a tenant, and how much of them it uses. */
import {expect, test} from 'vitest';
import {CRONS_MAX, TABLES_MAX} from '../../engine/limits.ts';
import {DOCUMENT_BYTES_MAX} from '../../shared/limits.ts';
import type {TenantLimit} from '../../shared/protocol/limits.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';

const INSERT = {type: 'insert', table: 't', fields: {}};
const service = await sharedService();

test('limits that fill up have their use, which grows with the tenant', async () => {
  const tenant = await Tenant.make(service);
  const limits = async () => {
    const {body} = await tenant.request('GET', '/limits');
    const all = (body as {limits: TenantLimit[]}).limits;
    return (name: string) => all.find(limit => limit.name === name)!;
  };
  const before = await limits();
  await tenant.insert('t', {});
  const cron = {name: 'c', schedule: {type: 'cron', expression: '30 2 * * *'}, mutation: INSERT};
  expect(await tenant.request('POST', '/crons', cron)).toMatchObject({status: 201});
  const job = {run_after_ms: 3_600_000, mutation: INSERT};
  const {status, text} = await tenant.request('POST', '/schedule', job);
  expect([status, text]).toEqual([201, expect.any(String)]);
  const after = await limits();
  expect(after('crons')).toMatchObject({limit: CRONS_MAX, used: 1, unit: 'count'});
  expect(after('tables')).toMatchObject({limit: TABLES_MAX, used: 1});
  expect(after('jobs').used).toBe(1);
  expect(after('document')).toMatchObject({limit: DOCUMENT_BYTES_MAX, used: null, unit: 'bytes'});
  expect(after('stored').used).toBeGreaterThan(0);
  expect(after('journal_records').used).toBeGreaterThan(before('journal_records').used!);
});
