/** An export that is put back as it was: ids, times, references, schemas, unique indexes. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Readable} from 'node:stream';
import {request} from 'undici';
import {beforeAll, beforeEach, expect, test} from 'vitest';
import {IMPORT_COMMIT_LINES} from '../../worker/api/limits.ts';
import {App} from '../functions/app.ts';
import {svc} from '../harness/command.ts';
import {isAlive} from '../harness/processes.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const JSON_LINES = {'content-type': 'application/x-ndjson'};
const FIELDS = [
  {name: 'email', field_type: 'string', required: true},
  {name: 'team', field_type: 'string', required: false},
];
const BY_EMAIL = {name: 'by_email', fields: ['email'], unique: true};

const service = await sharedService();
/** With people who name their team by its id, in a table that has another number than its place in the list. */
let source: Tenant;
let team: string;
let person: string;
beforeAll(async () => {
  source = await Tenant.make(service);
  await source.delete('gone', await source.insert('gone', {n: 1}));
  team = await source.insert('teams', {name: 'blue'});
  await source.putSchema('people', FIELDS, [BY_EMAIL]);
  person = await source.insert('people', {email: 'a@example.com', team});
  await source.insert('people', {email: 'b@example.com'});
  await source.patch('people', person, {email: 'c@example.com'});
  await source.request('PUT', '/documents/teams/my-own', {fields: {lead: person}});
});
beforeEach(() => service.showLogOnFailure());

const exported = async (tenant: Tenant, query = 'for=restore') =>
  (await tenant.request('GET', `/export?${query}`)).text;
const put = (tenant: Tenant, body: string, query = 'mode=restore') =>
  tenant.request('POST', `/import?${query}`, body, JSON_LINES);
const versionOf = async (tenant: Tenant, id: string) =>
  (await tenant.request('GET', `/documents/people/${id}`)).headers.etag;
const line = (value: object) => `${JSON.stringify(value)}\n`;

test('an empty tenant is then the same: ids, times, versions, references, schemas', async () => {
  const target = await Tenant.make(service);
  const lines = await exported(source);
  expect((await put(target, lines)).body).toMatchObject({inserted: 4, updated: 0, failed: 0});
  expect(await exported(target)).toBe(lines);
  const copy = await target.get('people', person);
  expect(copy).toEqual(await source.get('people', person));
  expect(await target.get('teams', copy.team as string)).toMatchObject({_id: team, name: 'blue'});
  expect(await versionOf(target, person)).toBe(await versionOf(source, person));
  const schema = (await target.request('GET', '/schema/people')).body;
  expect(schema).toMatchObject({fields: FIELDS, indexes: [{...BY_EMAIL, state: 'enabled'}]});
  expectError(
    await target.request('POST', '/documents', {table: 'people', fields: {email: 'c@example.com'}}),
    409,
    'op.unique_violation',
  );
  // Later ones follow, under ids and at times of their own.
  const later = await target.get('people', await target.insert('people', {email: 'd@example.com'}));
  expect((await target.list('people')).at(-1)).toEqual(later);
  expect(later._creationTime).toBeGreaterThan(copy._creationTime);
  await target.patch('people', person, {email: 'e@example.com'});
});

test('beside what a tenant has, into tables without documents; one that has newer ones is refused with the line', async () => {
  const target = await Tenant.make(service);
  await target.insert('other', {n: 1});
  await target.delete('teams', await target.insert('teams', {name: 'deleted'}));
  const lines = await exported(source);
  expect((await put(target, lines)).body).toMatchObject({inserted: 4});
  expect(await target.list('teams')).toEqual(await source.list('teams'));
  // Again: the first document is taken.
  const again = expectError(await put(target, lines), 409, 'op.conflict');
  expect(again.detail).toMatchObject({line: 1, import: {lines: 0, inserted: 0}});
  const newer = await Tenant.make(service);
  await newer.insert('teams', {name: 'mine'});
  const refused = expectError(await put(newer, lines), 409, 'op.conflict');
  expect(refused.message).toMatch(/^line 1: table teams has documents that are as new/);
  // Ids alone are kept in any table.
  const teams = await exported(source, 'table=teams');
  expect((await put(newer, teams, 'mode=own_ids&table=teams')).body).toMatchObject({inserted: 2});
  expect((await newer.list('teams')).map(({_id}) => _id)).toEqual([expect.any(String), team, 'my-own']);
  expectError(await put(newer, teams, 'mode=own_ids&table=teams'), 409, 'op.conflict');
  await newer.delete('teams', team);
  expect((await put(newer, teams, 'mode=upsert&table=teams')).body).toMatchObject({inserted: 1, updated: 1});
});

