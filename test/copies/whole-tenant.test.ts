/** Everything that a tenant can do is in page sets, and each of its commits has the next number. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {mergePageSets} from '../../engine/copies/merge.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {App} from '../functions/app.ts';
import {sharedService} from '../harness/shared-service.ts';
import {endedTask} from '../harness/tasks.ts';
import {Tenant} from '../harness/tenant.ts';
import {expectStatus, FUNCTIONS, filled, insertCity} from '../operations/samples/filled.ts';
import {QUICK_DISK} from './model.ts';
import {ownerIn, snapshotOf, TenantCapture} from './tenant-capture.ts';

const service = await sharedService();
const directory = mkdtempSync(join(tmpdir(), 'svc-test-tenant-copy-'));
afterAll(() => rmSync(directory, {recursive: true}));

/** Besides what `filled` does. */
const MORE: ((app: App) => Promise<unknown>)[] = [
  app =>
    expectStatus(app.admin('POST', '/import?table=cities', lines(600), {'content-type': 'application/x-ndjson'}), 200),
  app => index(app, 'cities', 'n'),
  app => expectStatus(app.admin('POST', '/documents', {table: 'big', fields: {text: 'x'.repeat(300_000)}}), 201),
  app => expectStatus(app.admin('POST', '/tables/big/rename', {to: 'large'}), 204),
  app => task(app, app.admin('DELETE', '/tables/large')),
  app => expectStatus(app.admin('POST', '/documents', {table: 'cities', fields: {}}), 400),
  app => expectStatus(app.admin('POST', '/documents', CITY, {'idempotency-key': 'one'}), 201),
  app => expectStatus(app.admin('POST', '/documents', CITY, {'idempotency-key': 'one'}), 201),
  app => task(app, app.admin('POST', '/tasks', {type: 'delete', query: {table: 'cities', filters: [N_LARGE]}})),
  app => app.deploy({'m.ts': FUNCTIONS['m.ts']}),
  app => expectStatus(app.admin('POST', '/services', SERVICE), 201),
  app => expectStatus(app.admin('DELETE', '/services/s'), 204),
  app => Promise.all(Array.from({length: 20}, () => insertCity(app))),
];
const SERVICE = {
  name: 's',
  source: {type: 'inline', code: 'export default async () => {};'},
  node_version: '22',
  autostart: false,
};
const CITY = {table: 'cities', fields: {name: 'Rome'}};
const N_LARGE = {field: 'n', op: 'gt', value: 100};

function lines(count: number): string {
  return Array.from({length: count}, (_, n) => JSON.stringify({name: `city ${n}`, n, text: 'y'.repeat(n % 500)})).join(
    '\n',
  );
}

async function index(app: App, table: string, field: string): Promise<void> {
  const fields = [{name: 'name', field_type: 'string', required: true}];
  const indexes = [{name: `by_${field}`, fields: [field]}];
  await expectStatus(app.admin('PUT', `/schema/${table}`, {table, fields, indexes}), 204);
}

async function task(app: App, started: Promise<{status: number; text: string; body: unknown}>): Promise<void> {
  const {status, text, body} = await started;
  expect({status, text}).toMatchObject({status: 202});
  const {id} = body as {id: string};
  expect(await endedTask(Tenant.of(service, app.tenant), id)).toMatchObject({state: 'completed'});
}

function merged(sets: readonly PageSet[]): PageSet {
  const sink = new MemorySink();
  mergePageSets(sets, sink);
  return new PageSet(sourceOf(sink.bytes));
}

test('a base and the sets after it, cut and merged in many ways, are the tenant', async () => {
  // The first code moves a tenant to another worker, which empties the log.
  const app = await App.deploy(service, FUNCTIONS);
  await insertCity(app);
  const path = join(service.directoryOf(app.tenant)!, 'tenant.sqlite');
  const capture = new TenantCapture(path);
  const copyPath = join(directory, 'copy.sqlite');
  const copy = CopyFile.create(copyPath, capture.sets.shift()!, QUICK_DISK);
  for (const [i, step] of [filled, ...MORE].entries()) {
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
