/**
 * One random bit of a stopped tenant's file is flipped, in many tenants at once: every answer is then the right one, or a refusal.
 * What clients see of a tenant: its list, every document by id, every value by index, and the journal.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {rounds} from '../harness/nightly.ts';
import type {Reply} from '../harness/service.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const ANYWHERE = rounds({commit: 6, nightly: 40});
/** Parts of the file that a random bit seldom meets in small files; several flips each. */
const PARTS = ['index_entries', 'documents_by_id', 'documents', 'journal', 'index_entries', 'documents_by_id'];
const DOCUMENTS = 40;
const PAGE_BYTES = 4096;

let service: Service;
const tenants: Tenant[] = [];
/** What each tenant answered before, by request. */
const expected = new Map<string, Map<string, string>>();
let seed = 20_251;

function random(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return (seed >>> 8) % below;
}

type Asked = [method: 'GET' | 'POST', path: string, body?: object];

function requests(ids: readonly string[]): Asked[] {
  const byValue = (n: number) => ({table: 't', filters: [{field: 'n', op: 'eq', value: n}]});
  return [
    ['GET', '/documents/t'],
    ...ids.map((id): Asked => ['GET', `/documents/t/${id}`]),
    ...ids.map((_, n): Asked => ['POST', '/query', byValue(n)]),
    [
      'POST',
      '/query',
      {table: 't', filters: [{field: 'n', op: 'gte', value: 0}], order: {field: 'n', direction: 'desc'}},
    ],
    ['GET', '/journal?limit=1000'],
  ];
}

function ask(tenant: Tenant, [method, path, body]: Asked): Promise<Reply> {
  return tenant.request(method, path, body);
}

/** A page of the journal ends before a damaged record; the page that begins with it is refused. */
function isBeginning(text: string, whole: string): boolean {
  const end = text.indexOf('],"next_cursor"');
  return text.startsWith('{"records":[') && text.includes('"has_more":true') && whole.startsWith(text.slice(0, end));
}

const fileOf = ({id}: Tenant) => join(service.directoryOf(id)!, 'tenant.sqlite');

/** A bit of a page of this B-tree; null: any bit of the file. */
function place(path: string, bytes: Buffer, part: string | null): number {
  if (part === null) return 8 * random(bytes.length) + random(8);
  const db = new Database(path, {readonly: true});
  const pages = db.prepare<[string], number>('SELECT pageno FROM dbstat WHERE name = ?').pluck().all(part);
  db.close();
  const page = pages[random(pages.length)]! - 1;
  return 8 * (page * PAGE_BYTES + random(PAGE_BYTES)) + random(8);
}

beforeAll(async () => {
  service = await Service.start();
  for (let i = 0; i < ANYWHERE + PARTS.length; i++) {
    const tenant = await Tenant.make(service);
    tenants.push(tenant);
    await tenant.putSchema('t', [], [{name: 'by_n', fields: ['n']}]);
    await tenant.insertAll(
      't',
      Array.from({length: DOCUMENTS}, (_, n) => ({n, text: `${n} `.repeat(5 + n)})),
    );
    const docs = await tenant.list('t');
    await tenant.patch('t', docs[3]!._id, {text: 'patched'});
    const asked = requests(docs.map(doc => doc._id));
    const replies = await Promise.all(asked.map(one => ask(tenant, one)));
    expected.set(tenant.id, new Map(asked.map((one, at) => [JSON.stringify(one), replies[at]!.text])));
  }
  await service.end('SIGTERM');
}, 120_000);
afterAll(() => service.stop());

test(`${ANYWHERE + PARTS.length} flipped bits, and not one wrong answer`, async () => {
  service.showLogOnFailure();
  const flips: string[] = [];
  for (const [i, tenant] of tenants.entries()) {
    const path = fileOf(tenant);
    const bytes = readFileSync(path);
    const at = place(path, bytes, PARTS[i - ANYWHERE] ?? null);
    bytes[at >> 3]! ^= 1 << (at & 7);
    writeFileSync(path, bytes);
    flips.push(`${tenant.id}: bit ${at & 7} of byte ${at >> 3} of ${bytes.length}`);
  }
  await service.run();
  let refused = 0;
  const wrong: string[] = [];
  for (const [i, tenant] of tenants.entries()) {
    const check = async (asked: string, text: string) => {
      const reply = await ask(tenant, JSON.parse(asked) as Asked);
      if (reply.status === 503) refused++;
      else if (reply.text !== text && !isBeginning(reply.text, text))
        wrong.push(`${flips[i]}: ${asked}: ${reply.status} ${reply.text.slice(0, 200)}`);
    };
    await Promise.all([...expected.get(tenant.id)!].map(([asked, text]) => check(asked, text)));
  }
  expect(wrong).toEqual([]);
  expect(refused).toBeGreaterThan(0);
  await until('the reasons in the log', () => service.log.includes('damaged'));
}, 120_000);
