import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {Service} from '../harness/service.ts';
import {SmallDisk} from '../harness/small-disk.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const disk = new SmallDisk(64);

describe.skipIf(!disk.isMounted)('background work on a full disk', () => {
  let service: Service;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await Service.start({data: join(disk.path, 'data')});
    tenant = await Tenant.make(service);
  });
  afterAll(async () => {
    disk.makeSpace();
    await service.stop();
    disk.remove();
  });

  test('an index that is being built then waits for space: the worker stays, reads go on', async () => {
    service.showLogOnFailure();
    await tenant.insertAll(
      't',
      Array.from({length: 2_000}, (_, n) => ({n, text: `${n}`.padStart(2_000, 'x')})),
    );
    // Opened anew its log is empty, so that what a write takes is known.
    await service.end('SIGTERM');
    await service.run();
    expect((await tenant.request('GET', '/schema')).status).toBe(200);
    const worker = await service.workerOf(tenant.id);
    disk.fill(600 << 10); // enough for the schema, not for 4 MB of entries
    await tenant.putSchema('t', [], [{name: 'by_text', fields: ['text']}]);
    await until('the build to be put off', () => service.log.includes('the build or removal of an index is put off'));

    const large = {table: 'large', fields: {text: 'x'.repeat(900_000)}};
    expectError(await tenant.request('POST', '/documents', large), 507, 'session.storage_full');
    const building = await tenant.request('GET', '/schema/t');
    expect({status: building.status, text: building.text}).toEqual({
      status: 200,
      text: expect.stringContaining('"state":"building"'),
    });
    const first = {table: 't', filters: [{field: 'n', op: 'eq', value: 0}]};
    expect(await tenant.query(first)).toHaveLength(1);
    expect(service.log.split('the build or removal of an index is put off')).toHaveLength(2); // said once

    disk.makeSpace();
    await until('the index to be enabled', async () =>
      (await tenant.request('GET', '/schema/t')).text.includes('"state":"enabled"'),
    );
    const byText = {table: 't', filters: [{field: 'text', op: 'eq', value: '7'.padStart(2_000, 'x')}]};
    expect((await tenant.query(byText)).map(({n}) => n)).toEqual([7]);
    expect(await service.workerOf(tenant.id)).toBe(worker);
    expect((await svc(['verify', '--data', service.data])).code).toBe(0);
  });
});
