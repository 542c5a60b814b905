/** What every wrong use of `ctx.db` says, and that a call that failed has changed nothing. */
import {afterAll, describe, expect, test} from 'vitest';
import {HostOp} from '../../../worker/runtime/guest/host-call.ts';
import {state} from '../../../worker/runtime/guest/state.ts';
import {type Db, errorOf, type FilterBuilder, type RangeBuilder, TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());
const {name: t} = tenant.newTable([['a'], ['a', 'b']]);
const {name: building} = tenant.newTable([['a']], 'building');
const one = tenant.insertNative(tenant.writer.table(t), {a: 1, b: 'x'});
tenant.insertNative(tenant.writer.table(t), {a: 1, b: 'y'});

type Case = [what: string, call: (db: Db) => unknown, error: string];
const ranged = (range: (q: RangeBuilder) => unknown) => (db: Db) => db.query(t).withIndex('a_b', range).collect();
const filtered = (predicate: unknown) => (db: Db) => db.query(t).filter(predicate).collect();
const field = (make: (q: FilterBuilder) => unknown) => filtered(make);
const paged = (options: unknown) => (db: Db) => db.query(t).paginate(options);

const READS: Case[] = [
  ['[24] get of nothing', db => db.get(), "TypeError: Must provide arg 1 'id' to 'get'"],
  [
    '[24] get of a number',
    db => db.get(7),
    "Error: Invalid argument 'id' for 'db.get', expected string but got 'number'",
  ],
  ['get of null', db => db.get(null), "Error: Invalid argument 'id' for 'db.get', expected string but got 'object'"],
  ['[24] get of garbage', db => db.get('zzz'), "Error: Invalid argument 'id' for 'db.get': Unable to decode ID"],
  ['get with a table', db => db.get(t, one), 'Error: db.get with two arguments is not supported; use db.get(id)'],
  ['system', db => db.system.query(), 'Error: db.system is not supported'],
  ['normalizeId', db => db.normalizeId(), 'Error: db.normalizeId is not supported'],
  ['table', db => db.table(), 'Error: db.table is not supported'],
  ['replace', db => db.replace(), 'Error: db.replace is not supported; use db.patch'],
  ['a query of nothing', db => db.query(undefined), "TypeError: Must provide arg 1 'tableName' to 'query', a string"],
  ['a system table', db => db.query('_t').collect(), 'Error: "_t" is a system table, which cannot be queried'],
  [
    'no table name',
    db => db.query('1t').collect(),
    'Error: Invalid table name "1t": a letter, then letters, digits and underscores, at most 64',
  ],
  ['a search', db => db.query(t).withSearchIndex(), 'Error: withSearchIndex is not supported'],
  ['order twice', db => db.query(t).order('asc').order('desc'), 'Error: Queries may only specify order at most once'],
  [
    'an unknown order',
    db => db.query(t).order('up'),
    `Error: Invalid argument 'order' for 'order': it is "asc" or "desc"`,
  ],
  ['take of a fraction', db => db.query(t).take(1.5), "TypeError: Arg 1 'n' to 'take' must be a non-negative integer"],
  [
    'take of less than nothing',
    db => db.query(t).take(-1),
    "TypeError: Arg 1 'n' to 'take' must be a non-negative integer",
  ],
  ['take of a text', db => db.query(t).take('1'), "TypeError: Arg 1 'n' to 'take' must be a non-negative integer"],
  [
    'withIndex of nothing',
    db => db.query(t).withIndex(undefined),
    "TypeError: Must provide arg 1 'indexName' to 'withIndex', a string",
  ],
];

