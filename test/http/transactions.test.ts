/** Transactions: several operations in one commit and one record, all or none. */
import fc from 'fast-check';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {TRANSACTION_BYTES_MAX, TRANSACTION_REPLACED_CHARS_MAX} from '../../worker/api/limits.ts';
import {bootstrap, canonical, checkChain, journalAfter, replay} from '../harness/journal.ts';
import {nightly, rounds} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

const service = await sharedService();
let tenant: Tenant;
/** A table, an id and a key that nobody has used. */
let table: string;
let mine: string;
let tests = 0;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => {
  service.showLogOnFailure();
  table = `t${++tests}`;
  mine = `mine-${tests}`;
});

type Result = {id: string; version?: string; created?: boolean; job_id?: string};
const send = (operations: object[], more = {}, headers = {}) =>
  tenant.request('POST', '/transactions', {operations, ...more}, headers);
async function made(operations: object[], more = {}, headers = {}): Promise<Result[]> {
  const {status, text, body} = await send(operations, more, headers);
  expect([status, text]).toEqual([200, text]);
  return (body as {results: Result[]}).results;
}
const head = async () => (await journalAfter(tenant, 0)).records.length;
const own = async (name = table) => (await tenant.list(name)).map(({_id, _creationTime, _updateTime, ...rest}) => rest);
const insert = (fields: object, more = {}) => ({type: 'insert', table, fields, ...more});
/** The same where no test runs yet. */
const some = (fields: object, more = {}) => ({type: 'insert', table: 't', fields, ...more});

