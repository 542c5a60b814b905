import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import type {AnswerOf} from '../../shared/operation-types.ts';
import {sharedService} from '../harness/shared-service.ts';
import {expectError, Tenant} from '../harness/tenant.ts';

type QueryPage = AnswerOf<'query.paginated'>;
type QueryResult = AnswerOf<'query.run'>;

const service = await sharedService();
let tenant: Tenant;
beforeEach(() => service.showLogOnFailure());

/** JSON texts in the one order of all values; the first document does not have the field at all. */
const MISSING = 'missing';
const IN_ORDER = [
  MISSING,
  'null',
  ...['-1e308', '-1', '-5e-324', '0', '5e-324', '1', '9', '10', '1e308'],
  'false',
  'true',
  ...['""', '"\\u0000"', '"10"', '"9"', '"Z"', '"a"', '"a\\u0000"', '"ab"', '"b"', '"é"', '"～"', '"😀"'],
  ...['[]', '[null]', '[1]', '[1,0]', '[2]', '["a"]', '[[]]', '[{}]'],
  ...['{}', '{"a":null}', '{"a":1}', '{"a":1,"b":0}', '{"a":2}', '{"a":[]}', '{"b":0}'],
];
const HOLDS: [op: string, holds: (order: number) => boolean][] = [
  ['eq', order => order === 0],
  ['neq', order => order !== 0],
  ['gt', order => order > 0],
  ['gte', order => order >= 0],
  ['lt', order => order < 0],
  ['lte', order => order <= 0],
];
const ranks = IN_ORDER.map((_, rank) => rank);

/** One document for each value, inserted in an order that is not that of the values; `rank` is its place in it. */
async function insertAllValues(): Promise<void> {
  for (const rank of ranks.toSorted((a, b) => ((a * 17) % 41) - ((b * 17) % 41))) {
    const v = IN_ORDER[rank] === MISSING ? '' : `,"v":${IN_ORDER[rank]}`;
    await tenant.insert('t', `{"rank":${rank}${v}}`);
  }
}

describe.each([
  ['without an index', []],
  ['with an index', [{name: 'by_v', fields: ['v']}]],
])('one order of all values, %s:', (_, indexes) => {
  beforeAll(async () => {
    tenant = await Tenant.make(service);
    await tenant.putSchema('t', [], indexes);
    await insertAllValues();
  });

  test.each(HOLDS)(
    '%s matches every document whose value stands so to the given one, missing fields too',
    async (op, holds) => {
      for (const [place, value] of IN_ORDER.entries()) {
        if (value === MISSING) continue;
        const body = `{"table":"t","filters":[{"field":"v","op":"${op}","value":${value}}],"order":{"field":"rank","direction":"asc"}}`;
        const {data}: {data: {rank: number}[]} = (await tenant.request('POST', '/query', body)).body;
        expect({op, value, ranks: data.map(doc => doc.rank)}).toEqual({
          op,
          value,
          ranks: ranks.filter(rank => holds(rank - place)),
        });
      }
    },
  );

  test('order sorts by it, desc in exact reverse', async () => {
    const asc = await tenant.query({table: 't', filters: [], order: {field: 'v', direction: 'asc'}});
    expect(asc.map(doc => doc.rank)).toEqual(ranks);
    const desc = await tenant.query({table: 't', filters: [], order: {field: 'v', direction: 'desc'}});
    expect(desc.map(doc => doc.rank)).toEqual(ranks.toReversed());
  });
});