test('a table alone, in lines of either form, with numbers that JSON cannot hold', async () => {
  const target = await Tenant.make(service);
  const teams = await exported(source, 'table=teams');
  expect((await put(target, teams, 'mode=restore&table=teams')).body).toMatchObject({inserted: 2});
  expect(await target.list('teams')).toEqual(await source.list('teams'));
  const document = {_id: 'floats', _creationTime: 1, _updateTime: 2.5, n: {$float: 'AAAAAAAA+H8='}};
  const floats = line({table: 'numbers', document, floats: true});
  expect((await put(target, floats, 'mode=restore&table=numbers')).body).toMatchObject({inserted: 1});
  expect(await exported(target, 'for=restore&table=numbers')).toBe(floats);
  expect(await target.get('numbers', 'floats')).toMatchObject({n: null});
});

test('a cached result that is bounded by a creation time shows what comes back there', async () => {
  const app = await App.deploy(service, {
    'notes.ts': `
      import {v} from 'svc/values';
      import {query} from './_generated/server';
      export const until = query({args: {time: v.number()}, handler: async (ctx, {time}) => {
        const notes = await ctx.db.query('notes').withIndex('by_creation_time', q => q.lt('_creationTime', time)).collect();
        return notes.map(note => note._id);
      }});`,
  });
  const target = Tenant.of(service, app.tenant);
  const note = (_id: string, _creationTime: number) =>
    line({table: 'notes', document: {_id, _creationTime, _updateTime: 9}});
  await put(target, note('first', 1) + note('second', 5));
  await target.delete('notes', 'first');
  // What it has read ends before the second one.
  expect(await app.query('notes:until', {time: 3})).toEqual([]);
  await target.delete('notes', 'second');
  expect(await app.query('notes:until', {time: 3})).toEqual([]);
  await put(target, note('first', 1));
  expect(await app.query('notes:until', {time: 3})).toEqual(['first']);
});

test('what cannot be put back is refused, with its line', async () => {
  const target = await Tenant.make(service);
  const document = {_id: 'a', _creationTime: 1, _updateTime: 1};
  for (const [bad, why] of [
    [{table: 'x', document: {n: 1}}, /^line 1: the document has no _id/],
    [{table: 'x', document: {_id: 'a', n: 1}}, /_creationTime and _updateTime must be times/],
    [{table: 'x', document: {...document, _updateTime: 0}}, /must be times/],
    [{table: 'x', document: {...document, _creationTime: 0}}, /must be times/],
    [{table: 'x', document: {...document, _updateTime: 3e12}}, /_updateTime is in the future/],
    [{table: 'x', document: {...document, $n: 1}}, /begins with \$/],
    [{table: 'x', document: {...document, n: {$float: 1}}, floats: true}, /document|original/],
    [{table: 'x', document: {...document, _id: 'a/b'}}, /an id of your own/],
    [
      {table: 'x', schema: {fields: [{name: 'n', field_type: 'text', required: true}]}},
      /line 1: schema\.fields\.0\.field_type/,
    ],
    [{table: 'x', schema: {table: 'y', fields: []}}, /line 1: the schema is of table "y", and the line of "x"/],
    [{table: 'x', schema: {table: 1, fields: []}}, /line 1: schema\.table/],
    [{table: 'x', document, schema: {fields: []}}, /the line is neither/],
    [{table: 'x', document, more: 1}, /"more" is not a member/],
    [{n: 1}, /is not a member/],
  ] as const) {
    expect(expectError(await put(target, line(bad)), 400, 'op.invalid_input').message).toMatch(why);
  }
  expectError(await put(target, line({table: 'y', document}), 'mode=restore&table=x'), 400, 'op.invalid_input');
  expectError(await target.request('GET', '/export?for=restore&format=csv&table=x'), 400, 'op.invalid_input');
  expect((await target.request('GET', '/tables')).body).toEqual({tables: []});
});

