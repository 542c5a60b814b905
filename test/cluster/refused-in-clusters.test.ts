/** Operations that change a tenant beside its log are refused by a host of a cluster, and leave the tenant as it is. */
import {expect, test} from 'vitest';
import {hostsOfFile} from './harness/hosts-of-file.ts';

const cluster = await hostsOfFile({hosts: 2, natsServers: 1});
await cluster.tenant('acme');

test.each([
  ['a restore that replaces a tenant', 'POST', '/api/tenants/acme/restore?replace=true', undefined],
  ['a file that replaces a tenant', 'PUT', '/api/tenants/acme/file?replace=true', 'SQLite format 3\0'],
  ['an upgrade of all tenants', 'POST', '/api/upgrade', undefined],
])('%s is a 409 with one sentence', async (_, method, path, body) => {
  for (const {service} of cluster.hosts) {
    const {status, body: answer, text} = await service.request(method, path, body);
    expect([status, text]).toEqual([409, expect.stringContaining('op.conflict')]);
    expect((answer as {error: {message: string}}).error.message).toMatch(/^in a cluster [^.]+$/);
    expect(await service.get('/api/tenants/acme/schema')).toMatchObject({status: 200});
  }
  expect((await cluster.hosts[0]!.service.get('/api/tenants')).body).toMatchObject({tenants: ['acme']});
});

test('any host answers that a tenant is awake, whichever serves it', async () => {
  for (const {service} of cluster.hosts) {
    expect(await service.post('/api/tenants/acme/wake')).toMatchObject({status: 200});
  }
});
