/** Which indexes queries and functions read, and how far they are built. */
import {expect, test} from 'vitest';
import type {IndexList} from '../../shared/protocol/schema.ts';
import {App} from '../functions/app.ts';
import {sharedService} from '../harness/shared-service.ts';

const service = await sharedService();

const SCHEMA = `
  import {defineSchema, defineTable} from 'svc/server';
  import {v} from 'svc/values';
  const notes = defineTable({a: v.number(), b: v.number()}).index('by_a', ['a']).index('by_b', ['b']);
  export default defineSchema({notes, more: defineTable({a: v.number()}).index('by_a', ['a'])});`;
const NOTES = `
  import {mutation, query} from './_generated/server';
  const of = (ctx, name, field) => ctx.db.query('notes').withIndex(name, q => q.eq(field, 1)).collect();
  export const read = query(ctx => of(ctx, 'by_b', 'b'));
  export const write = mutation(ctx => ctx.db.query('more').withIndex('by_a', q => q.eq('a', 1)).collect());`;

test('an index has the time of its last read, by queries, functions and the threads that scan', async () => {
  const app = await App.deploy(service, {'schema.ts': SCHEMA, 'notes.ts': NOTES});
  const lines = Array.from({length: 1_500}, () => '{"a":1,"b":1}').join('\n');
  const sent = {'content-type': 'application/x-ndjson'};
  const half = async () => expect((await app.admin('POST', '/import?table=notes', lines, sent)).status).toBe(200);
  await half();
  const read = async () => {
    const {since, indexes} = (await app.admin('GET', '/indexes')).body as IndexList;
    expect(since).toBeLessThanOrEqual(Date.now());
    return Object.fromEntries(
      indexes.map(({table, name, built, documents, last_read_at: last}) => [
        `${table}.${name}`,
        [built, documents, last !== null],
      ]),
    );
  };
  expect(await read()).toEqual({
    'notes.by_a': [1, 1_500, false],
    'notes.by_b': [1, 1_500, false],
    'more.by_a': [1, 0, false],
  });
  await half();
  await app.query('notes:read', {});
  expect(await read()).toMatchObject({'notes.by_b': [1, 3_000, true], 'notes.by_a': [1, 3_000, false]});
  await app.mutation('notes:write', {});
  // It reads so much that a thread does it.
  await app.admin('POST', '/query', {
    table: 'notes',
    filters: [
      {field: 'a', op: 'eq', value: 1},
      {field: 'b', op: 'eq', value: 2},
    ],
  });
  expect(await read()).toEqual({
    'notes.by_a': [1, 3_000, true],
    'notes.by_b': [1, 3_000, true],
    'more.by_a': [1, 0, true],
  });
});
