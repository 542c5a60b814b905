/** What a host makes of the tenants that its cluster has, on a real directory. */
import {mkdirSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {createLogger} from '../../shared/log.ts';
import {Registry} from '../../supervisor/files/registry.ts';
import {realSteps, TenantFiles} from '../../supervisor/files/tenant-files.ts';
import {type PlacedTenant, TenantEntry} from '../../supervisor/tenants/tenant-entry.ts';
import {Tenants} from '../../supervisor/tenants/tenants.ts';

const log = createLogger({}, {level: 'error', write: () => undefined});

/** A host without workers. */
function host(): {tenants: Tenants; directories: () => string[]} {
  const data = mkdtempSync(join(tmpdir(), 'svc-test-'));
  const path = join(data, 'tenants');
  mkdirSync(path);
  const registry = new Registry(join(data, 'registry.sqlite'));
  onTestFinished(() => {
    registry.close();
    rmSync(data, {recursive: true});
  });
  const places = new Map<string, PlacedTenant>();
  const tenants = new Tenants({
    cluster: null,
    registry,
    files: new TenantFiles(path, realSteps),
    placement: {
      add: tenant => void places.set(tenant.id, tenant),
      delete: async id => places.get(id)!,
      forget: id => void places.delete(id),
      ids: () => [...places.keys()],
      has: id => places.has(id),
      isServed: id => places.has(id),
      find: id => {
        const place = places.get(id);
        return place === undefined ? undefined : new TenantEntry(place, {isMarkedAwake: false, isToOpen: false});
      },
      resumed: () => undefined,
      size: 0,
    },
    tellRouters: () => Promise.resolve(),
    now: () => 5,
    log,
  });
  return {tenants, directories: () => readdirSync(path)};
}

const acme = (generation: number) => ({tenant: 'acme', generation, createdMs: 5});

test.each([
  ['of this generation', 3],
  ['of a later generation, which this host has never had', 4],
])('a tenant is removed when the one %s was deleted', async (_, generation) => {
  const {tenants, directories} = host();
  await tenants.takeIn(acme(3));
  await tenants.leaveCluster('acme', generation);
  expect([tenants.ids(), directories()]).toEqual([[], []]);
});

test('a tenant that was made again stays when the one before is reported as deleted', async () => {
  const {tenants, directories} = host();
  await tenants.takeIn(acme(4));
  await tenants.leaveCluster('acme', 3);
  await tenants.takeIn(acme(3));
  expect(tenants.ids()).toEqual(['acme']);
  expect(directories()).toHaveLength(1);
});