describe('filters and order', () => {
  const numbers = async (query: object) => (await tenant.query({table: 't', filters: [], ...query})).map(doc => doc.n);
  beforeAll(async () => {
    tenant = await Tenant.make(service);
    await tenant.insert('t', {n: 1, tag: 'x', at: {x: {y: 2}}, list: [{y: 1}]});
    await tenant.insert('t', {n: 2, tag: 'y', at: {x: 5}});
    await tenant.insert('t', {n: 3, tag: 'x', at: null, 'at.x': 9});
    await tenant.insert('t', {n: 4, tag: null, at: {x: {y: 1}}});
    await tenant.insert('t', {n: 5});
  });
  const filter = (field: string, op: string, value: unknown) => ({filters: [{field, op, value}]});

  test.each<[rule: string, query: object, expected: number[]]>([
    ['no filter matches all, in order of creation', {}, [1, 2, 3, 4, 5]],
    [
      'all filters must hold',
      {
        filters: [
          {field: 'tag', op: 'eq', value: 'x'},
          {field: 'n', op: 'gt', value: 1},
        ],
      },
      [3],
    ],
    [
      'filters that contradict each other match nothing',
      {
        filters: [
          {field: 'n', op: 'eq', value: 1},
          {field: 'n', op: 'eq', value: 2},
        ],
      },
      [],
    ],
    ['eq null matches null, not missing', filter('tag', 'eq', null), [4]],
    ['neq matches documents without the field', filter('tag', 'neq', 'x'), [2, 4, 5]],
    ['lt matches null and missing', filter('tag', 'lt', 'x'), [4, 5]],
    ['lt null matches missing alone', filter('tag', 'lt', null), [5]],
    ['gt null leaves null and missing out', filter('tag', 'gt', null), [1, 2, 3]],
    ['no value is converted: a number is not its text', filter('n', 'eq', '1'), []],
    ['a number is below every string', filter('n', 'lt', ''), [1, 2, 3, 4, 5]],
    ['a dot separates steps', filter('at.x.y', 'gte', 1), [1, 4]],
    ['a path through null or a number is missing', filter('at.x.y', 'lt', null), [2, 3, 5]],
    ['a name with a dot cannot be reached', filter('at.x', 'eq', 9), []],
    ['arrays are not looked into', filter('list.0.y', 'eq', 1), []],
    ['nor have they a length', filter('list.length', 'eq', 1), []],
    ['objects are compared whole', filter('at', 'eq', {x: 5}), [2]],
    ['strings have no length', filter('tag.length', 'eq', 1), []],
    ['inherited names are no fields', filter('constructor', 'gt', null), []],
    [
      'order asc puts missing, then null first; ties by creation',
      {order: {field: 'tag', direction: 'asc'}},
      [5, 4, 1, 3, 2],
    ],
    ['order desc is its exact reverse, ties included', {order: {field: 'tag', direction: 'desc'}}, [2, 3, 1, 4, 5]],
    ['order by a path', {order: {field: 'at.x.y', direction: 'desc'}}, [1, 4, 5, 3, 2]],
    [
      'order by a field that nobody has is that of creation',
      {order: {field: 'none', direction: 'asc'}},
      [1, 2, 3, 4, 5],
    ],
    [
      'order by _creationTime desc is newest first',
      {order: {field: '_creationTime', direction: 'desc'}},
      [5, 4, 3, 2, 1],
    ],
    ['order by the filtered field', {...filter('n', 'lte', 3), order: {field: 'n', direction: 'desc'}}, [3, 2, 1]],
    ['limit ends the result', {limit: 2}, [1, 2]],
    ['limit counts in the order asked for', {limit: 2, order: {field: 'n', direction: 'desc'}}, [5, 4]],
    ['limit counts what passes the filters', {limit: 1, ...filter('n', 'gt', 3)}, [4]],
    ['a limit beyond the result does not matter', {limit: 1_000_000_000}, [1, 2, 3, 4, 5]],
    [
      'a filter may be repeated',
      {
        filters: [
          {field: 'n', op: 'gt', value: 1},
          {field: 'n', op: 'gt', value: 3},
        ],
      },
      [4, 5],
    ],
    [
      'several fields of an order',
      {
        order: [
          {field: 'missing', direction: 'asc'},
          {field: 'n', direction: 'desc'},
        ],
      },
      [5, 4, 3, 2, 1],
    ],
    ['a list', {filters: [{field: 'n', op: 'in', value: [5, 2, 9]}]}, [2, 5]],
    ['an or', {filters: [{or: [{field: 'n', op: 'gt', value: 4}, [{field: 'n', op: 'lt', value: 2}]]}]}, [1, 5]],
  ])('%s', async (_, query, expected) => {
    expect(await numbers(query)).toEqual(expected);
  });

  test('system fields are fields like any other', async () => {
    const [first, second] = await tenant.list('t');
    expect(await numbers(filter('_id', 'eq', second!._id))).toEqual([2]);
    expect(await numbers(filter('_id', 'neq', second!._id))).toEqual([1, 3, 4, 5]);
    expect(await numbers(filter('_creationTime', 'lte', second!._creationTime))).toEqual([1, 2]);
    expect(await numbers(filter('_creationTime', 'eq', first!._creationTime))).toEqual([1]);
    expect(await numbers(filter('_updateTime', 'gt', 0))).toEqual([1, 2, 3, 4, 5]);
    expect(await numbers(filter('_creationTime.x', 'gt', null))).toEqual([]);
  });

  test('a table never written has no documents, whatever is asked', async () => {
    const query = {table: 'none', filters: [{field: 'a', op: 'neq', value: 1}], order: {field: 'a', direction: 'asc'}};
    expect(await tenant.query(query)).toEqual([]);
  });
});

