/** Three real hosts with `--ack local`: what a lost host costs, and what it brings back. */
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {until} from '../harness/until.ts';
import {hostsOfFile} from './harness/hosts-of-file.ts';
import type {SvcHost} from './harness/svc-hosts.ts';

const TIMEOUT_MS = 180_000;

const cluster = await hostsOfFile({args: ['--ack', 'local', '--replication-lag-max', '1h', '--lease', '10s']});

const write = (host: SvcHost, tenant: string, n: number) =>
  host.service.post(`/api/tenants/${tenant}/documents`, {table: 'things', fields: {n}});

async function numbersOn({service}: SvcHost, tenant: string): Promise<number[] | null> {
  const {status, body} = await service.post(`/api/tenants/${tenant}/query`, {
    table: 'things',
    filters: [],
    limit: 1000,
  });
  return status === 200 ? (body as {data: {n: number}[]}).data.map(({n}) => n).sort((a, b) => a - b) : null;
}

/** Of the tenant's journal, as its pages name it. */
async function timelineOn({service}: SvcHost, tenant: string): Promise<string> {
  const {status, body, text} = await service.get(`/api/tenants/${tenant}/journal`);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (body as {timeline: string}).timeline;
}

async function lagOf({service}: SvcHost): Promise<number> {
  const {text} = await service.get('/metrics');
  return Number(/^svc_cluster_lag_seconds (.*)$/m.exec(text)?.[1]);
}

/** Numbers of the documents in files that were set aside on a host. */
function asideOn({service}: SvcHost): number[] {
  const entries = readdirSync(service.data, {recursive: true, encoding: 'utf8'});
  const files = entries.filter(path => /\/diverged-\d+\/tenant\.sqlite$/.test(path));
  return files.flatMap(path => {
    const db = new Database(join(service.data, path), {readonly: true});
    try {
      const bodies = db.prepare<[], string>('SELECT body FROM documents').pluck().all();
      return bodies.map(body => (JSON.parse(body) as {n: number}).n);
    } finally {
      db.close();
    }
  });
}

test('a worker that is killed loses nothing: its host appends what the log lacks', {timeout: TIMEOUT_MS}, async () => {
  const id = await cluster.tenant('kept');
  await until('the first write', async () => (await write(cluster.hosts[0]!, id, 0)).status === 201);
  const owner = await cluster.ownerOf(id);
  const timeline = await timelineOn(owner, id);
  for (const link of owner.natsLinks) link.stall();
  for (let n = 1; n <= 3; n++) expect((await write(owner, id, n)).status).toBe(201);
  expect(await lagOf(owner)).toBeGreaterThan(0);
  process.kill(await owner.service.workerOf(id), 'SIGKILL');
  for (const link of owner.natsLinks) link.heal();
  const other = cluster.hosts.find(host => host !== owner)!;
  await until('all of them', async () => (await numbersOn(other, id))?.length === 4);
  await until('no lag', async () => (await lagOf(owner)) === 0);
  expect(await timelineOn(other, id)).toBe(timeline);
  await owner.service.post('/api/cluster/move', {tenant: id, host: other.name});
  expect(await timelineOn(owner, id)).toBe(timeline);
});

test('a host that is lost costs what had not followed, and sets it aside', {timeout: TIMEOUT_MS}, async () => {
  const id = await cluster.tenant('taken');
  await until('the first write', async () => (await write(cluster.hosts[0]!, id, 0)).status === 201);
  const owner = await cluster.ownerOf(id);
  const other = cluster.hosts.find(host => host !== owner)!;
  await until('the log to have it', async () => (await lagOf(owner)) === 0);
  const timeline = await timelineOn(owner, id);
  for (const link of owner.natsLinks) link.stall();
  expect((await write(owner, id, 1)).status).toBe(201);
  const seen = (await owner.service.get(`/api/tenants/${id}/journal`)).body as {next_cursor: number};
  await owner.service.killAll();
  await until('another host to serve it', async () => (await write(other, id, 2)).status === 201);
  // Its sequences are others' now, so one who has read the lost write must not go on from it.
  const after = `/api/tenants/${id}/journal?after=${seen.next_cursor}&timeline=${timeline}`;
  expect(await other.service.get(after)).toMatchObject({
    status: 410,
    body: {error: {code: 'journal.cursor_expired', detail: {timeline: expect.not.stringContaining(timeline)}}},
  });
  const next = await timelineOn(other, id);
  expect(await numbersOn(other, id)).toEqual([0, 2]);
  for (const link of owner.natsLinks) link.heal();
  await owner.service.run();
  await until('the tail to be set aside', () => asideOn(owner).includes(1));
  const {service} = owner;
  const listed = await svc(['cluster', 'diverged', '--data', service.data, '--json', '--writes']);
  const [aside, ...records] = listed.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>);
  expect(aside).toMatchObject({tenant: id, why: 'diverged', documents: 2, finding: null});
  expect(records.map(record => JSON.stringify(record))).toContainEqual(expect.stringContaining('"n":1'));
  await until('the same documents', async () => (await numbersOn(owner, id))?.join() === '0,2');
  await owner.service.post('/api/cluster/move', {tenant: id, host: owner.name});
  expect(await timelineOn(owner, id)).toBe(next);
});
