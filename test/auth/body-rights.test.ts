import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import type {Operation} from '../../shared/operations.ts';
import {RIGHTS, type Scope} from '../../shared/rights.ts';
import {judgeBodyScope, judgeBodyTables} from '../../worker/api/body-rights.ts';

const judge = (op: Operation, body: unknown) => () =>
  judgeBodyTables(op, ['mine', 'ours'], Buffer.from(JSON.stringify(body)));
const FORBIDDEN = expect.objectContaining({code: 'auth.forbidden'});

describe('tables that a body names', () => {
  test.each<[Operation, unknown]>([
    ['documents.insert', {table: 'mine', fields: {table: 'other'}}],
    ['query.paginated', {query: {table: 'ours'}, table: 'other'}],
    ['schedule.create', {mutation: {table: 'ours'}}],
    ['transactions.run', {operations: [{table: 'mine'}, {type: 'schedule', mutation: {table: 'ours'}}]}],
    ['transactions.run', {operations: []}],
  ])('%s is let through with %j', (op, body) => {
    expect(judge(op, body)).not.toThrow();
  });

  test.each<[Operation, unknown]>([
    ['documents.insert', {table: 'other'}],
    ['documents.insert', {table: ['mine']}],
    ['documents.insert', {fields: {}}],
    ['documents.insert', null],
    ['documents.insert', [{table: 'mine'}]],
    ['query.run', {table: {toString: 'mine'}}],
    ['transactions.run', {operations: [{table: 'mine'}, {table: 'other'}]}],
    ['transactions.run', {operations: [{table: 'mine'}, {}]}],
    ['transactions.run', {operations: [{table: 'mine', mutation: {table: 'other'}}]}],
    ['transactions.run', {operations: {table: 'mine'}}],
    ['transactions.run', {table: 'mine'}],
    ['functions.run', {path: 'm:f'}],
    ['journal.page', {}],
  ])('%s is refused with %j', (op, body) => {
    expect(judge(op, body)).toThrow(FORBIDDEN);
  });

  test('no operation whose body names them comes in pieces, of which nobody could judge the whole', async () => {
    const {OPERATIONS, traitsOf} = await import('../../shared/operations.ts');
    for (const op of Object.keys(OPERATIONS) as Operation[]) {
      const {tables, bodyScope} = RIGHTS[op];
      if ((typeof tables === 'object' && 'at' in tables) || bodyScope !== undefined)
        expect([op, traitsOf(op).streamedBytesMax]).toEqual([op, undefined]);
    }
  });
});

describe('a scope that only some bodies need', () => {
  const INSERT = {type: 'insert', table: 't', fields: {}};
  test.each<[Operation, Scope, unknown]>([
    [
      'transactions.run',
      'schedule',
      {operations: [INSERT, {type: 'insert', table: 'schedule', fields: {type: 'schedule'}}]},
    ],
    ['transactions.run', 'schedule', {operations: []}],
    ['transactions.run', 'schedule', null],
    ['crons.patch', 'data:write', {enabled: false}],
  ])('%s without %s is let through with %j', (op, scope, body) => {
    expect(() => judgeBodyScope(op, scope, Buffer.from(JSON.stringify(body)))).not.toThrow();
  });

  test.each<[Operation, Scope, unknown, string]>([
    ['transactions.run', 'schedule', {operations: [INSERT, {type: 'schedule'}], dry_run: true}, 'operations[1]'],
    ['crons.patch', 'data:write', {enabled: false, mutation: null}, 'mutation'],
  ])('%s without %s is refused with %j', (op, scope, body, where) => {
    expect(() => judgeBodyScope(op, scope, Buffer.from(JSON.stringify(body)))).toThrow(
      expect.objectContaining({code: 'auth.forbidden', message: expect.stringContaining(where), detail: {scope}}),
    );
  });
});
