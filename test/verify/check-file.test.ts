/** A restored file is compared with what the copy says of it, page by page, before SQLite opens it. */
import {copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {PagesDigest} from '../../engine/copies/page-digest.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {checkFile} from '../../engine/verify/check-file.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {pointOf} from './point-of.ts';

const service = await sharedService();
const directory = mkdtempSync(join(tmpdir(), 'svc-test-check-file-'));
afterAll(() => rmSync(directory, {recursive: true}));

const MARKER = 'a-text-that-is-nowhere-else';
const sound = join(directory, 'sound.sqlite');
const path = join(directory, 'damaged.sqlite');
let tenant: string;
let point: Position;

beforeAll(async () => {
  const {id} = await Tenant.make(service);
  tenant = id;
  const writes = Tenant.of(service, id);
  await writes.putSchema('t', [], [{name: 'by_n', fields: ['n']}]);
  await writes.insertAll('t', [{n: 1}, {n: 2, text: MARKER}, {n: 3}]);
  expect((await service.request('POST', `/api/tenants/${id}/sleep`)).status).toBe(200);
  copyFileSync(join(service.directoryOf(id)!, 'tenant.sqlite'), sound);
  point = pointOf(sound);
});

/** The findings of each check that was made. */
function checked(expected: Partial<Position> = {}, of = tenant): Record<string, string[]> {
  const {checks} = checkFile(path, {tenant: of, point: {...point, ...expected}});
  return Object.fromEntries(checks.map(({check, findings}) => [check, findings]));
}

/** Damage that was there before the copy was made, so its pages are as the copy says. */
function changed(sql: string): Position {
  copyFileSync(sound, path);
  const db = new Database(path);
  db.pragma('journal_mode = DELETE');
  db.exec(sql);
  db.close();
  return pointOf(path);
}

test('a sound file passes all checks', () => {
  copyFileSync(sound, path);
  const {checks, report} = checkFile(path, {tenant, point});
  expect(checks).toEqual(['pages', 'identity', 'head', 'content'].map(check => ({check, findings: []})));
  expect(report).toEqual({documents: 3, records: point.sequence, floor: 1, indexEntries: 3});
});

test('one changed byte, or a file of another length, is found in the pages, and SQLite does not open the file', () => {
  const bytes = readFileSync(sound);
  bytes[bytes.indexOf(MARKER)]! ^= 1;
  writeFileSync(path, bytes);
  expect(checked()).toEqual({pages: [`its pages are not those of commit ${point.commit}`]});
  writeFileSync(path, bytes.subarray(0, bytes.length - 100));
  const pages = `not ${point.pages} pages of ${point.pageBytes}`;
  expect(checked()).toEqual({pages: [`it has ${bytes.length - 100} bytes, ${pages}`]});
});

test('the file of another tenant, timeline, commit or record is named as such', () => {
  copyFileSync(sound, path);
  expect(checked({}, 'other')).toMatchObject({identity: [`it is that of tenant ${tenant}`]});
  const timeline = '0'.repeat(32);
  expect(checked({timeline})).toMatchObject({identity: [`its timeline is ${point.timeline}, not ${timeline}`]});
  const [commit, sequence] = [point.commit + 1, point.sequence + 1];
  expect(checked({commit, sequence}).head).toEqual([
    `it ends with commit ${point.commit}, not ${commit}`,
    `its journal ends with record ${point.sequence}, not ${sequence}`,
  ]);
});

test('a file that was damaged before it was copied fails by its content', () => {
  const dropped = changed('DELETE FROM index_entries WHERE doc = (SELECT min(doc) FROM index_entries)');
  expect(checked(dropped).content).toContainEqual(expect.stringContaining('index t.by_n: no entry for document'));
  const rewritten = changed("UPDATE journal SET record = replace(record, 'text', 'tixt')");
  expect(checked(rewritten).content).toContainEqual(expect.stringContaining('does not fit its digest'));
});

test('a quick check finds a structure that SQLite cannot read and a newest record that was changed', () => {
  const findings = (of: Position) =>
    checkFile(path, {tenant, point: of}, 'quick').checks.map(one => [one.check, one.findings.length]);
  copyFileSync(sound, path);
  expect(findings(point)).toEqual([
    ['identity', 0],
    ['head', 0],
    ['content', 0],
  ]);
  const rewritten = changed(
    "UPDATE journal SET record = replace(record, '2', '3') WHERE sequence = (SELECT max(sequence) FROM journal)",
  );
  expect(findings(rewritten).at(-1)).toEqual(['content', 1]);
  const bytes = readFileSync(sound);
  bytes.fill(7, point.pageBytes * (point.pages - 1));
  writeFileSync(path, bytes);
  expect(findings(point).at(-1)![1]).toBeGreaterThan(0);
});

test('pages that are no database are a finding, not an exception', () => {
  const bytes = readFileSync(sound);
  bytes.fill(7, 0, 200);
  writeFileSync(path, bytes);
  const digest = new PagesDigest();
  for (let page = 1; page <= point.pages; page++) {
    digest.toggle(page, bytes.subarray((page - 1) * point.pageBytes, page * point.pageBytes));
  }
  expect(checked({digest: digest.value}).content).toEqual([expect.stringMatching(/^it cannot be read: /)]);
});