const RANGES: Case[] = [
  ['an unknown index', db => db.query(t).withIndex('by_x').collect(), `Error: Index ${t}.by_x not found.`],
  [
    'an index of a table that is not there',
    db => db.query('never').withIndex('a').collect(),
    'Error: Index never.a not found.',
  ],
  [
    'an index that is being built',
    db => db.query(building).withIndex('a').collect(),
    `Error: Index ${building}.a is currently backfilling and not available to query yet.`,
  ],
  [
    '[30] bounds on two fields',
    ranged(q => q.gt('a', 1).lt('b', 2)),
    'Error: Upper and lower bounds in range can only be applied to a single index field.',
  ],
  [
    '[30] a field before its turn',
    ranged(q => q.eq('b', 1)),
    `Error: Tried to query index ${t}.a_b but the query didn't use the index fields in order.`,
  ],
  [
    'a bound before its turn',
    ranged(q => q.gt('b', 1)),
    `Error: Tried to query index ${t}.a_b but the query didn't use the index fields in order.`,
  ],
  [
    'a creation time before its turn',
    ranged(q => q.eq('a', 1).gt('_creationTime', 1)),
    `Error: Tried to query index ${t}.a_b but the query didn't use the index fields in order.`,
  ],
  [
    '[30] a field that is not indexed',
    ranged(q => q.eq('c', 1)),
    `Error: The index range included a comparison with "c", but ${t}.a_b with fields ["a","b"] doesn't index this field.`,
  ],
  [
    '[30] two lower bounds',
    ranged(q => q.gt('a', 1).gte('a', 2)),
    'Error: Already defined lower bound in index range. Can\'t add "a" >= 2.',
  ],
  [
    'two upper bounds',
    ranged(q => q.lte('a', 1).lt('a', 2)),
    'Error: Already defined upper bound in index range. Can\'t add "a" < 2.',
  ],
  ['[30] eq twice', ranged(q => q.eq('a', 1).eq('a', 2)), 'Error: Already defined equality bound in index range.'],
  ['a bound and eq', ranged(q => q.gt('a', 1).eq('a', 2)), 'Error: Already defined inequality bound in index range.'],
  ['eq and a bound', ranged(q => q.eq('a', 1).gt('a', 2)), 'Error: Already defined inequality bound in index range.'],
  ['neq twice', ranged(q => q.neq('a', 1).neq('a', 2)), 'Error: Already defined inequality bound in index range.'],
  ['neq and eq', ranged(q => q.neq('a', 1).eq('a', 2)), 'Error: Already defined inequality bound in index range.'],
  [
    'neq and a bound elsewhere',
    ranged(q => q.neq('a', 1).gt('b', 2)),
    'Error: Upper and lower bounds in range can only be applied to a single index field.',
  ],
  [
    'a builder used twice',
    ranged(q => [q.eq('a', 1), q.eq('b', 2)].at(1)),
    'Error: IndexRangeBuilder has already been used! Chain your method calls like `q => q.eq(...).eq(...)`.',
  ],
  [
    'a range that is no function',
    db => db.query(t).withIndex('a', 5),
    "TypeError: Arg 2 'indexRange' to 'withIndex' must be a function",
  ],
  ['a range of something else', ranged(() => 5), 'TypeError: The range of withIndex must return what its builder made'],
  [
    'a creation time in by_id',
    db =>
      db
        .query(t)
        .withIndex('by_id', (q: RangeBuilder) => q.eq('_creationTime', 1))
        .collect(),
    `Error: The index range included a comparison with "_creationTime", but ${t}.by_id with fields ["_id"] doesn't index this field.`,
  ],
  [
    'a bound that is no value',
    ranged(q => q.eq('a', new Date(0))),
    'ValueError: Date 1970-01-01T00:00:00.000Z is not a supported svc type',
  ],
];

const FILTERS: Case[] = [
  ['no predicate', filtered(undefined), "TypeError: Must provide arg 1 'predicate' to 'filter', a function"],
  [
    '[33] a sum with a text',
    field(q => q.gt!(q.add!(q.field!('a'), q.field!('b')), 1)),
    'Error: Cannot add 1 (type number) and "x" (type string)',
  ],
  [
    'a sum with what is missing',
    field(q => q.gt!(q.add!(q.field!('c'), 1), 1)),
    'Error: Cannot add undefined (type undefined) and 1 (type number)',
  ],
  ['a negative text', field(q => q.eq!(q.neg!(q.field!('b')), 1)), 'Error: Cannot negate "x" (type string)'],
  [
    'a number as a result',
    field(q => q.field!('a')),
    'Error: The result of a filter must be a boolean, but it is 1 (type number)',
  ],
  [
    'nothing as a result',
    filtered(() => undefined),
    'Error: The result of a filter must be a boolean, but it is undefined (type undefined)',
  ],
  [
    'and of a number',
    field(q => q.and!(true, q.field!('a'))),
    'Error: The operands of and must be booleans, but one is 1 (type number)',
  ],
  [
    'or of a text',
    field(q => q.or!(q.field!('b'))),
    'Error: The operands of or must be booleans, but one is "x" (type string)',
  ],
  ['not of null', field(q => q.not!(null)), 'Error: The operands of not must be booleans, but one is null (type null)'],
  [
    'a path of no field',
    field(q => q.eq!(q.field!('a..b'), 1)),
    'Error: "a..b" is not a field path: its steps are separated by single dots, at most 1024 characters in all',
  ],
  [
    'an empty path',
    field(q => q.eq!(q.field!(''), 1)),
    'Error: "" is not a field path: its steps are separated by single dots, at most 1024 characters in all',
  ],
];

