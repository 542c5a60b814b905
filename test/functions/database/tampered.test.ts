/**
 * The host's side against a realm in which user code has replaced whatever it could: any answer but a refusal would end the
 * process or the commit group.
 */
import {afterAll, describe, expect, test} from 'vitest';
import {HostOp} from '../../../worker/runtime/guest/host-call.ts';
import {state} from '../../../worker/runtime/guest/state.ts';
import {TenantDatabase} from './tenant-database.ts';

const tenant = new TenantDatabase();
afterAll(() => tenant.close());
const table = tenant.newTable([['a']]);
const t = table.name;
const one = tenant.insertNative(table, {a: 1, b: 'x'});
tenant.insertNative(table, {a: 1, b: 'y'});

describe('whatever a realm sends, the host answers', () => {
  const spec = {table: t, index: null, order: 'asc', filters: []};
  const specs: unknown[] = [
    null,
    5,
    {},
    {...spec, table: 5},
    {...spec, order: 'up'},
    {...spec, filters: null},
    {...spec, filters: [null]},
    {...spec, filters: [['value']]},
    {...spec, filters: [['constructor', ['value', 1], ['value', 1]]]},
    {...spec, filters: [['field', 'a..b']]},
    {...spec, filters: [['eq']]},
    {...spec, index: 5},
    {...spec, index: {name: 'a', range: [null]}},
    {...spec, index: {name: 'a', range: [{op: 'constructor', field: 'a', value: 1}]}},
    {...spec, index: {name: 'a', range: [{op: 'eq', field: 'a', value: {$float: 'no'}}]}},
    {...spec, index: {name: 'a', range: [{op: 'eq', field: 'a', value: {$other: 1}}]}},
  ];
  const calls: [HostOp, unknown, unknown, unknown][] = [
    ...['', '{', 'x'].flatMap(
      text =>
        [
          [HostOp.queryOpen, text, 1, undefined],
          [HostOp.paginate, text, '{}', undefined],
          [HostOp.paginate, JSON.stringify(spec), text, undefined],
          [HostOp.insert, t, text, undefined],
          [HostOp.patch, one, text, '[]'],
        ] as [HostOp, unknown, unknown, unknown][],
    ),
    ...specs.map(
      broken => [HostOp.queryOpen, JSON.stringify(broken), 1, undefined] as [HostOp, unknown, unknown, unknown],
    ),
    [HostOp.paginate, JSON.stringify(spec), 'null', undefined],
    [HostOp.queryNext, 77, 1, undefined],
    [HostOp.queryNext, 'x', 'y', undefined],
    [HostOp.schedule, 1, 1, undefined],
  ];

  test.each(calls)('%s(%j, %j, %j) is refused', async (op, a, b, c) => {
    await tenant.mutation(() => {
      expect(state.host(op, a as string, b as string, c as string)).toMatch(/^-\{"name":"\w+","message":"/);
    });
  });

  test.each(['[1]', '{}', '5', 'null', '["__proto__"]'])('a list of removed fields %s does no harm', async removed => {
    await tenant.mutation(() => expect(state.host(HostOp.patch, one, '{}', removed)).toBe('+'));
    expect(await tenant.query(db => db.get(one))).toMatchObject({a: 1, b: 'x'});
  });
});
