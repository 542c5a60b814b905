/** A whole tenant as one file: exported under writes, made a tenant again, and what is refused. */
import {copyFileSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

const at = (id: string): Tenant => Tenant.of(service, id);
const path = (name: string): string => join(service.data, `${name}.sqlite`);

async function command(...args: string[]): Promise<string> {
  const {code, stdout, stderr} = await svc(['tenant', ...args, '--url', service.url, '--data', service.data]);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** The digest that chains the journal up to its newest record. */
function headIn(file: string): {sequence: number; digest: string; timeline: string; check: string} {
  const db = new Database(file, {readonly: true});
  const head = db.prepare('SELECT sequence, digest FROM journal ORDER BY sequence DESC LIMIT 1').get() as object;
  const timeline = db.prepare("SELECT value FROM meta WHERE key = 'tenant_timeline'").pluck().get();
  const check = db.pragma('integrity_check', {simple: true});
  db.close();
  return {...head, timeline, check} as ReturnType<typeof headIn>;
}

test('an export under writes is one commit, and the tenant made of it has its documents, paused, on a new timeline', async () => {
  const tenant = await Tenant.make(service);
  const first = await tenant.insert('t', {n: 0});
  let isOver = false;
  let written = 1;
  const writing = (async () => {
    for (; !isOver; written++) await tenant.insert('t', {n: written});
  })();
  await until('some writes', () => written > 20);
  expect(await command('export', tenant.id, '-o', path('made'))).toContain(`exported ${tenant.id}`);
  isOver = true;
  await writing;
  const {check, ...head} = headIn(path('made'));
  expect(check).toBe('ok');
  expect(readdirSync(service.directoryOf(tenant.id)!)).not.toContain('tenant.copy');

  expect(await command('import', path('made'), '--as', 'copy')).toContain('it is paused and answers reads');
  const copy = at('copy');
  expect(await copy.get('t', first)).toMatchObject({n: 0});
  const {text, body} = await copy.request('GET', '/journal/bootstrap');
  expect(text).toContain(`"durable_head":${head.sequence}`);
  expect((body as {timeline: string}).timeline).not.toBe(head.timeline);
  expectError(await copy.request('POST', '/documents', {table: 't', fields: {}}), 409, 'session.tenant_read_only');
  expect((await copy.request('POST', '/resume')).status).toBe(200);
  expect(await copy.insert('t', {n: -1})).toBeTypeOf('string');
});

test('clones under writes are single commits with all that was acknowledged before, on timelines of their own', async () => {
  const tenant = await Tenant.make(service);
  let isOver = false;
  let written = 0;
  // So long that the log starts over several times.
  const filler = 'x'.repeat(100_000);
  const writing = (async () => {
    for (; !isOver; written++) await tenant.insert('t', {n: written, filler});
  })();
  const timelines = new Set<string>();
  for (let round = 0; round < rounds({commit: 2, nightly: 30}); round++) {
    const before = written;
    await until('some writes', () => written > before + 25);
    const [acknowledged, id] = [written, `clone-${round}`];
    expect((await tenant.request('POST', `/clone?as=${id}`)).status).toBe(201);
    // It sleeps. The copy is opened without a log.
    copyFileSync(join(service.directoryOf(id)!, 'tenant.sqlite'), path(id));
    const {sequence, timeline, check} = headIn(path(id));
    expect(check).toBe('ok');
    expect(sequence).toBeGreaterThanOrEqual(acknowledged);
    const {body} = await at(id).request('POST', '/query/count', {table: 't', filters: []});
    expect(body).toMatchObject({count: sequence});
    timelines.add(timeline);
    expect(timelines.size).toBe(round + 1);
  }
  expect(await command('clone', tenant.id, 'clone-live', '--live')).toContain(`cloned ${tenant.id} as clone-live`);
  isOver = true;
  await writing;
  expect(await at('clone-live').insert('t', {})).toBeTypeOf('string');
  const refused = await at('clone-1').request('POST', '/documents', {table: 't', fields: {}});
  expectError(refused, 409, 'session.tenant_read_only');
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
});

test('a clone needs a free name and a tenant that is served, and leaves nothing when it is refused', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  const clone = (id: string, query: string) => service.request('POST', `/api/tenants/${id}/clone?${query}`);
  expectError(await clone(tenant.id, ''), 400, 'op.invalid_input');
  expectError(await clone(tenant.id, `as=${tenant.id}`), 409, 'session.tenant_exists');
  expectError(await clone('none', 'as=other'), 404, 'session.tenant_not_found');
  expect((await tenant.request('POST', '/pause')).status).toBe(200);
  expectError(await clone(tenant.id, 'as=other'), 503, 'session.tenant_paused');
  expect((await tenant.request('POST', '/pause?serve=reads')).status).toBe(200);
  expect((await clone(tenant.id, 'as=other&live=true')).status).toBe(201);
  expect(await at('other').insert('t', {})).toBeTypeOf('string');
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
});

test('a replaced tenant is kept in set-aside, also by a server that was killed afterwards; jobs of a live copy run', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  const mutation = {type: 'insert', table: 'done', fields: {}};
  await tenant.request('POST', '/schedule', {run_after_ms: 1_000, mutation});
  await command('export', tenant.id, '-o', path('before'));
  await tenant.insert('t', {n: 2});
  await until('the job', async () => (await tenant.list('done')).length === 1);
  await command('import', path('before'), '--as', tenant.id, '--replace', '--live');
  await service.killAll();
  await service.run();
  expect((await tenant.list('t')).map(({n}) => n)).toEqual([1]);
  await until('the job again', async () => (await tenant.list('done')).length === 1);
  expect(readdirSync(join(service.data, 'set-aside')).join()).toMatch(new RegExp(`restored-\\d+-t_${tenant.id}_`));
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
});

