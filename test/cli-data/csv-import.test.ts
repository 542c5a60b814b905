/** `svc import` of CSV: one request with the whole file, which is sent again where that helps. */
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {type Outcome, svc as run} from '../harness/command.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-csv-'));
});
afterAll(async () => {
  rmSync(directory, {recursive: true});
});
beforeEach(() => service.showLogOnFailure());

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const svc = (...args: string[]): Promise<Outcome> =>
  run(args, {SVC_URL: service.url, SVC_DATA: service.data, XDG_STATE_HOME: directory});
const importOf = ({id}: Tenant, file: string, ...more: string[]) =>
  svc('import', '--tenant', id, '--table', 't', ...more, file);
const fieldsOf = async (tenant: Tenant) =>
  (await tenant.list('t')).map(({_id, _creationTime, _updateTime, ...fields}) => fields);
const rows = (from: number, to: number) =>
  Array.from({length: to - from}, (_, i) => `${from + i},"text, of\n${from + i}"\n`).join('');

test('a file .csv is CSV: cells are text, or what the schema or their JSON says', async () => {
  const tenant = await Tenant.make(service);
  const file = write('cells.csv', 'name,n,of\r\nBern,1,"[1]"\r\n"a, ""b""",,x\r\n');
  expect(await importOf(tenant, file)).toMatchObject({code: 0, stdout: expect.stringMatching(/^imported 2 documents/)});
  expect(await importOf(tenant, file)).toMatchObject({stdout: expect.stringContaining('2 of them had been imported')});
  expect(await fieldsOf(tenant)).toEqual([
    {name: 'Bern', n: '1', of: '[1]'},
    {name: 'a, "b"', of: 'x'},
  ]);
  expect((await importOf(tenant, file, '--cells', 'json')).code).toBe(0);
  expect((await fieldsOf(tenant))[2]).toEqual({name: 'Bern', n: 1, of: [1]});
  const typed = await Tenant.make(service);
  await typed.putSchema('t', [{name: 'n', field_type: 'number', required: false}]);
  expect((await importOf(typed, file)).code).toBe(0);
  expect((await fieldsOf(typed))[0]).toEqual({name: 'Bern', n: 1, of: '[1]'});
  const lines = write('lines.csv', '{"n":1}\n');
  expect((await importOf(await Tenant.make(service), lines, '--format', 'jsonl')).code).toBe(0);
});

test('an export as CSV is put back with its ids and times', async () => {
  const [tenant, copy, plain] = [await Tenant.make(service), await Tenant.make(service), await Tenant.make(service)];
  for (const fields of [{n: 1, text: '1'}, {n: null}, {text: 'a\r\n"b"', list: [{a: true}]}])
    await tenant.insert('t', fields);
  await tenant.request('PUT', '/documents/t/7', {fields: {n: 0.5}});
  const file = join(directory, 'whole.csv');
  const args = ['export', '--tenant', tenant.id, '--table', 't', '--format', 'csv'];
  expect((await svc(...args, file)).code).toBe(0);
  expect(await importOf(copy, file, '--mode', 'restore', '--cells', 'json')).toMatchObject({code: 0});
  expect(await copy.list('t')).toEqual(await tenant.list('t'));
  // Times are numbers whatever cells are read as.
  const text = write('text.csv', readFileSync(file, 'utf8').replace('"""7"""', '7'));
  expect(await importOf(plain, text, '--mode', 'restore')).toMatchObject({code: 0});
  expect((await plain.list('t')).map(({_id, _updateTime}) => [_id, _updateTime])).toEqual(
    (await tenant.list('t')).map(({_id, _updateTime}) => [_id, _updateTime]),
  );
  const without = write('without.csv', 'n\n1\n');
  expect(await importOf(copy, without, '--mode', 'restore')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${without}:2: the document has no _id`),
  });
});

test('a record that is refused ends it with its line; corrected, the command goes on there, and bad ones can be skipped', async () => {
  const tenant = await Tenant.make(service);
  const file = write('bad.csv', `i,text\n${rows(0, 50)}50,x,y\n${rows(51, 100_000)}`);
  const stopped = await importOf(tenant, file);
  expect(stopped).toMatchObject({code: 1, stdout: expect.stringMatching(/^imported 50 documents/)});
  expect(stopped.stderr).toContain(`${file}:102: the record has 3 cells, the header has 2; correct the line`);
  write('bad.csv', `i,text\n${rows(0, 49)}x,y\n${rows(50, 60)}`);
  expect(await importOf(tenant, file)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('imported lines 1 to 101, which are others now'),
  });
  write('bad.csv', `i,text\n${rows(0, 50)}50,x\n51\n${rows(52, 60)}`);
  const rest = await importOf(tenant, file, '--skip-bad');
  expect(rest).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/59 documents.*50 of them .*1 bad lines skipped/),
  });
  expect(rest.stderr).toContain(`${file}:103: the record has 1 cells`);
  const all = Array.from({length: 60}, (_, i) => String(i)).filter(i => i !== '51');
  expect((await tenant.list('t')).map(({i}) => i)).toEqual(all);
});

test('a worker that dies in the middle of it: the file is sent again, and each record is in once', async () => {
  const tenant = await Tenant.make(service);
  const count = 60_000;
  const imported = importOf(tenant, write('large.csv', `i,text\n${rows(0, count)}`));
  const inserted = async () => {
    const {imports = []} = (await tenant.request('GET', '/import')).body as {imports?: {inserted: number}[]};
    return imports[0]?.inserted ?? 0;
  };
  await until('records to be in', async () => (await inserted()) > 0);
  process.kill(await service.workerOf(tenant.id), 'SIGKILL');
  expect(await imported).toMatchObject({code: 0});
  expect((await tenant.request('POST', '/query/count', {table: 't', filters: []})).body).toEqual({count});
});

test('what CSV needs is said before anything is sent', async () => {
  const file = write('usage.csv', 'a\n1\n');
  for (const [args, why] of [
    [[file], 'CSV is of one table: name it with --table'],
    [['--table', 't', '--cells', 'json', write('a.jsonl', '')], '--cells is of CSV'],
    [['--table', 't', '--format', 'xml', file], 'xml'],
  ] as const) {
    const {code, stderr} = await svc('import', '--tenant', 'none', ...args);
    expect({code, stderr}).toEqual({code: 2, stderr: expect.stringContaining(why)});
  }
});
