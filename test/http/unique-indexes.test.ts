/** Unique indexes: no two documents of a table have the same values, for all writers. */
import {beforeEach, describe, expect, test} from 'vitest';
import type {JobResult} from '../../shared/protocol/schedule.ts';
import {App} from '../functions/app.ts';
import {follow, state} from '../harness/follower.ts';
import {bootstrap, journalAfter} from '../harness/journal.ts';
import type {Reply} from '../harness/service.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const BY_EMAIL = {name: 'by_email', fields: ['email'], unique: true};

const service = await sharedService();
let tenant: Tenant;
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

const put = (indexes: object[], table = 'people') =>
  tenant.request('PUT', `/schema/${table}`, {table, fields: [], indexes});
const insert = (fields: object) => tenant.request('POST', '/documents', {table: 'people', fields});
const transact = (operations: object[]) => tenant.request('POST', '/transactions', {operations});
const emails = async () => (await tenant.list('people')).map(({email}) => email);
const schema = async () => (await tenant.request('GET', '/schema/people')).body;

function expectClash(reply: Reply, id: string, more = {}): void {
  const {detail, message} = expectError(reply, 409, 'op.unique_violation');
  expect(detail).toEqual({table: 'people', index: 'by_email', id, ...more});
  expect(message).toContain('by_email');
}

describe('unique: true in an index of a schema', () => {
  test('is shown by GET and by the journal, and what GET shows may be put as it is', async () => {
    await put([BY_EMAIL, {name: 'by_age', fields: ['age'], unique: false}]);
    const shown = await schema();
    expect(shown).toMatchObject({
      indexes: [
        {...BY_EMAIL, state: 'enabled'},
        {name: 'by_age', fields: ['age'], state: 'enabled'},
      ],
    });
    expect(JSON.stringify(shown)).not.toContain('"unique":false');
    expect((await tenant.request('PUT', '/schema/people', shown)).status).toBe(204);
    expect(await schema()).toEqual(shown);
    expect(follow(await bootstrap(tenant), [])).toEqual(await state(tenant));
    const {records} = await journalAfter(tenant, 0);
    const events = records.flatMap(record => record.events);
    expect(events.at(-1)).toMatchObject({schema: {indexes: [BY_EMAIL, {name: 'by_age'}]}});
  });

  test('is 400 by name where it is misspelled, and where it is no boolean', async () => {
    const {message} = expectError(await put([{...BY_EMAIL, uniqe: true}]), 400, 'op.invalid_input');
    expect(message).toContain('indexes.0.uniqe');
    expectError(await put([{...BY_EMAIL, unique: 1}]), 400, 'op.invalid_input');
  });

  test('is 400 with the first offenders where documents have the same values; nothing changes', async () => {
    await put([]);
    const before = await schema();
    await tenant.insertAll(
      'people',
      Array.from({length: 30}, (_, n) => ({email: `e${n % 15}`})),
    );
    const {detail, message} = expectError(await put([BY_EMAIL]), 400, 'op.schema_violation');
    expect(message).toContain('the same as in document');
    const offenders = detail!.offenders as {id: string; field: string}[];
    expect(offenders).toHaveLength(10);
    const docs = await tenant.list('people');
    const second = docs.find(({email}, i) => docs.findIndex(other => other.email === email) < i)!;
    expect(offenders[0]).toMatchObject({id: second._id, field: 'email', expected: expect.stringContaining('unique')});
    expect(await schema()).toEqual(before);
    expect((await insert({email: 'e0'})).status).toBe(201);
  });

  test('may be set and taken away of an index that is there', async () => {
    await put([{...BY_EMAIL, unique: false}]);
    const first = (await insert({email: 'a'})).body as {id: string};
    await put([BY_EMAIL]);
    expectClash(await insert({email: 'a'}), first.id);
    await put([{...BY_EMAIL, unique: false}]);
    expect((await insert({email: 'a'})).status).toBe(201);
  });
});

