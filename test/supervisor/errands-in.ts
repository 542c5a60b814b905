/** Errands in real worker processes, without a supervisor. */
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {createLogger} from '../../shared/log.ts';
import {TenantFiles} from '../../supervisor/files/tenant-files.ts';
import {KillRate} from '../../supervisor/processes/kill-rate.ts';
import {type PoolSettings, WorkerPool} from '../../supervisor/processes/worker-pool.ts';
import {Errands, type ErrandsParts} from '../../supervisor/tenants/errands.ts';
import {TenantUsers} from '../../supervisor/tenants/tenant-users.ts';

const log = createLogger({process: 'test'});

/** @param data a directory of the test */
export function errandsIn(data: string, parts: Partial<ErrandsParts> = {}): Errands {
  const pool: PoolSettings = {
    executable: process.execPath,
    entry: fileURLToPath(new URL('../../dist/worker.js', import.meta.url)),
    env: {PATH: process.env.PATH ?? '', SVC_LOG_LEVEL: 'error'},
    codeEnv: {},
    confinement: [],
    groups: null,
    sparesWanted: 0,
    sparesRunCode: () => false,
    warmUpDirectory: () => join(data, 'warm-up'),
    rate: new KillRate(() => performance.now()),
    onKill: () => undefined,
    onUnended: () => undefined,
  };
  return new Errands({
    pool: new WorkerPool(pool, log),
    users: new TenantUsers(null, data, log),
    files: new TenantFiles(data),
    placement: {find: () => undefined, give: () => undefined, errandEnded: () => undefined},
    settings: {
      journalKeepRecords: 1_000,
      tenantStorageMax: 0,
      tenantServicesMemoryMb: 0,
      redactErrors: false,
      copies: null,
      routers: 1,
    },
    reservePath: join(data, 'reserve'),
    log,
    ...parts,
  });
}
