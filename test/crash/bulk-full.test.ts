/** Bulk work on a full disk: an import gets an error, tasks wait; with space both go on, and nothing is there twice or missing. */
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Task} from '../../shared/protocol/tasks.ts';
import {svc} from '../harness/command.ts';
import {checkChain, journalAfter} from '../harness/journal.ts';
import {firstOf} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {SmallDisk} from '../harness/small-disk.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const DOCUMENTS = 1_000;
const TEXT = 'x'.repeat(4_000);
const PUT_OFF = 'a task is put off';

const disk = new SmallDisk(96);

describe.skipIf(!disk.isMounted)('bulk work on a full disk', () => {
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

  const lines = Array.from({length: DOCUMENTS}, (_, n) => JSON.stringify({n, text: TEXT})).join('\n');
  const send = (query: string) =>
    tenant.request('POST', `/import?${query}`, lines, {'content-type': 'application/x-ndjson'});
  const documents = async (table: string) => {
    const {body} = await tenant.request('POST', '/query', {table, filters: [], limit: 2 * DOCUMENTS});
    return (body as {data: {n: number; count?: number}[]}).data;
  };
  const all = Array.from({length: DOCUMENTS}, (_, n) => n);
  /** Opened anew its log is empty, so that what a write takes is known. */
  const fill = async (leftBytes: number) => {
    await service.end('SIGTERM');
    await service.run();
    expect((await tenant.request('GET', '/schema')).status).toBe(200);
    disk.fill(leftBytes);
  };

  test('an import is 507 with how far it came, which is what is there; sent again it goes on behind that', async () => {
    service.showLogOnFailure();
    await fill(7 << 20);
    const refused = await send('table=in&import_id=a');
    const {lines: came} = (expectError(refused, 507, 'session.storage_full').detail as {import: {lines: number}})
      .import;
    expect(came).toBeGreaterThan(0);
    expect(came).toBeLessThan(DOCUMENTS);
    expect((await tenant.request('GET', '/import/a')).body).toMatchObject({import: {state: 'open', lines: came}});
    expect((await documents('in')).map(({n}) => n)).toEqual(all.slice(0, came));
    expectError(await send('table=in&import_id=a'), 507, 'session.storage_full');
    disk.makeSpace();
    expect((await send('table=in&import_id=a')).body).toMatchObject({lines: DOCUMENTS, inserted: DOCUMENTS});
    expect((await documents('in')).map(({n}) => n)).toEqual(all);
  });

  type Case = {what: string; ask: (table: string) => [method: string, path: string, body?: object]; left: object[]};
  test.each(
    firstOf<Case>(1, [
      {
        what: 'a patch',
        ask: table => [
          'POST',
          '/tasks',
          {type: 'patch', query: {table, filters: []}, patch: {more: TEXT}, increment: {count: 1}},
        ],
        left: all.map(n => ({n, count: 1, text: TEXT, more: TEXT})),
      },
      {what: 'a delete', ask: table => ['POST', '/tasks', {type: 'delete', query: {table, filters: []}}], left: []},
      {what: 'a drop', ask: table => ['DELETE', `/tables/${table}`], left: []},
    ]),
  )('$what waits, with what it has done on disk; with space it goes on to its end', async ({what, ask, left}) => {
    service.showLogOnFailure();
    const table = what.replace(' ', '_');
    expect((await send(`table=${table}`)).status).toBe(200);
    await fill(700 << 10);
    const said = service.log.split(PUT_OFF).length;
    const started = await tenant.request(...ask(table));
    expect([started.status, started.text]).toEqual([202, expect.any(String)]);
    const {id} = started.body as {id: string};
    const look = async () => ((await tenant.request('GET', `/tasks/${id}`)).body as {task: Task}).task;
    await until('it to be put off', () => service.log.split(PUT_OFF).length > said);
    const waiting = await look();
    expect(waiting).toMatchObject({state: 'running', failed: 0});
    expect(waiting.changed).toBeLessThan(DOCUMENTS);
    const there = await documents(table);
    if (what === 'a patch') expect(there.filter(({count}) => count === 1)).toHaveLength(waiting.changed);
    else expect(there).toHaveLength(DOCUMENTS - waiting.changed);
    const large = {table: 'large', fields: {text: 'x'.repeat(900_000)}};
    expectError(await tenant.request('POST', '/documents', large), 507, 'session.storage_full');

    disk.makeSpace();
    const ended = await until('it to end', async () => {
      const task = await look();
      return task.state === 'running' ? null : task;
    });
    expect(ended).toMatchObject({state: 'completed', changed: DOCUMENTS, failed: 0});
    expect(await documents(table)).toMatchObject(left);
  });

  test('of all this the journal and the files are whole', async () => {
    const {texts} = await journalAfter(tenant, 0);
    checkChain(texts);
    expect((await svc(['verify', '--data', service.data])).code).toBe(0);
  });
});
