import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {svc} from '../harness/command.ts';
import {firstOf} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const DOCUMENTS = 60;

let service: Service;
let tenant: Tenant;
beforeAll(async () => {
  service = await Service.start();
  tenant = await Tenant.make(service);
  await tenant.putSchema('t', [], [{name: 'by_n', fields: ['n']}]);
  await tenant.insertAll(
    't',
    Array.from({length: DOCUMENTS}, (_, n) => ({n})),
  );
  await service.end('SIGTERM');
});
afterAll(() => service.stop());
beforeEach(() => service.showLogOnFailure());

function open(readonly: boolean): Database.Database {
  return new Database(join(service.directoryOf(tenant.id)!, 'tenant.sqlite'), {readonly});
}

/** Of the stopped tenant. */
function change(sql: string): void {
  const db = open(false);
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
}

function value(sql: string): unknown {
  const db = open(true);
  const found = db.prepare(sql).pluck().get();
  db.close();
  return found;
}

const byIndex = (n: number) => tenant.query({table: 't', filters: [{field: 'n', op: 'eq', value: n}]});

describe('an index that does not agree with its documents', () => {
  const ONE = '(SELECT max(doc) FROM documents)';
  const damages: [string, string][] = [
    ['an entry that is gone', `DELETE FROM index_entries WHERE doc = ${ONE}`],
    ['an entry with another key', `UPDATE index_entries SET key = x'0011' WHERE doc = ${ONE}`],
    ['an entry too many', `INSERT INTO index_entries SELECT index_number, x'00', doc FROM index_entries LIMIT 1`],
    [
      'an entry of no document',
      'UPDATE index_entries SET doc = doc + 500 WHERE doc = (SELECT min(doc) FROM documents)',
    ],
  ];
  test.each(firstOf(2, damages))('(%s) is made again from them, before anybody is answered from it', async (_, sql) => {
    change(sql);
    await service.run();
    for (const n of [0, DOCUMENTS - 1]) expect((await byIndex(n)).map(doc => doc.n)).toEqual([n]);
    await until('the error line', () => service.log.includes('"check":"entry"'));
    const {text} = await service.get('/metrics');
    expect(text).toMatch(/svc_scrub_findings [1-9]/);
    await until('the index to be filled', () => value("SELECT count(*) FROM indexes WHERE state = 'enabled'") === 1);
    await service.end('SIGTERM');
    expect((await svc(['verify', '--data', service.data])).code).toBe(0);
  });
});

describe('a pass', () => {
  test('is remembered over sleep, with its age as a metric', async () => {
    await service.run();
    await tenant.list('t');
    const metrics = async () => (await service.get('/metrics')).text;
    const records = async () =>
      Number(/svc_scrub_checked_total\{kind="journal"\} (\d+)/.exec(await metrics())?.[1] ?? 0);
    await until('a pass', async () => (await records()) >= DOCUMENTS);
    expect(Number(/^svc_scrub_age_seconds (\S+)$/m.exec(await metrics())![1])).toBeLessThan(3_600);
    expect(await metrics()).toMatch(/svc_scrub_checked_total\{kind="documents"\} \d/);
    await service.end('SIGTERM');
    const remembered = JSON.parse(String(value("SELECT value FROM meta WHERE key = 'scrub'"))) as object;
    expect(remembered).toMatchObject({sinceMs: expect.any(Number), completedMs: expect.any(Number)});
  });

  test('gives checksums to documents that were written before there were any', async () => {
    change('UPDATE documents SET checksum = NULL');
    await service.run();
    expect(await tenant.list('t')).toHaveLength(DOCUMENTS);
    await until('the checksums', () => value('SELECT count(*) FROM documents WHERE checksum IS NULL') === 0);
    await service.end('SIGTERM');
    expect((await svc(['verify', '--data', service.data])).code).toBe(0);
  });

  test('finds a damaged document and a damaged record before anybody reads them, and serves the others', async () => {
    change(`UPDATE documents SET body = '{"n":77}' WHERE doc = (SELECT min(doc) FROM documents)`);
    change(`UPDATE journal SET record = replace(record, '"n":5', '"n":6') WHERE record LIKE '%"n":5}%'`);
    await service.run();
    expect((await byIndex(DOCUMENTS - 1)).map(doc => doc.n)).toEqual([DOCUMENTS - 1]);
    await until(
      'both error lines',
      () => service.log.includes('"check":"checksum"') && service.log.includes('"chain"'),
    );
    await service.end('SIGTERM');
    const {code, stdout} = await svc(['verify', '--data', service.data]);
    expect(code).toBe(1);
    expect(stdout).toContain('does not fit its checksum');
    expect(stdout).toContain('does not fit its digest');
  });
});
