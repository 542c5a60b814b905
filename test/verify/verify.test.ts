import {createHash} from 'node:crypto';
import {cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type CheckedColumns, rowChecksum} from '../../engine/storage/row-checksum.ts';
import {verifyFile} from '../../engine/verify/verify-file.ts';
import {svc} from '../harness/command.ts';
import {firstOf, rounds} from '../harness/nightly.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {WriteLoad} from '../harness/write-load.ts';

const MARKER = 'a-text-that-is-nowhere-else';

let directory: string;
/** A data directory of a stopped server, never changed: every test damages a copy. */
let sound: string;
let damagedId: string;
let otherId: string;
let peopleId: string;
let copies = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-verify-'));
  sound = join(directory, 'sound');
  const service = await Service.start({data: sound});
  const [tenant, other] = [await Tenant.make(service), await Tenant.make(service)];
  [damagedId, otherId] = [tenant.id, other.id];
  const people = await Tenant.make(service);
  peopleId = people.id;
  await people.putSchema('people', [], [{name: 'by_email', fields: ['email']}]);
  await people.insertAll('people', [{email: 'a'}, {email: 'b'}, {email: 'a'}, {}, {}, {email: null}, {email: null}]);
  await other.insert('t', {n: 1});
  await tenant.putSchema('t', [{name: 'n', field_type: 'number', required: true}], [{name: 'by_n', fields: ['n']}]);
  await tenant.insertAll(
    't',
    Array.from({length: 300}, (_, n) => ({n, text: 'x'.repeat(n)})),
  );
  const [first, second] = await tenant.list('t');
  await tenant.patch('t', first!._id, {text: 'changed'});
  await tenant.delete('t', second!._id);
  await tenant.insert('t', {n: 1_000, text: MARKER});
  await service.end('SIGTERM');
});
afterAll(() => rmSync(directory, {recursive: true}));

type Report = {
  tenant: string;
  documents: number;
  records: number;
  floor: number;
  indexEntries: number;
  findings: string[];
};

/** A copy of the sound directory; `path` is the file of the tenant to be damaged. */
function copy(tenant = damagedId): {data: string; path: string} {
  const data = join(directory, `copy-${++copies}`);
  cpSync(sound, data, {recursive: true});
  const [name] = readdirSync(join(data, 'tenants')).filter(entry => entry.startsWith(`t_${tenant}_`));
  return {data, path: join(data, 'tenants', name!, 'tenant.sqlite')};
}

async function verify(data: string, ...args: string[]): Promise<{code: number | null; reports: Report[]}> {
  const {code, stdout, stderr} = await svc(['verify', '--data', data, '--json', ...args]);
  expect(stderr).toBe('');
  return {
    code,
    reports: stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line) as Report),
  };
}

/** The damage is found in this tenant, in words that contain `says`, and the others are well. */
async function expectFound(data: string, says: string): Promise<void> {
  const {code, reports} = await verify(data);
  expect(code).toBe(1);
  for (const {tenant, findings} of reports) {
    if (tenant === damagedId) expect(findings.join('\n')).toContain(says);
    else expect(findings).toEqual([]);
  }
  expect(reports.map(report => report.tenant)).toContain(damagedId);
}

/** As the command finds them, without starting it. */
function findingsIn(path: string): string {
  const generation = Number(dirname(path).split('_').at(-1));
  return verifyFile(path, {tenant: damagedId, generation}).findings.join('\n');
}

