import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import type {Operation} from '../../shared/operations.ts';
import {RIGHTS} from '../../shared/rights.ts';
import {judgeBodyTables} from '../../worker/table-rights.ts';

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
      const {tables} = RIGHTS[op];
      if (typeof tables === 'object' && 'at' in tables)
        expect([op, traitsOf(op).streamedBytesMax]).toEqual([op, undefined]);
    }
  });
});