describe('a document with the values of another', () => {
  test('is 409 op.unique_violation that names it: of an insert, a patch, a put; nothing is written', async () => {
    await put([BY_EMAIL]);
    const a = await tenant.insert('people', {email: 'a'});
    const b = await tenant.insert('people', {email: 'b'});
    const before = (await journalAfter(tenant, 0)).records.length;
    const at = `/documents/people/${b}`;
    expectClash(await insert({email: 'a', more: 1}), a);
    expectClash(await tenant.request('PATCH', at, {patch: {email: 'a'}}), a);
    expectClash(await tenant.request('PUT', at, {fields: {email: 'a'}}), a);
    expectClash(await tenant.request('PUT', '/documents/people/mine', {fields: {email: 'a'}}), a);
    expect(await emails()).toEqual(['a', 'b']);
    expect((await journalAfter(tenant, 0)).records.length).toBe(before);
  });

  test('is let through once that one is gone or has others, and its own values are no clash', async () => {
    await put([BY_EMAIL]);
    const a = await tenant.insert('people', {email: 'a'});
    const b = await tenant.insert('people', {email: 'b'});
    await tenant.patch('people', a, {email: 'a', more: 1});
    await tenant.patch('people', a, {email: 'c'});
    await tenant.patch('people', b, {email: 'a'});
    await tenant.delete('people', a);
    await tenant.insert('people', {email: 'c'});
    expect(await emails()).toEqual(['a', 'c']);
  });

  test('without one of the fields, or with null there, is no other', async () => {
    await put([{...BY_EMAIL, fields: ['email', 'o.kind']}]);
    for (let i = 0; i < 2; i++) {
      for (const fields of [{}, {email: 'a'}, {email: 'a', o: {kind: null}}, {email: null, o: {kind: 1}}]) {
        expect((await insert(fields)).status).toBe(201);
      }
    }
    const first = await tenant.insert('people', {email: 'a', o: {kind: 1}});
    for (const [fields, status] of [
      [{email: 'a', o: {kind: 2}}, 201],
      [{email: 'a', o: {kind: '1'}}, 201],
      [{email: ['a'], o: {kind: 1}}, 201],
      [{email: 'a', o: {kind: 1.0}}, 409],
    ] as const) {
      expect([fields, (await insert(fields)).status]).toEqual([fields, status]);
    }
    expectClash(await insert({email: 'a', o: {kind: 1}}), first);
  });

  test('of many at once lets one through for each', async () => {
    await put([BY_EMAIL]);
    const replies = await Promise.all(Array.from({length: 60}, (_, n) => insert({email: `e${n % 3}`, n})));
    expect(replies.map(({status}) => status).sort()).toEqual([...Array(3).fill(201), ...Array(57).fill(409)]);
    expect((await emails()).toSorted()).toEqual(['e0', 'e1', 'e2']);
  });

  test('of a scheduled write is its failure, and of a function an error that it may catch', async () => {
    await put([BY_EMAIL]);
    await tenant.insert('people', {email: 'a'});
    const mutation = {type: 'insert', table: 'people', fields: {email: 'a'}};
    const {job_id: job}: {job_id: string} = (await tenant.request('POST', '/schedule', {run_after_ms: 0, mutation}))
      .body;
    const result = await until('the job to have run', async () => {
      const reply = await tenant.request('GET', `/schedule/history/${job}`);
      return reply.status === 200 && (reply.body as {result: JobResult}).result;
    });
    expect(result).toMatchObject({outcome: 'failed', error: expect.stringMatching(/^op\.unique_violation: /)});

    const app = await App.deploy(service, {
      'm.ts': `import {mutation} from './_generated/server';
        export const twice = mutation(async ({db}) => {
          await db.insert('people', {email: 'a'});
          try { await db.insert('people', {email: 'a'}); } catch (error) { return String(error); }
        });
        export const fails = mutation(async ({db}) => { await db.insert('people', {email: 'a'}); });`,
    });
    const indexes = [BY_EMAIL];
    expect((await app.admin('PUT', '/schema/people', {table: 'people', fields: [], indexes})).status).toBe(204);
    const call = async (path: string) => (await app.svc('POST', '/mutation', {path, args: {}})).text;
    expect(await call('m:twice')).toMatch(/"status":"success".*index by_email is unique/);
    expect(await call('m:fails')).toMatch(/"status":"error".*index by_email is unique/);
    expect((await app.admin('GET', '/documents/people')).body).toMatchObject({data: [{email: 'a'}]});
  });
});