/** Names and contents of all files below a directory. */
function fingerprint(path: string): string[] {
  return readdirSync(path, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(file => `${file} ${createHash('sha256').update(readFileSync(file)).digest('hex')}`)
    .sort();
}

describe('svc verify of a sound directory', () => {
  test('says so for each tenant, with what was checked: exit code 0', async () => {
    const {code, stdout, stderr} = await svc(['verify', '--data', sound]);
    expect({code, stderr}).toEqual({code: 0, stderr: ''});
    const lines = stdout.split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(
      new RegExp(`^${damagedId}: ok: 300 documents, 304 journal records, 300 index entries \\(`),
    );
    expect(lines[3]).toBe('3 tenants checked: all is well');
  });

  test('--json is one object a tenant, --tenant only that one', async () => {
    const {code, reports} = await verify(sound, '--tenant', otherId);
    expect(code).toBe(0);
    expect(reports).toEqual([{tenant: otherId, documents: 1, records: 1, floor: 1, indexEntries: 0, findings: []}]);
  });

  test('changes no file and leaves none behind', async () => {
    const before = fingerprint(sound);
    await verify(sound);
    expect(fingerprint(sound)).toEqual(before);
  });

  test.each<[string, () => string[], string]>([
    ['a directory that is none of ours', () => ['--data', directory], 'is not a data directory'],
    ['a directory that does not exist', () => ['--data', join(directory, 'absent')], 'is not a data directory'],
    ['a tenant that does not exist', () => ['--data', sound, '--tenant', 'absent'], 'has no tenant absent'],
  ])('%s: exit code 1 and one sentence', async (_, args, says) => {
    const {code, stdout, stderr} = await svc(['verify', ...args()]);
    expect({code, stdout}).toEqual({code: 1, stdout: ''});
    expect(stderr).toMatch(/^svc verify: [^\n]+\n$/);
    expect(stderr).toContain(says);
  });
});

describe('svc verify of a running server', () => {
  test('under a load of writes, killed and replaced workers included, finds all well', async () => {
    const service = await Service.start();
    service.showLogOnFailure();
    const tenant = await Tenant.make(service);
    await tenant.putSchema('load', [], [{name: 'by_marker', fields: ['marker']}]);
    const load = new WriteLoad(tenant, 8);
    for (let round = 0; round < rounds({commit: 2, nightly: 3}); round++) {
      await load.progress(100);
      const {code, reports} = await verify(service.data);
      expect({code, findings: reports[0]!.findings}).toEqual({code: 0, findings: []});
      expect(reports[0]!.documents).toBeGreaterThanOrEqual(100 * (round + 1));
      process.kill(await service.workerOf(tenant.id), 'SIGKILL');
    }
    await load.stop();
    await service.stop();
  });

  test('with a journal of which only the end is kept, finds all well; a changed record of it is found', async () => {
    const service = await Service.start({args: ['--journal-keep-records', '5']});
    service.showLogOnFailure();
    const tenant = await Tenant.make(service);
    await tenant.insertAll(
      't',
      Array.from({length: 2_000}, (_, n) => ({n})),
    );
    const {code, reports} = await verify(service.data);
    expect({code, findings: reports[0]!.findings}).toEqual({code: 0, findings: []});
    expect(reports[0]!.floor).toBeGreaterThan(1);
    const path = join(service.directoryOf(tenant.id)!, 'tenant.sqlite');
    await service.end('SIGTERM');
    change(path, 'DELETE FROM journal WHERE sequence = (SELECT min(sequence) FROM journal)');
    expect((await verify(service.data)).reports[0]!.findings.join()).toContain('is missing');
    await service.stop();
  });
});

function change(path: string, sql: string): void {
  const db = new Database(path);
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
  db.close();
}

const ONE = 'doc = (SELECT max(doc) FROM documents)';

describe('svc verify finds', () => {
  test.each<[string, string, string]>([
    ['a journal record that is gone', 'DELETE FROM journal WHERE sequence = 150', 'record 150 is missing'],
    ['the first journal record gone', 'DELETE FROM journal WHERE sequence = 1', 'record 1 is missing'],
    ['the last journal record gone', 'DELETE FROM journal WHERE sequence = 304', 'is not in the journal'],
    [
      'a journal record that was changed',
      `UPDATE journal SET record = replace(record, '"n":7,', '"n":8,') WHERE record LIKE '%"n":7,%'`,
      'does not fit its digest',
    ],
    [
      'a digest that was changed',
      `UPDATE journal SET digest = '${'0'.repeat(64)}' WHERE sequence = 9`,
      'record 9 does not',
    ],
    [
      'a journal record under another sequence',
      'UPDATE journal SET sequence = 310 WHERE sequence = 304',
      'calls itself 304',
    ],
    ['a document that was changed', `UPDATE documents SET body = '{"n":1000}' WHERE ${ONE}`, 'differs from its last'],
    [
      'a creation time that was changed',
      `UPDATE documents SET created = created + 1 WHERE ${ONE}`,
      'differs from its last',
    ],
    [
      'an update time that was changed',
      `UPDATE documents SET updated = updated + 1 WHERE ${ONE}`,
      'differs from its last',
    ],
    ['a document that is gone', `DELETE FROM documents WHERE ${ONE}`, '1 documents that the journal has are missing'],
    [
      'a document that nobody inserted',
      `INSERT INTO documents SELECT doc + 1, 'mine', created + 1, updated, body, 0, null FROM documents WHERE ${ONE}`,
      'document mine of t is not in the journal',
    ],
    [
      'an index entry that is gone',
      'DELETE FROM index_entries WHERE doc = (SELECT max(doc) FROM documents)',
      'index t.by_n',
    ],
    [
      'an index entry too many',
      "INSERT INTO index_entries SELECT index_number, x'00', doc FROM index_entries LIMIT 1",
      'index t.by_n',
    ],
    ['an index entry with another key', `UPDATE index_entries SET key = x'0011' WHERE ${ONE}`, 'index t.by_n'],
  ])('%s', (_, sql, says) => {
    const {path} = copy();
    expect(findingsIn(path)).toBe('');
    change(path, sql);
    expect(findingsIn(path)).toContain(says);
  });

  test('a document that came back after its deletion', async () => {
    const {data, path} = copy();
    const db = new Database(path);
    const records = db.prepare<[], string>('SELECT record FROM journal').pluck().all();
    const deleted = records
      .flatMap(text => (JSON.parse(text) as {writes: {id: string; op: string}[]}).writes)
      .find(({op}) => op === 'delete')!;
    db.prepare(
      `INSERT INTO documents SELECT doc + 1, ?, created + 1, updated, body, 0, null FROM documents WHERE ${ONE}`,
    ).run(deleted.id);
    db.close();
    await expectFound(data, 'the journal says it was deleted');
  });

  test('one flipped bit of a document, wherever the file has it', () => {
    const bytes = readFileSync(copy().path);
    const places: number[] = [];
    for (let at = bytes.indexOf(MARKER); at !== -1; at = bytes.indexOf(MARKER, at + 1)) places.push(at);
    expect(places.length).toBeGreaterThanOrEqual(2);
    for (const at of places) {
      const {path} = copy();
      const damaged = Buffer.from(bytes);
      damaged[at + 3]! ^= 1;
      writeFileSync(path, damaged);
      expect(findingsIn(path)).toContain('journal');
    }
  });

  test('pages that are overwritten, one at a time', async () => {
    const bytes = readFileSync(copy().path);
    const pages = bytes.length / 4096;
    expect(pages).toBeGreaterThan(20);
    for (const page of firstOf(2, [1, pages - 1, 0, 2, Math.floor(pages / 2)])) {
      const {data, path} = copy();
      writeFileSync(path, Buffer.from(bytes).fill(0xa5, page * 4096, page * 4096 + 100));
      await expectFound(data, '');
      const {reports} = await verify(data, '--tenant', damagedId);
      expect(reports[0]!.findings.length).toBeGreaterThan(0);
    }
  });

  test.each<[string, (path: string) => void]>([
    ['a file that was cut', path => truncateSync(path, 20 * 4096)],
    ['a file that is empty', path => truncateSync(path, 0)],
    ['a file that is something else', path => writeFileSync(path, 'something else\n'.repeat(1_000))],
  ])('%s', async (_, damage) => {
    const {data, path} = copy();
    damage(path);
    await expectFound(data, '');
    expect((await verify(data)).reports.find(({tenant}) => tenant === damagedId)!.findings.length).toBeGreaterThan(0);
  });

  test('documents that are the same in a unique index; those without a value are not', async () => {
    const {data, path} = copy(peopleId);
    const db = new Database(path);
    const row = db.prepare<[], CheckedColumns<'indexes'>>('SELECT * FROM indexes').get()!;
    const unique = {...row, is_unique: 1};
    db.prepare('UPDATE indexes SET is_unique = 1, checksum = ?').run(rowChecksum('indexes', unique));
    const [first, second] = db
      .prepare<[], string>(`SELECT id FROM documents WHERE body = '{"email":"a"}' ORDER BY doc`)
      .pluck()
      .all();
    db.close();
    const {code, reports} = await verify(data, '--tenant', peopleId);
    const says = `index people.by_email: it is unique, and ${second} has the same values as ${first}`;
    expect([code, reports[0]!.findings]).toEqual([1, [says]]);
  });

  test('and says it in words for people too', async () => {
    const {data, path} = copy();
    change(path, 'DELETE FROM journal WHERE sequence = 150');
    const {code, stdout, stderr} = await svc(['verify', '--data', data]);
    expect({code, stderr}).toEqual({code: 1, stderr: ''});
    expect(stdout).toMatch(new RegExp(`^${damagedId}: NOT OK: .*\\n  journal: record 150 is missing`, 'm'));
    expect(stdout).toContain('3 tenants checked: there are findings\n');
    expect(stdout).not.toMatch(/\n +at /);
  });
});