describe('a transaction', () => {
  test('makes every kind of operation in one record; results come by position', async () => {
    const id = await tenant.insert(table, {n: 1});
    const gone = await tenant.insert(table, {n: 2});
    const before = await head();
    const results = await made([
      insert({n: 10}, {id: mine}),
      {type: 'patch', table, id, patch: {a: 1}, increment: {n: 5}, unset: ['x']},
      {type: 'replace', table, id: mine, fields: {n: 11}},
      {type: 'upsert', table, id: `${mine}-up`, fields: {n: 20}},
      {type: 'upsert', table, id: `${mine}-up`, fields: {n: 21}},
      {type: 'upsert', table, id: `${mine}-up`, fields: {}, increment: {n: 1}},
      {type: 'delete', table, id: gone},
      {type: 'schedule', run_after_ms: 600_000, mutation: {type: 'delete', table, id}},
    ]);
    expect(results).toEqual([
      {id: mine, version: expect.any(String)},
      {id, version: expect.any(String)},
      {id: mine, version: expect.any(String)},
      {id: `${mine}-up`, version: expect.any(String), created: true},
      {id: `${mine}-up`, version: expect.any(String), created: false},
      {id: `${mine}-up`, version: expect.any(String), created: false},
      {id: gone},
      {job_id: expect.any(String)},
    ]);
    expect(await own()).toEqual([{a: 1, n: 6}, {n: 11}, {n: 22}]);
    const {records} = await journalAfter(tenant, before);
    expect(records.map(({writes, events}) => [writes.length, events.length])).toEqual([[7, 8]]);
    const reply = await tenant.request('GET', `/documents/${table}/${mine}`);
    expect(reply.headers.etag).toBe(`"${results[2]!.version}"`);
    expect((await tenant.request('GET', `/schedule/${results[7]!.job_id}`)).status).toBe(200);
  });

  test('refers to what it has made: as an id, inside values, and in what it schedules', async () => {
    const results = await made([
      insert({name: 'order'}),
      insert({order: {$ref: 0}, deep: [{of: [{$ref: 0}]}]}),
      {type: 'patch', table, id: {$ref: 0}, patch: {line: {$ref: 1}}, append: {lines: [{$ref: 1}]}},
      {
        type: 'schedule',
        run_after_ms: 600_000,
        mutation: {type: 'update', table, id: {$ref: 0}, patch: {by: {$ref: 1}}},
      },
      {type: 'patch', table, id: {$ref: 0}, patch: {job: {$ref: 3}}},
      {type: 'delete', table, id: {$ref: 1}},
    ]);
    const [order, line, , job] = results.map(({id, job_id}) => id ?? job_id);
    expect(await own()).toEqual([{job, line, lines: [line], name: 'order'}]);
    expect((await tenant.request('GET', `/schedule/${job}`)).body).toMatchObject({
      job: {mutation: {type: 'update', table, id: order, patch: {by: line}}},
    });
    expect(results[5]).toEqual({id: line});
  });

  test.each([
    ['an operation that is not there', 404, 'op.not_found', {type: 'patch', id: 'none', patch: {}}],
    ['one that is there', 409, 'op.conflict', {type: 'insert', id: 'taken', fields: {}}],
    ['another version', 412, 'op.precondition_failed', {type: 'delete', id: 'taken', if_match: '1-1'}],
    ['a replace of nothing', 404, 'op.not_found', {type: 'replace', id: 'none', fields: {}}],
    ['a field of another type', 409, 'op.conflict', {type: 'patch', id: 'taken', increment: {s: 1}}],
  ])('that meets %s is taken back whole, and names the position', async (_, status, code, last) => {
    const taken = `${mine}-taken`;
    await made([insert({s: 'x'}, {id: taken})]);
    const before = await head();
    const failing = {...last, table, ...(last.id === 'taken' ? {id: taken} : {})};
    const {message, detail} = expectError(await send([insert({}), insert({}), failing, insert({})]), status, code);
    expect(message).toMatch(/^operations\[2\]/);
    expect(detail).toMatchObject({operation: 2});
    expect(await own()).toEqual([{s: 'x'}]);
    expect(await head()).toBe(before);
  });

  test.each([
    ['no operations', {operations: []}, 'operations'],
    ['no list', {}, 'operations'],
    ['an unknown member', {operations: [{type: 'delete', table: 't', id: 'x'}], dry: true}, 'dry'],
    ['an unknown type', {operations: [{type: 'update', table: 't', id: 'x'}]}, 'operations.0.type'],
    ['an unknown member of an operation', {operations: [some({}, {feilds: 1})]}, 'operations[0].feilds'],
    ['a missing one', {operations: [{type: 'patch', table: 't', patch: {}}]}, 'operations[0]'],
    ['a patch of nothing', {operations: [{type: 'patch', table: 't', id: 'x'}]}, 'operations[0]: it must have'],
    ['a bad value', {operations: [some({}), some({_a: 1})]}, 'operations[1]: fields._a'],
    ['a reference to itself', {operations: [some({a: {$ref: 0}})]}, '{"$ref": 0}'],
    ['a reference to a later one', {operations: [some({a: {$ref: 1}}), some({})]}, '{"$ref": 1}'],
    ['a reference that is no number', {operations: [some({}), some({a: {$ref: '0'}})]}, '{"$ref": "0"}'],
    ['a reference with more', {operations: [some({}), some({a: {$ref: 0, b: 1}})]}, 'operations[1]: a reference'],
    ['a reference to a delete', {operations: [{type: 'delete', table: 't', id: 'x'}, some({a: {$ref: 0}})]}, 'delete'],
    ['a reference as a table', {operations: [some({}), some({}, {table: {$ref: 0}})]}, 'operations[1].table'],
    ['a bad mutation', {operations: [{type: 'schedule', run_after_ms: 1, mutation: {type: 'delete'}}]}, 'mutation'],
    ['too many', {operations: Array(1001).fill(some({}))}, 'operations'],
  ])('with %s is 400 that names it, and nothing is written', async (_, body, named) => {
    const before = await head();
    const {message} = expectError(await tenant.request('POST', '/transactions', body), 400, 'op.invalid_input');
    expect(message).toContain(named);
    expect(await head()).toBe(before);
  });

  test('finds no document by an id that is no text, which SQLite would look for with other characters', async () => {
    const id = `${mine}-\ufffd`;
    const none = `${mine}-\ud800`;
    await made([insert({}, {id})]);
    expectError(await send([{type: 'delete', table, id: none}]), 404, 'op.not_found');
    expectError(await send([{type: 'patch', table, id: none, patch: {a: 1}}]), 404, 'op.not_found');
    expectError(await send([{type: 'upsert', table, id: none, fields: {}}]), 400, 'op.invalid_input');
    expect(await own()).toEqual([{}]);
  });

  test('checks versions as If-Match does, with and without quotes', async () => {
    const [{id, version}] = (await made([insert({n: 0})])) as [Required<Result>];
    const [patched] = await made([{type: 'patch', table, id, patch: {n: 1}, if_match: version}]);
    await made([{type: 'replace', table, id, fields: {n: 2}, if_match: `"${patched!.version}"`}]);
    const reply = await send([{type: 'upsert', table, id, fields: {}, if_match: version}]);
    expect(expectError(reply, 412, 'op.precondition_failed').detail).toMatchObject({id, operation: 0});
    const {detail} = expectError(
      await send([{type: 'upsert', table, id: mine, fields: {}, if_match: '*'}]),
      412,
      'op.precondition_failed',
    );
    expect(detail).toEqual({id: mine, version: null, operation: 0});
  });

  test('sent again with its Idempotency-Key is answered as first and made once', async () => {
    const key = {'idempotency-key': mine};
    const first = await made([insert({n: 1})], {}, key);
    expect(await made([insert({n: 1})], {}, key)).toEqual(first);
    expect(await own()).toEqual([{n: 1}]);
    expectError(await send([insert({n: 2})], {}, key), 409, 'op.conflict');
  });

  test('as a dry run says what would be, or what would fail, and leaves nothing behind', async () => {
    const id = await tenant.insert(table, {n: 1});
    const before = await head();
    const key = {'idempotency-key': mine};
    const operations = [
      {type: 'patch', table, id, increment: {n: 1}},
      insert({}),
      {...insert({}), table: `${table}new`},
    ];
    const results = await made(operations, {dry_run: true}, key);
    expect(results.map(result => Object.keys(result))).toEqual(Array(3).fill(['id', 'version']));
    expectError(await send([...operations, insert({}, {id})], {dry_run: true}), 400, 'op.invalid_input');
    expect(await own()).toEqual([{n: 1}]);
    expect(await head()).toBe(before);
    expect(Object.keys((await bootstrap(tenant)).snapshot.documents)).not.toContain(`${table}new`);
    expect(await made(operations, {}, key)).toHaveLength(3); // the key was not used
    expect(await head()).toBe(before + 1);
  });

  test('of 1,000 operations lets readers in between, and writes wait for it', async () => {
    const long = made(Array.from({length: 1000}, (_, n) => insert({n, text: 'x'.repeat(500)})));
    let isOver = false;
    void long.then(() => {
      isOver = true;
    });
    while (!isOver) expect([0, 1000]).toContain((await tenant.list(table)).length);
    expect(await own()).toHaveLength(1000);
  });

  test('that would write more than so many bytes is 413 at the operation that does', async () => {
    const text = 'x'.repeat(1_000_000);
    await made([insert({text}, {id: mine})]);
    const patches = Array.from({length: 20}, (_, n) => ({type: 'patch', table, id: mine, patch: {n}}));
    const {detail} = expectError(await send(patches), 413, 'op.too_large');
    expect(detail).toEqual({operation: Math.floor(TRANSACTION_BYTES_MAX / 1_000_020)});
    expect(await own()).toEqual([{text}]);
  });

  nightly.test('that would change or delete more than so much is 413 at the operation that does', async () => {
    const text = 'x'.repeat(1_000_000);
    const most = Math.floor(TRANSACTION_REPLACED_CHARS_MAX / `{"text":"${text}"}`.length);
    const ids = await Promise.all(Array.from({length: most + 2}, () => tenant.insert(table, {text})));
    const operations = ids.map((id, i) =>
      i % 2 === 0 ? {type: 'delete', table, id} : {type: 'patch', table, id, unset: ['text']},
    );
    const {message, detail} = expectError(await send(operations), 413, 'op.too_large');
    expect([message, detail]).toEqual([expect.stringContaining('changes and deletes'), {operation: most}]);
    expect(await made(operations.slice(0, most))).toHaveLength(most);
    expect(await own()).toHaveLength(2 + Math.floor(most / 2));
  });
});

