/** Uploads that are large, or that want to be: they are looked at in a process of their own, and the tenant goes on. */
import {readFileSync} from 'node:fs';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {ANALYSIS_DATA_BYTES_MAX} from '../../../worker/runtime/limits.ts';
import {nightly, rounds} from '../../harness/nightly.ts';
import {Service} from '../../harness/service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {EMPTY_UPLOAD, errorsOf, SERVER, TenantDeployments, uploadOf} from './tenant-deployments.ts';

const DEPLOYS = rounds({commit: 2, nightly: 10});

/** A harmless module of so many bytes, different from any other. */
function moduleOf(bytes: number, mark: string): string {
  const lines: string[] = [];
  for (let i = 0, size = 0; size < bytes; i++) {
    const line = `export function f${i}(a, b) { return [a, b, '${mark}', ${i}].map(x => String(x)).join('-'); }`;
    lines.push(line);
    size += line.length + 1;
  }
  return lines.join('\n');
}

const uploadWith = (source: string) => ({
  ...EMPTY_UPLOAD,
  files: [{path: 'm.js', source, sourceMap: null}],
  modules: ['m'],
  modifiedMs: 1,
});

describe('in a running service', () => {
  let service: Service;
  let app: App;
  beforeAll(async () => {
    service = await Service.start();
    app = await App.empty(service);
  });
  afterAll(() => service.stop());

  test('deploys of 5 MB, one after another, while the tenant serves, never end its worker', async () => {
    // The first deploy brings the tenant to a worker that runs code.
    await app.deploy({'none.ts': 'export {};'});
    await app.admin('POST', '/documents', {table: 'items', fields: {n: 1}});
    const worker = await service.workerOf(app.tenant);
    let isDeploying = true;
    const serving = (async () => {
      let reads = 0;
      for (; isDeploying; reads++) expect((await app.admin('GET', '/documents/items')).status).toBe(200);
      return reads;
    })();
    for (let n = 0; n < DEPLOYS; n++) {
      const {status, text} = await app.admin('POST', '/deployments', uploadWith(moduleOf(5e6, `deploy ${n}`)));
      expect([status, status === 201 ? '' : text]).toEqual([201, '']);
    }
    isDeploying = false;
    expect(await serving).toBeGreaterThan(DEPLOYS);
    expect(await service.workerOf(app.tenant)).toBe(worker);
  }, 300_000);

  test('code that ends the JavaScript engine is refused, and ends nothing else', async () => {
    const worker = await service.workerOf(app.tenant);
    const {status, text} = await app.admin('POST', '/deployments', uploadWith("'x'.repeat(2 ** 29 - 25).split('')"));
    expect(status).toBe(400);
    expect(text).toMatch(/ended the JavaScript engine|ran out of memory/);
    expect(await service.workerOf(app.tenant)).toBe(worker);
  });

  nightly.test('modules that say more of themselves than fits are refused, and end nothing', async () => {
    await app.admin('GET', '/documents/items');
    const worker = await service.workerOf(app.tenant);
    const source = `export const f = Object.assign(() => null, {isSvcFunction: true, kind: 'query', visibility: 'public',
      exportArgs: () => '{"type":"any"}', exportReturns: () => JSON.stringify({type: 'literal', value: 'x'.repeat(7e7)})});`;
    const {status, text} = await app.admin('POST', '/deployments', uploadWith(source));
    expect([status, text]).toEqual([400, expect.stringContaining('take more than 64 MiB as JSON')]);
    expect(await service.workerOf(app.tenant)).toBe(worker);
    await until('the end of the process', () => childrenOf(worker).length === 0);
  });

  test('the process that looks at an upload has nothing of its worker in its environment, a limit of its own, and is the first to go', async () => {
    const worker = await service.workerOf(app.tenant);
    const deploying = app.admin('POST', '/deployments', uploadWith('for (;;);'));
    const child = await until('the process of the analysis', () => childrenOf(worker)[0]);
    // Between fork and exec there is a moment in which it shows none at all.
    const environment = await until('its environment', () => readFileSync(`/proc/${child}/environ`, 'latin1'));
    expect(environment).toBe('TZ=UTC\0');
    // Also in a worker that has a limit itself, as where the layer `limits` stands.
    const limit = new RegExp(`^Max data size +${ANALYSIS_DATA_BYTES_MAX} +${ANALYSIS_DATA_BYTES_MAX} `, 'm');
    await until('its limit', () => limit.test(readFileSync(`/proc/${child}/limits`, 'latin1')));
    await until('its wish to go first', () => readFileSync(`/proc/${child}/oom_score_adj`, 'latin1').trim() === '1000');
    process.kill(Number(child), 'SIGKILL');
    expect((await deploying).status).toBe(503);
    await until('its end', () => childrenOf(worker).length === 0);
  });

  nightly.test('code that loads without end is refused, and its process ended', async () => {
    const worker = await service.workerOf(app.tenant);
    const {status, text} = await app.admin('POST', '/deployments', uploadWith('for (;;);'));
    expect([status, text]).toEqual([400, expect.stringContaining('Loading the module took longer than 4 seconds')]);
    await until('its end', () => childrenOf(worker).length === 0);
  });
});