const PAGES: Case[] = [
  ['no options', paged(undefined), "TypeError: Must provide arg 1 'options' to 'paginate', an object"],
  ['no count', paged({cursor: null}), 'Error: options.numItems must be a positive number'],
  ['a negative count', paged({numItems: -1, cursor: null}), 'Error: options.numItems must be a positive number'],
  [
    'a count of nothing',
    paged({numItems: 0, cursor: null}),
    'Error: Must request at least 1 document while paginating',
  ],
  [
    'a count too high',
    paged({numItems: 32_001, cursor: null}),
    'Error: Requested too many items: 32001 (maximum 32000)',
  ],
  [
    'a number as a cursor',
    paged({numItems: 1, cursor: 5}),
    'Error: InvalidCursor: the cursor cannot be used here: it is not a cursor',
  ],
  [
    'a text as a cursor',
    paged({numItems: 1, cursor: 'abc'}),
    'Error: InvalidCursor: the cursor cannot be used here: it is not a cursor',
  ],
  [
    'a text as an end',
    paged({numItems: 1, cursor: null, endCursor: 'W10'}),
    'Error: InvalidCursor: the cursor cannot be used here: it is not a cursor',
  ],
  [
    'a budget of nothing',
    paged({numItems: 1, cursor: null, maximumRowsRead: 0}),
    'Error: options.maximumRowsRead must be a positive number',
  ],
  [
    'two pages',
    async db => [await paged({numItems: 1, cursor: null})(db), await paged({numItems: 1, cursor: null})(db)],
    'Error: This function ran multiple paginated queries. Only a single paginated query is supported in each function.',
  ],
];

describe('a wrong read says what is wrong with it', () => {
  test.each([...READS, ...RANGES, ...FILTERS, ...PAGES])('%s', async (_, call, error) => {
    expect(await tenant.query(db => errorOf(() => call(db)))).toBe(error);
    expect(await tenant.mutation(db => errorOf(() => call(db)))).toBe(error);
  });

  test.each<[string, (db: Db) => unknown]>([
    ['insert', db => db.insert(t, {a: 1})],
    ['patch', db => db.patch(one, {a: 1})],
    ['delete', db => db.delete(one)],
  ])('a query that calls %s gets the error that it only reads', async (name, call) => {
    expect(await tenant.query(db => errorOf(() => call(db)))).toBe(
      `Error: db.${name} is not available in queries, which only read`,
    );
  });

  test('an infinite page is too many items', async () => {
    const error = await tenant.query(db =>
      errorOf(() => paged({numItems: Number.POSITIVE_INFINITY, cursor: null})(db)),
    );
    expect(error).toContain('Error: Requested too many items');
  });
});