/* A naive model: a map of documents, changed on a copy that is kept or thrown away. */

const id = fc.constantFrom('a', 'b', 'c', 'd');
const n = fc.integer({min: 0, max: 9});
const step = fc.oneof(
  fc.record({type: fc.constant('insert' as const), id, n}),
  fc.record({type: fc.constant('patch' as const), id, n}),
  fc.record({type: fc.constant('replace' as const), id, n}),
  fc.record({type: fc.constant('upsert' as const), id, n, adds: fc.boolean()}),
  fc.record({type: fc.constant('delete' as const), id}),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function operationOf(step: Step, at: (id: string) => string): object {
  const target = {type: step.type, table: 'm', id: at(step.id)};
  if (step.type === 'insert' || step.type === 'replace') return {...target, fields: {n: step.n}};
  if (step.type === 'patch') return {...target, increment: {n: step.n}};
  if (step.type === 'upsert') return {...target, fields: {n: step.n}, ...(step.adds ? {increment: {n: step.n}} : {})};
  return target;
}

/** @returns whether it may be made */
function applied(step: Step, documents: Map<string, number>): boolean {
  const there = documents.get(step.id);
  if (step.type === 'insert' ? there !== undefined : step.type !== 'upsert' && there === undefined) return false;
  if (step.type === 'delete') documents.delete(step.id);
  else {
    const adds = step.type === 'patch' || (step.type === 'upsert' && step.adds && there !== undefined);
    documents.set(step.id, adds ? there! + step.n : step.n);
  }
  return true;
}

test('whatever transactions are sent at once, each happens whole or not, and list, journal and bootstrap agree', async () => {
  const clients = fc.array(fc.array(fc.array(step, {minLength: 1, maxLength: 8}), {minLength: 5, maxLength: 10}), {
    minLength: 4,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(clients, async clientTransactions => {
      tenant = await Tenant.make(service);
      const fresh = await bootstrap(tenant);
      // Each client has documents of its own; a total that all of them increment says what was made.
      await made([{type: 'insert', table: 'm', id: 'total', fields: {n: 0}}]);
      let total = 0;
      const expected = new Map<string, number>();
      await Promise.all(
        clientTransactions.map(async (transactions, client) => {
          let model = new Map<string, number>();
          for (const steps of transactions) {
            const copy = new Map(model);
            const failing = steps.findIndex(step => !applied(step, copy));
            const operations = steps.map(step => operationOf(step, name => `${client}-${name}`));
            const counted = [{type: 'patch', table: 'm', id: 'total', increment: {n: 1}}, ...operations];
            const {status, body} = await send(counted);
            if (failing === -1) {
              expect(status).toBe(200);
              model = copy;
              total++;
            } else {
              const {error} = body as {error: {detail: {operation: number}}};
              expect([status, error.detail.operation]).toEqual([
                steps[failing]!.type === 'insert' ? 409 : 404,
                failing + 1,
              ]);
            }
          }
          for (const [name, value] of model) expected.set(`${client}-${name}`, value);
        }),
      );
      expected.set('total', total);
      const listed = await tenant.list('m');
      expect(listed.map(({_id, n}) => [_id, n]).sort()).toEqual([...expected].sort());
      const {records, texts} = await journalAfter(tenant, 0);
      checkChain(texts);
      expect(records).toHaveLength(total + 1);
      for (const start of [fresh, await bootstrap(tenant)]) {
        const tail = records.filter(({sequence}) => sequence > start.resume_after_sequence);
        expect((replay(start, tail).get('m') ?? []).map(canonical)).toEqual(listed.map(canonical));
      }
      await service.request('DELETE', `/api/tenants/${tenant.id}`);
    }),
    {numRuns: rounds({commit: 3, nightly: 20})},
  );
});