/** Processes that look at an upload for this worker. */
function childrenOf(pid: number): string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean);
  return children.filter(child => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'latin1').includes('analysis.js');
    } catch {
      return false; // it has ended
    }
  });
}

describe('bounds of the analysis', () => {
  test('its time: what takes longer is refused', async () => {
    const tenant = new TenantDeployments();
    tenant.analysis = {msMax: 1_500};
    expect(await errorsOf(tenant.upload(uploadWith('for (;;);')))).toMatchObject([
      {message: 'Loading all modules took longer than 1.5 seconds'},
    ]);
    expect(tenant.list()).toEqual([]);
  });

  test('its memory: what takes more is refused', async () => {
    const tenant = new TenantDeployments();
    tenant.analysis = {processBytesMax: 80e6};
    const source = 'const all = []; for (;;) all.push(new Array(1e5).fill(1.5));';
    expect(await errorsOf(tenant.upload(uploadWith(source)))).toMatchObject([
      {message: 'JavaScript execution ran out of memory while the modules were loaded'},
    ]);
  });

  test('what it allocates between two checks of its memory: the kernel refuses more', async () => {
    const tenant = new TenantDeployments();
    tenant.analysis = {processBytesMax: Number.POSITIVE_INFINITY, dataBytesMax: 300e6};
    const source = 'const all = []; for (;;) all.push(new Uint8Array(1e6));';
    expect(await errorsOf(tenant.upload(uploadWith(source)))).toMatchObject([
      {message: expect.stringContaining('ran out of memory')},
    ]);
  });
});

describe('code is stored before the deploy is decided', () => {
  const schema = (validator: string) => ({
    'schema.ts': `${SERVER} export default defineSchema({things: defineTable({n: ${validator}})});`,
    'm.ts': `${SERVER} export const f = query(() => ${JSON.stringify(validator)});`,
  });

  test('and taken away when it is refused after all', async () => {
    const tenant = new TenantDeployments();
    await tenant.insert('things', {n: 'text'});
    await tenant.deploy(schema('v.string()'));
    const code = tenant.count('SELECT count(*) FROM code');
    await errorsOf(tenant.deploy(schema('v.number()')));
    await until('the code to be taken away', () => tenant.count('SELECT count(*) FROM code') === code);
    expect(tenant.list()).toHaveLength(1);
  });

  test('and taken away by the next deploy when a process ended in between', async () => {
    const tenant = new TenantDeployments();
    await tenant.groups.perform(({statements}) => statements.insertCode.run('0'.repeat(64), 'left behind', null));
    await tenant.deploy({'m.ts': `${SERVER} export const f = query(() => 1);`});
    const left = `SELECT count(*) FROM code WHERE sha256 = '${'0'.repeat(64)}'`;
    await until('it to be taken away', () => tenant.count(left) === 0);
  });

  test('in slices, each file whole', async () => {
    const tenant = new TenantDeployments();
    const big = (mark: string) => `/* ${mark.repeat(400_000)} */ export const text = '${mark}ö😀';`;
    const upload = await uploadOf({'m.ts': `${SERVER} export const f = query(() => 1);`});
    const more = ['a', 'b', 'c'].map(mark => ({
      path: `${mark}.js`,
      source: big(mark),
      sourceMap: `{"map of":"${mark}ü"}`,
    }));
    await tenant.upload({...upload, files: [...upload.files, ...more]});
    const {active} = tenant.deployments;
    for (const {path, sourceMap} of more) expect(tenant.deployments.sourceMap(active!, path)).toBe(sourceMap);
    for (const {source} of more) {
      expect(tenant.count(`SELECT count(*) FROM code WHERE source = '${source.replaceAll("'", "''")}'`)).toBe(1);
    }
  });
});
