/** Everything that a tenant can do is in page sets, and each of its commits has the next number. */
import {existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {App} from '../functions/app.ts';
import {nightly} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectStatus, FUNCTIONS, insertCity} from '../operations/samples/filled.ts';
import {EVERYTHING} from './everything.ts';
import {QUICK_DISK} from './model.ts';
import {merged} from './receiver.ts';
import {ownerIn, snapshotOf, TenantCapture} from './tenant-capture.ts';

const service = await sharedService();
const directory = mkdtempSync(join(tmpdir(), 'svc-test-tenant-copy-'));
afterAll(() => rmSync(directory, {recursive: true}));

nightly.test('a base and the sets after it, cut and merged in many ways, are the tenant', async () => {
  // The first code moves a tenant to another worker, which empties the log.
  const app = await App.deploy(service, FUNCTIONS);
  await insertCity(app);
  const path = join(service.directoryOf(app.tenant)!, 'tenant.sqlite');
  const capture = new TenantCapture(path);
  const copyPath = join(directory, 'copy.sqlite');
  const copy = CopyFile.create(copyPath, capture.sets.shift()!, QUICK_DISK);
  for (const [i, step] of EVERYTHING.entries()) {
    await step(app);
    // Crons go on running meanwhile, so the file is compared with one of its snapshots.
    const snapshot = snapshotOf(path);
    while (!capture.takeTo(snapshot.commit, 1 + ((7 * i + capture.sets.length) % 5)));
    while (capture.sets.length > 0) copy.apply(merged(capture.sets.splice(0, 1 + (capture.sets.length % 4))));
    copy.verify();
    expect(snapshotOf(copyPath)).toEqual(snapshot);
  }
  copy.close();
  capture.close();
  const owner = ownerIn(path);
  expect(owner.tenant).toBe(app.tenant);
  expect(verifyFile(copyPath, owner).findings).toEqual([]);
});

test('numbers go on after the tenant has slept: the close has one, and the next write', async () => {
  const app = await App.empty(service);
  await insertCity(app);
  const path = join(service.directoryOf(app.tenant)!, 'tenant.sqlite');
  const {commit} = snapshotOf(path);
  await expectStatus(app.admin('POST', '/sleep'), 200);
  expect(snapshotOf(path).commit).toBe(commit + 1);
  await insertCity(app);
  expect(snapshotOf(path).commit).toBe(commit + 2);
});

test('without a repository a tenant has no spool, and its worker no thread for copies', async () => {
  const app = await App.empty(service);
  await insertCity(app);
  expect(existsSync(join(service.directoryOf(app.tenant)!, 'spool'))).toBe(false);
  const worker = await service.workerOf(app.tenant);
  expect(readdirSync(`/proc/${worker}/fd`).filter(fd => linkIn(worker, fd).endsWith('tenant.sqlite'))).toHaveLength(2);
});

/** What the descriptor of the process is. */
function linkIn(pid: number, fd: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return ''; // closed meanwhile
  }
}