test('a tenant that is being replaced is refused with 503, by a new router too, and comes back', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: 1});
  await command('export', tenant.id, '-o', path('first'));
  await tenant.insert('t', {n: 2});
  const worker = await service.workerOf(tenant.id);
  process.kill(worker, 'SIGSTOP'); // it cannot end, so the replacement waits for it
  const file = readFileSync(path('first'));
  // Its answer is lost with the router.
  const replaced = service.request('PUT', `/api/tenants/${tenant.id}/file?replace=true&live=true`, file).catch(Error);
  const refused = () => tenant.request('GET', '/status');
  await until('the tenant to be away', async () => (await refused()).status !== 200);
  expectError(await refused(), 503, 'session.worker_unavailable');
  expect((await refused()).headers['retry-after']).toBe('1');
  expectError(await tenant.request('POST', '/documents', {table: 't', fields: {}}), 503, 'session.worker_unavailable');
  expectError(await service.request('DELETE', `/api/tenants/${tenant.id}`), 503, 'session.worker_unavailable');
  process.kill(service.children('router')[0]!, 'SIGKILL');
  await until('another router', () => refused().catch(() => null));
  expectError(await refused(), 503, 'session.worker_unavailable');
  process.kill(worker, 'SIGCONT');
  await replaced;
  await until('the tenant to be back', async () => (await refused()).status === 200);
  expect((await tenant.list('t')).map(({n}) => n)).toEqual([1]);
});

test('under constant writes, pauses lose nothing that was acknowledged, and a replacement is never 404', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {n: -1});
  await command('export', tenant.id, '-o', path('begin'));
  const statuses = new Set<number>();
  let acknowledged: number[] = [];
  let isOver = false;
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      const {status} = await tenant.request('POST', '/documents', {table: 't', fields: {n}});
      statuses.add(status);
      if (status === 201) acknowledged.push(n);
    }
  })();
  const moreWrites = (count: number) => {
    const before = acknowledged.length;
    return until('more writes', () => acknowledged.length >= before + count);
  };
  const numbers = async () => new Set((await tenant.list('t')).map(({n}) => n));
  for (const serve of ['nothing', 'reads']) {
    await moreWrites(10);
    expect((await tenant.request('POST', `/pause?serve=${serve}`)).status).toBe(200);
    expect((await tenant.request('POST', '/resume')).status).toBe(200);
  }
  await moreWrites(10);
  const beforeReplacement = [...acknowledged];
  const found = await numbers();
  expect(beforeReplacement.filter(n => !found.has(n))).toEqual([]);
  await command('import', path('begin'), '--as', tenant.id, '--replace', '--live');
  acknowledged = [];
  await moreWrites(10);
  isOver = true;
  await writing;
  const after = await numbers();
  expect(after.has(-1)).toBe(true);
  expect(acknowledged.filter(n => !after.has(n))).toEqual([]);
  expect(after.has(beforeReplacement[0]!)).toBe(false);
  expect([...statuses].filter(status => ![201, 409, 503].includes(status))).toEqual([]);
});

test('what is no file of a tenant, is damaged, or is in the way is refused, and nothing is left', async () => {
  const tenant = await Tenant.make(service);
  await tenant.insert('t', {});
  await command('export', tenant.id, '-o', path('sound'));
  const put = (id: string, body: string | Buffer, query = '') =>
    service.request('PUT', `/api/tenants/${id}/file${query}`, body);
  expectError(await put('new', 'no file'), 400, 'op.invalid_input');
  expectError(await put(tenant.id, 'no file'), 409, 'session.tenant_exists');
  expectError(await put('new', 'no file', '?replace=true'), 404, 'session.tenant_not_found');
  expectError(await put('new', 'no file', '?live=yes'), 400, 'op.invalid_input');
  const db = new Database(path('sound'));
  db.exec("UPDATE journal SET record = replace(record, 'insert', 'delete')");
  db.close();
  const {code, stderr} = await svc([
    ...['tenant', 'import', path('sound'), '--as', 'new', '--url', service.url, '--data', service.data],
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/the file is damaged: journal: record 1 does not fit its digest/);
  expect(service.directoryOf('new')).toBeNull();
  expect(readdirSync(join(service.data, 'incoming'))).toEqual([]);
  writeFileSync(path('none'), '');
  expect((await svc(['tenant', 'import', path('none'), '--as', 'new', '--url', service.url])).code).toBe(1);
});
