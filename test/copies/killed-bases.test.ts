/**
 * A server that makes its first backup of tenants that sleep, and is killed in it again and again, with all its processes:
 * each tenant is in the repository in the end, as it is, and nothing is left behind.
 */
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, expect, test} from 'vitest';
import {restoreFile} from '../../copies/restore/restore-file.ts';
import {BASE_FILE, CONFIRMED_FILE, POSITION_FILE} from '../../engine/copies/spool-files.ts';
import {directoryIn} from '../harness/data-directory.ts';
import {rounds} from '../harness/nightly.ts';
import {seededRandom} from '../harness/random.ts';
import {testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {contentOf, TenantHistory} from './history.ts';

const TENANTS = 4;
const KILLS = rounds({commit: 4, nightly: 30});
/** After the start of the supervisor. A base of such a tenant is made within the first second. */
const KILLED_WITHIN_MS = 1_500;
const scratch = mkdtempSync(join(tmpdir(), 'svc-killed-bases-'));
afterAll(() => rmSync(scratch, {recursive: true}));

test('bases of sleeping tenants are made, whenever the server is killed', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  console.info(`seed ${seed}`);
  const random = seededRandom(seed);
  const repository = await testRepository(afterAll);
  const service = await Service.start();
  service.showLogOnFailure();
  try {
    const tenants: Tenant[] = [];
    for (let i = 0; i < TENANTS; i++) {
      const tenant = await Tenant.make(service);
      for (let n = 0; n < 20; n++) await tenant.insert('t', {n, text: 'x'.repeat(5_000)});
      tenants.push(tenant);
    }
    await service.end('SIGTERM');
    for (let kill = 0; kill < KILLS; kill++) {
      await service.run(repository.args);
      await delay(random() * KILLED_WITHIN_MS);
      await service.killAll();
    }
    await service.run(repository.args);
    await until('a whole backup', async () => (await service.request('POST', '/api/backup/run')).status === 200);
    for (const tenant of tenants) {
      const reader = await repository.open();
      const path = join(scratch, 'restored.sqlite');
      await restoreFile({repository: reader, tenant: tenant.id, target: 'newest', path, isKept: true});
      reader.close();
      const [content, history] = [contentOf(path), await TenantHistory.of(tenant)];
      rmSync(path);
      expect([content.sequence, history.differencesOf(content)]).toEqual([history.head, []]);
    }
    // Only an awake worker removes what is confirmed: of a base and a set that arrived after its last look, at its next wake.
    const kept = [POSITION_FILE, CONFIRMED_FILE, BASE_FILE];
    for (const {id} of tenants) {
      const spool = join(directoryIn(service.data, id)!, 'spool');
      await until('no set and no part to be left', () => readdirSync(spool).every(name => kept.includes(name)));
    }
  } finally {
    await service.killAll();
  }
}, 180_000);
