/** What native JSON can be stored, what it reads back as, and what is refused. */
import fc from 'fast-check';
import {beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {canonical} from '../harness/journal.ts';
import {rounds} from '../harness/nightly.ts';
import {sharedService} from '../harness/shared-service.ts';
import {type Doc, expectError, Tenant} from '../harness/tenant.ts';
import {nativeValue} from '../harness/values.ts';

const service = await sharedService();
let tenant: Tenant;
let tables = 0;
let table: string;
beforeAll(async () => {
  tenant = await Tenant.make(service);
});
beforeEach(() => {
  service.showLogOnFailure();
  table = `t${++tables}`;
});

/** The text of field `v` of the only document as it comes back. */
async function readBack(id: string): Promise<string> {
  const {text} = await tenant.request('GET', `/documents/${table}/${id}`);
  return /,"v":(.*)\}\}$/s.exec(text)![1]!;
}

describe('stored and returned as it was sent', () => {
  test.each([
    'null',
    'true',
    '0',
    '-1.5',
    '1e+21',
    '5e-324',
    '1.7976931348623157e+308',
    '9007199254740993'.replace('3', '2'),
    '""',
    '"\\u0000"',
    '"\\\\ \\" / \\n"',
    '"é ～ 😀 \u2028 \ufeff"',
    '"\'; DROP TABLE documents; --"',
    '[]',
    '[[],{},[null]]',
    '{}',
    '{"":{"":0}}',
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}},"hasOwnProperty":1,"toString":null}',
    '{"a.b":1}',
    '{"_creationTime":0,"_id":"mine"}',
    '{"0":"a","00":"b","1e3":"c"}',
    '{"length":-1}',
    '{"a b\\n":"\\u0001"}',
  ])('%s', async text => {
    expect(await readBack(await tenant.insert(table, `{"v":${text}}`))).toBe(text);
  });

  test.each([
    ['-0', '0'],
    ['[-0,{"a":-0.0}]', '[0,{"a":0}]'],
    ['-1e-400', '0'],
    ['1e-400', '0'],
    ['1.0', '1'],
    ['1E2', '100'],
    ['9007199254740993', '9007199254740992'],
    ['"\\u0041\\/"', '"A/"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    [' [ 1 , 2 ] ', '[1,2]'],
  ])('%s is the value %s', async (sent, stored) => {
    expect(await readBack(await tenant.insert(table, `{"v":${sent}}`))).toBe(stored);
  });

  test('__proto__ as a key pollutes nothing: other documents have no such field', async () => {
    await tenant.insert(table, '{"v":{"__proto__":{"polluted":1}}}');
    await tenant.insert(table, {v: {}});
    expect(await tenant.query({table, filters: [{field: 'v.polluted', op: 'eq', value: 1}]})).toEqual([]);
    const hit = await tenant.query({table, filters: [{field: 'v.__proto__.polluted', op: 'eq', value: 1}]});
    expect(hit).toHaveLength(1);
  });

  test('any document of random values, through insert and through patch', async () => {
    await fc.assert(
      fc.asyncProperty(nativeValue, nativeValue, async (first, second) => {
        const id = await tenant.insert(table, `{"v":${JSON.stringify(first)},"w":0}`);
        expect(canonical((await tenant.get(table, id)).v)).toBe(canonical(JSON.parse(JSON.stringify(first))));
        await tenant.request('PATCH', `/documents/${table}/${id}`, `{"patch":{"v":${JSON.stringify(second)}}}`);
        const doc: Doc = await tenant.get(table, id);
        expect(canonical(doc.v)).toBe(canonical(JSON.parse(JSON.stringify(second))));
        expect(doc.w).toBe(0);
      }),
      {numRuns: rounds({commit: 40, nightly: 300})},
    );
  });
});

const REFUSED: [what: string, fields: string][] = [
  ['a number beyond the range of a double', '{"v":1e999}'],
  ['a negative one', '{"v":[-1e400]}'],
  ['a key that begins with $', '{"$v":1}'],
  ['such a key deep inside', '{"v":[{"w":{"$float":1}}]}'],
  ['an unpaired high surrogate', '{"v":"\\ud800"}'],
  ['an unpaired low surrogate', '{"v":["a\\udc00b"]}'],
  ['surrogates the wrong way round', '{"v":"\\udc00\\ud800"}'],
  ['an unpaired surrogate in a key', '{"v":{"\\ud800":1}}'],
  ['an unpaired surrogate in a top-level key', '{"\\ud800":1}'],
  ['a top-level key that begins with _', '{"_v":1}'],
  ['_id', '{"_id":"mine"}'],
  ['_creationTime', '{"_creationTime":1}'],
  ['_updateTime', '{"_updateTime":1}'],
  ['a top-level __proto__, which begins with _', '{"__proto__":{}}'],
];

describe.each(REFUSED)('%s is 400', (_, fields) => {
  test('in an insert, and no document is made', async () => {
    expectError(
      await tenant.request('POST', '/documents', `{"table":"${table}","fields":${fields}}`),
      400,
      'op.invalid_input',
    );
    expect(await tenant.list(table)).toEqual([]);
  });

  test('in a patch, and nothing is changed', async () => {
    const id = await tenant.insert(table, {kept: 1});
    const before = await tenant.get(table, id);
    expectError(
      await tenant.request('PATCH', `/documents/${table}/${id}`, `{"patch":${fields}}`),
      400,
      'op.invalid_input',
    );
    expect(await tenant.get(table, id)).toEqual(before);
  });
});

describe('a filter takes the values a document may hold', () => {
  test.each(['1e999', '"\\ud800"', '{"$a":1}', '[[-1e999]]'])('%s is 400', async value => {
    const body = `{"table":"${table}","filters":[{"field":"v","op":"eq","value":${value}}]}`;
    expectError(await tenant.request('POST', '/query', body), 400, 'op.invalid_input');
  });

  test('-0 in a filter is 0', async () => {
    await tenant.insert(table, '{"v":[0]}');
    await tenant.insert(table, '{"v":-0}');
    for (const value of ['-0', '[-0]']) {
      const body = `{"table":"${table}","filters":[{"field":"v","op":"eq","value":${value}}]}`;
      expect((await tenant.request('POST', '/query', body)).body).toMatchObject({data: [{}]});
    }
  });
});