describe('a transaction', () => {
  test('is taken back whole by a clash, which names the operation, and sees what it did itself', async () => {
    await put([BY_EMAIL]);
    const a = await tenant.insert('people', {email: 'a'});
    const other = {type: 'insert', table: 'people', fields: {email: 'b'}};
    expectClash(await transact([other, {...other, fields: {email: 'a'}}]), a, {operation: 1});
    const {detail} = expectError(await transact([{...other, id: 'x'}, other]), 409, 'op.unique_violation');
    expect(detail).toMatchObject({id: 'x', operation: 1});
    expect(await emails()).toEqual(['a']);
    const moved = await transact([
      {type: 'patch', table: 'people', id: a, patch: {email: 'c'}},
      {...other, fields: {email: 'a'}},
      {type: 'delete', table: 'people', id: a},
      {...other, fields: {email: 'c'}},
    ]);
    expect(moved.status).toBe(200);
    expect(await emails()).toEqual(['a', 'c']);
  });

  test('upserts by a unique index: the document that has the values, or a new one', async () => {
    await put([BY_EMAIL]);
    const upsert = (fields: object, more = {}) => ({type: 'upsert', table: 'people', by: 'by_email', fields, ...more});
    const {body} = await transact([
      upsert({email: 'a', n: 1}),
      upsert({email: 'a'}, {increment: {n: 1}}),
      upsert({email: 'b', of: {$ref: 0}}),
      upsert({email: 'b', n: 7}),
    ]);
    const {results}: {results: {id: string; created: boolean; version: string}[]} = body;
    expect(results.map(({created}) => created)).toEqual([true, false, true, false]);
    expect(results[1]!.id).toBe(results[0]!.id);
    const own = (await tenant.list('people')).map(({_id, _creationTime, _updateTime, ...rest}) => rest);
    expect(own).toEqual([
      {email: 'a', n: 2},
      {email: 'b', n: 7},
    ]);
    for (const [operation, status, code, named] of [
      [upsert({email: 'a'}, {id: 'x'}), 400, 'op.invalid_input', 'not both'],
      [upsert({email: 'a'}, {by: undefined}), 400, 'op.invalid_input', 'operations[0]: it must have an id, or by'],
      [upsert({email: 'a'}, {by: 'by_none'}), 400, 'op.invalid_input', '"by_none"'],
      [upsert({email: null}), 400, 'op.invalid_input', 'index by_email: email'],
      [upsert({email: 'new'}, {if_match: '*'}), 412, 'op.precondition_failed', 'by_email'],
      [upsert({email: 'a'}, {if_match: '1-1'}), 412, 'op.precondition_failed', results[0]!.id],
    ] as const) {
      expect(expectError(await transact([operation]), status, code).message).toContain(named);
    }
  });
});

describe('POST …/upsert', () => {
  const upsert = (body: object, headers = {}) =>
    tenant.request('POST', '/upsert', {table: 'people', by: 'by_email', ...body}, headers);

  test('is 201 of a new document and 200 of the one that has the values, with its ETag', async () => {
    await put([BY_EMAIL]);
    const made = await upsert({fields: {email: 'a', n: 1}}, {'idempotency-key': 'k'});
    const {id} = made.body as {id: string};
    expect([made.status, made.headers.etag]).toEqual([201, expect.stringMatching(/^"/)]);
    const again = await upsert({fields: {email: 'a', n: 1}}, {'idempotency-key': 'k'});
    expect([again.status, again.text]).toEqual([201, made.text]);
    const changed = await upsert({fields: {email: 'a'}, increment: {n: 5}}, {'if-match': String(made.headers.etag)});
    expect([changed.status, changed.text]).toEqual([200, made.text]);
    expectError(
      await upsert({fields: {email: 'a'}}, {'if-match': String(made.headers.etag)}),
      412,
      'op.precondition_failed',
    );
    expectError(await upsert({fields: {email: 'a'}}, {'if-none-match': '*'}), 412, 'op.precondition_failed');
    expect(await tenant.get('people', id)).toMatchObject({email: 'a', n: 6});
    expect((await upsert({fields: {email: 'a', only: 1}})).status).toBe(200);
    expect(await tenant.get('people', id)).not.toHaveProperty('n');
  });

  test('of many at once makes one document and loses no change', async () => {
    await put([BY_EMAIL]);
    const replies = await Promise.all(
      Array.from({length: 50}, () => upsert({fields: {email: 'a', n: 1}, increment: {n: 1}})),
    );
    expect(replies.filter(({status}) => status === 201)).toHaveLength(1);
    expect(await tenant.list('people')).toMatchObject([{n: 50}]);
  });

  test('is 400 that names what is wrong', async () => {
    await put([BY_EMAIL, {name: 'plain', fields: ['n']}]);
    for (const [body, named] of [
      [{fields: {email: 'a'}, feilds: 1}, 'feilds'],
      [{fields: []}, 'fields'],
      [{fields: {email: 'a'}, by: undefined}, 'by'],
      [{fields: {email: 'a'}, table: '1'}, '"1"'],
      [{fields: {email: 'a'}, table: 'never'}, 'table never has no unique index "by_email"'],
      [{fields: {email: 'a'}, by: 'plain'}, 'table people has no unique index "plain"'],
    ] as const) {
      expect(expectError(await upsert(body), 400, 'op.invalid_input').message).toContain(named);
    }
  });
});