describe('what is not a query is 400 op.invalid_input', () => {
  const good = {
    table: 't',
    filters: [{field: 'a', op: 'eq', value: 1}],
    order: {field: 'a', direction: 'asc'},
    limit: 1,
  };
  const clause = (change: object) => ({...good, filters: [{...good.filters[0], ...change}]});
  const order = (change: object) => ({...good, order: {...good.order, ...change}});
  const BAD: [what: string, query: unknown, named: string][] = [
    ['no table', {filters: []}, 'table'],
    ['a table that is no string', {...good, table: 1}, 'table'],
    ['a table that cannot be one', {...good, table: 'no-table'}, 'no-table'],
    ['no filters', {table: 't'}, 'filters'],
    ['null filters', {...good, filters: null}, 'filters'],
    ['filters as an object', {...good, filters: {}}, 'filters'],
    ['a filter that is no object', {...good, filters: ['a = 1']}, 'filters.0'],
    ['a filter without field', clause({field: undefined}), 'filters.0'],
    ['a field that is no string', clause({field: 1}), 'filters.0.field'],
    ['an empty field', clause({field: ''}), 'path'],
    ['an empty step', clause({field: 'a..b'}), 'path'],
    ['a leading dot', clause({field: '.a'}), 'path'],
    ['a trailing dot', clause({field: 'a.'}), 'path'],
    ['a field that is not valid Unicode', clause({field: '\ud800'}), 'path'],
    ['no op', clause({op: undefined}), 'filters.0'],
    ['an unknown op', clause({op: 'like'}), 'filters.0.op'],
    ['an op in capitals', clause({op: 'EQ'}), 'filters.0.op'],
    ['an inherited name as op', clause({op: 'constructor'}), 'filters.0.op'],
    ['no value', clause({value: undefined}), 'filters.0'],
    ['an order that is a string', {...good, order: 'a'}, 'order'],
    ['an order without direction', order({direction: undefined}), 'order'],
    ['an unknown direction', order({direction: 'up'}), 'order.direction'],
    ['an order without field', order({field: undefined}), 'order'],
    ['an order by an empty field', order({field: ''}), 'path'],
    ['an order by nothing', {...good, order: []}, 'order'],
    ['an order that names a field twice', {...good, order: [good.order, good.order]}, 'twice'],
    ['an unknown member', {...good, sort: 'a'}, 'sort'],
    ['an unknown member of a filter', clause({not: true}), 'filters.0.not'],
    ['an unknown member of the order', order({nulls: 'last'}), 'order.nulls'],
    ['an empty or', {...good, filters: [{or: []}]}, 'filters.0.or'],
    ['an or beside a field', clause({or: [good.filters[0]]}), 'filters[0]'],
    ['an or four levels deep', {...good, filters: [{or: [{or: [{or: good.filters}]}]}]}, 'filters.0.or.0.or.0'],
    ['in without a list', clause({op: 'in'}), 'filters[0].value'],
    ['limit 0', {...good, limit: 0}, 'limit'],
    ['a negative limit', {...good, limit: -1}, 'limit'],
    ['a fraction as limit', {...good, limit: 1.5}, 'limit'],
    ['a string as limit', {...good, limit: '1'}, 'limit'],
    ['an array', [], 'body'],
  ];

  test.each(BAD)('%s', async (_, query, named) => {
    const error = expectError(await tenant.request('POST', '/query', JSON.stringify(query)), 400, 'op.invalid_input');
    expect(error.message).toContain(named);
    const page = {query, page_size: 1};
    expectError(await tenant.request('POST', '/query/paginated', JSON.stringify(page)), 400, 'op.invalid_input');
  });
});