const long = 'x'.repeat(9_000);
const WRITES: Case[] = [
  ['insert of nothing', db => db.insert(), "TypeError: Must provide arg 1 'table' to 'insert'"],
  ['insert without a value', db => db.insert(t), "TypeError: Must provide arg 2 'value' to 'insert'"],
  [
    'insert into a number',
    db => db.insert(5, {}),
    "Error: Invalid argument 'table' for 'db.insert', expected string but got 'number'",
  ],
  [
    '[22] insert into a system table',
    db => db.insert('_t', {}),
    'Error: System tables (prefixed with _) are read-only',
  ],
  [
    'insert into what is no name',
    db => db.insert('a-b', {}),
    'Error: Invalid table name "a-b": a letter, then letters, digits and underscores, at most 64',
  ],
  [
    'insert of a text',
    db => db.insert(t, 'x'),
    "Error: Invalid argument 'value' for 'db.insert': Value must be an Object",
  ],
  [
    'insert of an array',
    db => db.insert(t, []),
    "Error: Invalid argument 'value' for 'db.insert': Value must be an Object",
  ],
  [
    'insert with an id',
    db => db.insert(t, {_id: one}),
    "Error: Provided document ID doesn't match: _id is given by the database",
  ],
  [
    '[22] insert with a creation time',
    db => db.insert(t, {_creationTime: 5}),
    "Error: Provided creation time _creationTime doesn't match: it is given by the database",
  ],
  [
    'insert with an update time',
    db => db.insert(t, {_updateTime: 5}),
    "Error: Provided update time _updateTime doesn't match: it is given by the database",
  ],
  [
    '[22] insert with an underscore',
    db => db.insert(t, {_x: 1}),
    "Error: Field '_x' starts with an underscore, which is only allowed for system fields",
  ],
  [
    'insert of a document too large',
    db => db.insert(t, {a: 'x'.repeat(2 ** 20)}),
    'Error: Value is too large (1.01 MiB > maximum size 1 MiB)',
  ],
  [
    'insert of a value too long for its index',
    db => db.insert(t, {a: long}),
    'Error: the indexed values of index a take 9002 bytes; the limit is 8192',
  ],
  [
    'insert of a lone surrogate',
    db => db.insert(t, {a: '\ud800'}),
    'ValueError: String is not valid Unicode: it has an unpaired surrogate (present at path .a in original object {"a":"\\ud800"})',
  ],
  [
    'insert of a reserved key',
    db => db.insert(t, {a: {$b: 1}}),
    'ValueError: Field name "$b" starts with \'$\', which is reserved (present at path .a.$b in original object {"a":{"$b":1}})',
  ],
  ['patch of nothing', db => db.patch(), "TypeError: Must provide arg 1 'id' to 'patch'"],
  ['patch without a value', db => db.patch(one), "TypeError: Must provide arg 2 'value' to 'patch'"],
  [
    'patch with null',
    db => db.patch(one, null),
    "Error: Invalid argument 'value' for 'db.patch': Value must be an Object",
  ],
  [
    'patch with a text',
    db => db.patch(one, 'x'),
    "Error: Invalid argument 'value' for 'db.patch': Value must be an Object",
  ],
  ['patch of garbage', db => db.patch('zzz', {}), "Error: Invalid argument 'id' for 'db.patch': Unable to decode ID"],
  [
    'patch with another id',
    db => db.patch(one, {_id: 'x'}),
    "Error: Provided _id doesn't match the document's, which never changes",
  ],
  [
    'patch with another creation time',
    db => db.patch(one, {_creationTime: 1}),
    "Error: Provided _creationTime doesn't match the document's, which never changes",
  ],
  [
    'patch with an underscore',
    db => db.patch(one, {_x: 1}),
    "Error: Field '_x' starts with an underscore, which is only allowed for system fields",
  ],
  [
    'patch with a value too long for its index',
    db => db.patch(one, {a: long}),
    'Error: the indexed values of index a take 9002 bytes; the limit is 8192',
  ],
  ['delete of nothing', db => db.delete(), "TypeError: Must provide arg 1 'id' to 'delete'"],
  ['delete of garbage', db => db.delete('zzz'), "Error: Invalid argument 'id' for 'db.delete': Unable to decode ID"],
];

describe('a wrong write says what is wrong with it, and changes nothing', () => {
  test.each(WRITES)('%s', async (_, call, error) => {
    const all = (db: Db) => db.query(t).collect();
    const before = await tenant.query(all);
    const caught = await tenant.mutation(db => errorOf(() => call(db)));
    expect(caught.replace(/1\.0\d MiB/, '1.01 MiB')).toBe(error);
    expect(await tenant.query(all)).toEqual(before);
    expect(await tenant.query(db => db.query(t).withIndex('a').collect())).toEqual(before);
  });

  test('ids of tables that are not there', async () => {
    const scratch = new TenantDatabase();
    let foreign = '';
    for (let i = 0; i < 5; i++) foreign = scratch.insertNative(scratch.newTable(), {});
    scratch.close();
    expect(await tenant.query(db => db.get(foreign))).toBeNull();
    expect(await tenant.mutation(db => errorOf(() => db.patch(foreign, {})))).toBe(
      `Error: Table for ID "${foreign}" not found`,
    );
    expect(await tenant.mutation(db => errorOf(() => db.delete(foreign)))).toBe(
      `Error: Table for ID "${foreign}" not found`,
    );
  });

  test('a query cannot write, for any caller', async () => {
    const answer = await tenant.query(() => state.host(HostOp.insert, t, '{}'));
    expect(answer).toBe('-{"name":"Error","message":"the database cannot be written in a query"}');
  });
});
