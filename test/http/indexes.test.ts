import {beforeEach, describe, expect, test} from 'vitest';
import {sharedService} from '../harness/shared-service.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let tenant: Tenant;
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await Tenant.make(service);
});

async function states(): Promise<string[]> {
  const {indexes}: {indexes: {state: string}[]} = (await tenant.request('GET', '/schema/t')).body;
  return indexes.map(index => index.state);
}

/** Queries that indexes on these fields serve, against what the list says. */
async function expectRightAnswers(): Promise<void> {
  const docs = await tenant.list('t');
  const byCreation = (found: Doc[]) => found.map(doc => doc._id);
  for (const a of [0, 3, 6, 7]) {
    const equal = await tenant.query({table: 't', filters: [{field: 'a', op: 'eq', value: a}]});
    expect(byCreation(equal)).toEqual(byCreation(docs.filter(doc => doc.a === a)));
  }
  const range = await tenant.query({
    table: 't',
    filters: [
      {field: 'a', op: 'eq', value: 2},
      {field: 'b', op: 'gte', value: 5},
    ],
    order: {field: 'b', direction: 'asc'},
  });
  expect(range.map(doc => doc.b)).toEqual(
    docs
      .filter(doc => doc.a === 2 && Number(doc.b) >= 5)
      .map(doc => Number(doc.b))
      .sort((x, y) => x - y),
  );
  const last = await tenant.query({table: 't', filters: [], order: {field: 'b', direction: 'desc'}, limit: 20});
  expect(last.map(doc => doc.b)).toEqual(
    docs
      .map(doc => Number(doc.b))
      .sort((x, y) => y - x)
      .slice(0, 20),
  );
}

const INDEXES = [
  {name: 'a', fields: ['a']},
  {name: 'ab', fields: ['a', 'b']},
  {name: 'b', fields: ['b']},
];

describe('indexes', () => {
  test('are enabled when PUT answers, for a table of fewer than 10,000 documents', async () => {
    await tenant.insertAll(
      't',
      Array.from({length: 1000}, (_, b) => ({a: b % 8, b})),
    );
    await tenant.putSchema('t', [], INDEXES);
    expect(await states()).toEqual(['enabled', 'enabled', 'enabled']);
    await expectRightAnswers();
  });

  test('follow every insert, patch and delete', async () => {
    await tenant.putSchema('t', [], INDEXES);
    for (let b = 0; b < 60; b++) await tenant.insert('t', {a: b % 8, b});
    for (const doc of await tenant.list('t')) {
      if (Number(doc.b) % 3 === 0) await tenant.patch('t', doc._id, {a: 7});
      if (Number(doc.b) % 3 === 1) await tenant.patch('t', doc._id, {b: Number(doc.b) + 100});
      if (Number(doc.b) % 7 === 0) await tenant.delete('t', doc._id);
    }
    await expectRightAnswers();
  });

  test('that are dropped and made again under the same name hold what is there now', async () => {
    await tenant.putSchema('t', [], INDEXES);
    for (let b = 0; b < 30; b++) await tenant.insert('t', {a: b % 8, b});
    await tenant.putSchema('t', [], []);
    for (const doc of await tenant.list('t')) await tenant.patch('t', doc._id, {a: (Number(doc.a) + 1) % 8});
    await tenant.putSchema('t', [], INDEXES);
    expect(await states()).toEqual(['enabled', 'enabled', 'enabled']);
    await expectRightAnswers();
    await tenant.putSchema(
      't',
      [],
      [
        {name: 'a', fields: ['b', 'a']},
        {name: 'b', fields: ['a']},
      ],
    );
    await expectRightAnswers();
  });

  test('of a table of 10,000 documents and more show building until they are complete; writes meanwhile are in them', async () => {
    const lines = Array.from({length: 10_000}, (_, b) => JSON.stringify({a: b % 8, b})).join('\n');
    const ndjson = {'content-type': 'application/x-ndjson'};
    expect((await tenant.request('POST', '/import?table=t', lines, ndjson)).status).toBe(200);
    const before = await tenant.list('t');
    // More indexes than are needed: building them all takes longer than looking.
    const more = Array.from({length: 8}, (_, i) => ({name: `x${i}`, fields: [`x${i}`, 'a', 'b']}));
    await tenant.putSchema('t', [], [...more, ...INDEXES]);
    const seen = [await states()];
    const writes = (async () => {
      for (let i = 0; i < 100; i++) {
        await tenant.insert('t', {a: i % 8, b: 20_000 + i});
        await tenant.patch('t', before[i * 3]!._id, {a: 7, b: 30_000 + i});
        await tenant.delete('t', before[i * 90 + 1]!._id);
      }
    })();
    await until('all indexes to be enabled', async () => {
      seen.push(await states());
      return seen.at(-1)!.every(state => state === 'enabled');
    });
    await writes;
    expect(seen[0]).toContain('building');
    for (const [i, now] of seen.entries()) {
      expect(now.filter(state => state !== 'building' && state !== 'enabled')).toEqual([]);
      for (const [j, state] of now.entries()) if (seen[i - 1]?.[j] === 'enabled') expect(state).toBe('enabled');
    }
    await expectRightAnswers();
  });
});

describe('indexed values of a document take 8 KiB at most', () => {
  test('a longer one is 400 on insert and patch, and names the index', async () => {
    await tenant.putSchema('t', [], INDEXES);
    const fits = await tenant.insert('t', {a: 'x'.repeat(8000)});
    const reply = await tenant.request('POST', '/documents', {table: 't', fields: {a: 'x'.repeat(8200)}});
    expect(expectError(reply, 400, 'op.invalid_input').message).toContain('index a');
    const patch = {b: 'x'.repeat(8200)};
    expectError(await tenant.request('PATCH', `/documents/t/${fits}`, {patch}), 400, 'op.invalid_input');
    expect(await tenant.query({table: 't', filters: [{field: 'a', op: 'eq', value: 'x'.repeat(8000)}]})).toHaveLength(
      1,
    );
    expect(await tenant.list('t')).toHaveLength(1);
  });

  test('documents with longer ones are offenders of a schema with that index', async () => {
    const id = await tenant.insert('t', {a: 'x'.repeat(8200)});
    const reply = await tenant.request('PUT', '/schema/t', {table: 't', fields: [], indexes: INDEXES});
    expect(expectError(reply, 400, 'op.schema_violation').detail!.offenders).toMatchObject([{id}]);
    expectError(await tenant.request('GET', '/schema/t'), 404, 'op.not_found');
  });
});