describe('beside the documents', () => {
  const swiss = {table: 'cities', filters: [{field: 'country', op: 'eq', value: 'CH'}]};
  beforeAll(async () => {
    tenant = await Tenant.make(service);
    await tenant.putSchema('cities', [], [{name: 'by_country', fields: ['country']}]);
    for (const [name, country, n] of [
      ['Bern', 'CH', 1],
      ['Bonn', 'DE', 2],
      ['Basel', 'CH', 3],
    ] as const) {
      await tenant.insert('cities', JSON.stringify({name, country, loc: {n, 10: 1, 9: 2}}));
    }
  });

  test('select shows the paths it names and the id, also on pages', async () => {
    const [bern] = await tenant.list('cities');
    const select = ['name', 'loc.n', 'loc.none', 'none.n', '_creationTime'];
    const {text} = await tenant.request('POST', '/query', JSON.stringify({...swiss, select, limit: 1}));
    const {_id, _creationTime} = bern!;
    expect(text).toBe(`{"data":[{"_id":"${_id}","_creationTime":${_creationTime},"loc":{"n":1},"name":"Bern"}]}`);
    const ids = {query: {...swiss, select: []}, page_size: 1};
    const paged = async (body: object) =>
      (await tenant.request('POST', '/query/paginated', JSON.stringify(body))).body as QueryPage;
    const page = await paged(ids);
    expect(page.data).toEqual([{_id}]);
    expect((await paged({...ids, after: page.next_cursor})).has_more).toBe(false);
    const other = {query: swiss, page_size: 1, after: page.next_cursor};
    expectError(await tenant.request('POST', '/query/paginated', JSON.stringify(other)), 400, 'op.invalid_input');
    const whole = await tenant.request('POST', '/query', JSON.stringify({...swiss, select: ['loc'], limit: 1}));
    expect(whole.text).toContain('"loc":{"10":1,"9":2,"n":1}');
  });

  test('count, explain, and several queries at once', async () => {
    const post = async (path: string, body: object) =>
      (await tenant.request('POST', path, JSON.stringify(body))).body as unknown;
    expect(await post('/query/count', swiss)).toEqual({count: 2});
    expect(await post('/query/count', {...swiss, limit: 1})).toEqual({count: 1});
    expect(await post('/query/count', {table: 'none', filters: []})).toEqual({count: 0});
    const {data, explain} = (await post('/query', {...swiss, explain: true})) as QueryResult;
    expect(data.length).toBe(2);
    expect(explain).toMatchObject({read: 2, returned: 2, reads: [{index: 'by_country', stretches: 1}]});
    const batch = {
      queries: [
        {...swiss, select: ['name']},
        {table: 'cities', filters: [], count: true},
      ],
    };
    expect(await post('/query/batch', batch)).toEqual({
      results: [
        {data: [expect.objectContaining({name: 'Bern'}), expect.objectContaining({name: 'Basel'})]},
        {count: 3},
      ],
    });
  });

  test('what is wrong in a batch is reported with its position', async () => {
    const bad = {queries: [swiss, {...swiss, filters: [{field: '', op: 'eq', value: 1}]}]};
    const error = expectError(
      await tenant.request('POST', '/query/batch', JSON.stringify(bad)),
      400,
      'op.invalid_input',
    );
    expect(error.message).toMatch(/^queries\[1\]: /);
    expect(error.detail).toMatchObject({query: 1});
  });
});