test('a key needs the scope of schemas for it, of both directions', async () => {
  const keyFor = async (name: string, ...scopes: string[]) =>
    ((await service.post('/api/keys', {name, scopes})).body as {secret: string}).secret;
  const as = (secret: string, method: string, path: string, body?: string) =>
    source.request(method, path, body, {...JSON_LINES, authorization: `Bearer ${secret}`});
  const data = await keyFor('data', 'data:read', 'data:write');
  for (const path of ['/import?mode=restore', '/import?mode=insert&mode=restore'])
    expect(expectError(await as(data, 'POST', path, ''), 403, 'auth.forbidden').detail).toMatchObject({
      scope: 'schema',
    });
  expectError(await as(data, 'GET', '/export?for=restore'), 403, 'auth.forbidden');
  expect(
    (await as(await keyFor('all', 'data:read', 'data:write', 'schema'), 'GET', '/export?for=restore')).status,
  ).toBe(200);
});

test('one that is cut by the death of its worker goes on, and ends the same', async () => {
  const target = await Tenant.make(service);
  const documents = Array.from({length: 3 * IMPORT_COMMIT_LINES}, (_, n) => ({
    ...{_id: `d${n}`, _creationTime: 1_000 + n, _updateTime: 2_000 + n, n},
  }));
  const fields = [{name: 'n', field_type: 'number', required: true}];
  const indexes = [{name: 'by_n', fields: ['n'], unique: true}];
  const lines = [
    line({table: 'd', schema: {table: 'd', fields, indexes}}),
    ...documents.map(document => line({table: 'd', document})),
  ];
  const slow = new Readable({read() {}});
  slow.push(lines.slice(0, 2 * IMPORT_COMMIT_LINES).join(''));
  const url = `${service.url}/api/tenants/${target.id}/import?mode=restore&import_id=cut`;
  const headers = {authorization: `Bearer ${service.accessToken}`, ...JSON_LINES};
  const first = request(url, {method: 'POST', body: slow, headers}).then(
    ({body}) => body.text(),
    (error: Error) => error.message,
  );
  const progress = async () =>
    ((await target.request('GET', '/import/cut')).body as {import?: {lines: number}}).import?.lines ?? 0;
  await until('lines to be in', async () => (await progress()) >= IMPORT_COMMIT_LINES);
  const worker = await service.workerOf(target.id);
  process.kill(worker, 'SIGKILL');
  await until('its end', () => !isAlive(worker));
  slow.destroy();
  await first;
  let again = await put(target, lines.join(''), 'mode=restore&import_id=cut');
  await until('the next worker', async () => {
    if (again.status !== 200) again = await put(target, lines.join(''), 'mode=restore&import_id=cut');
    return again.status === 200;
  });
  expect(again.body).toMatchObject({
    lines: lines.length,
    inserted: documents.length,
  });
  await until('its index', async () => /"enabled"/.test((await target.request('GET', '/schema/d')).text));
  expect(await exported(target)).toBe(lines.join(''));
});

test('svc export --restorable and svc import --mode restore copy a tenant', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-restore-'));
  const [target, file] = [await Tenant.make(service), join(directory, 'all.jsonl')];
  const env = {SVC_URL: service.url, SVC_ACCESS_TOKEN: service.accessToken, XDG_STATE_HOME: directory};
  try {
    expect(await svc(['export', '--tenant', source.id, '--restorable', file], env)).toMatchObject({code: 0});
    const made = await svc(['import', '--tenant', target.id, '--mode', 'restore', file], env);
    expect(made).toMatchObject({code: 0, stdout: expect.stringContaining('imported 4')});
    expect(await exported(target)).toBe(await exported(source));
  } finally {
    rmSync(directory, {recursive: true});
  }
});
