/** A client's mutation and its stored outcome are one write: both are in the file or neither is, without a savepoint. */
import Database from 'better-sqlite3';
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import type {ServiceError} from '../../../shared/errors.ts';
import {ClientMutations} from '../../../worker/functions/sync/session/client-mutations.ts';
import {SERVER} from '../deployments/tenant-deployments.ts';
import {MutationCalls} from './mutation-calls.ts';

const SOURCE = `${SERVER}
  const numbers = async ctx => (await ctx.db.query('t').collect()).map(({n}) => n);
  export const insert = mutation({handler: async (ctx, {n, max}) => {
    await ctx.db.insert('t', {n});
    if (n > max) throw new Error('too much');
    return n;
  }});
  export const sees = mutation({handler: async (ctx, {n, max}) => {
    await ctx.db.insert('t', {n});
    const seen = await numbers(ctx);
    if (n > max) throw new Error('saw ' + seen.join(' '));
    return seen;
  }});`;

let calls: MutationCalls;
let mutations: ClientMutations;

beforeEach(async () => {
  calls = new MutationCalls();
  await calls.tenant.deploy({'m.ts': SOURCE});
  const {writer, groups} = calls.tenant;
  mutations = new ClientMutations({call: call => calls.functions.call(call), writer, groups});
  await send(0, 'm:insert', {n: 0}); // creates the table
});

afterEach(() => {
  calls.close();
  vi.restoreAllMocks();
});

/** A client's mutation of this number. */
function send(request_id: number, path: string, args: object) {
  return mutations.run(
    'client',
    {type: 'mutation', request_id, path, args: args as never, settled_below: 0},
    null,
    'r',
  );
}

const savepoints = () => vi.spyOn(calls.tenant.writer.statements.savepoint, 'run');
const all = (sql: string) => calls.tenant.writer.db.prepare(sql).pluck().all();
const numbers = () => all("SELECT body ->> 'n' FROM documents ORDER BY doc");
const outcomes = () => all('SELECT request_id FROM client_mutations ORDER BY request_id');

test('what fails leaves neither changes nor an outcome, and the others of its group are made once', async () => {
  const taken = savepoints();
  const [made, again, failed, other, conflict] = await Promise.all([
    send(1, 'm:insert', {n: 1}),
    send(1, 'm:insert', {n: 1}),
    send(2, 'm:insert', {n: 2, max: 1}),
    send(3, 'm:insert', {n: 3}),
    send(3, 'm:insert', {n: 4}).catch((error: ServiceError) => error.code),
  ]);
  expect(made).toMatchObject({result: {ok: true, value: '1'}});
  expect(again).toMatchObject({result: {ok: true, value: '1'}, ts: made.ts});
  expect(failed).toMatchObject({result: {ok: false, error: expect.stringContaining('too much')}});
  expect(other).toMatchObject({result: {ok: true, value: '3'}, ts: made.ts + 1});
  expect(conflict).toBe('op.conflict');
  expect(await send(3, 'm:insert', {n: 3})).toEqual(other);
  expect(taken).not.toHaveBeenCalled();
  expect(numbers()).toEqual([0, 1, 3]);
  expect(outcomes()).toEqual([0, 1, 3]);
  expect(calls.tenant.journal()).not.toContain('"n":2');
});

test('what reads the file has a savepoint until it has succeeded or failed', async () => {
  const taken = savepoints();
  const [made, failed, other] = await Promise.all([
    send(1, 'm:sees', {n: 1}),
    send(2, 'm:sees', {n: 2, max: 1}),
    send(3, 'm:insert', {n: 3}),
  ]);
  expect(made).toMatchObject({result: {ok: true, value: '[0,1]'}});
  expect(failed).toMatchObject({result: {ok: false, error: expect.stringContaining('saw 0 1 2')}});
  expect(other).toMatchObject({result: {ok: true}});
  expect(taken).toHaveBeenCalledTimes(2);
  expect(numbers()).toEqual([0, 1, 3]);
  expect(outcomes()).toEqual([0, 1, 3]);
});

test('the disk is full when an outcome is stored: nothing of the mutation is there, and it is made when it comes again', async () => {
  vi.spyOn(calls.tenant.writer.statements.insertClientMutation, 'run').mockImplementationOnce(() => {
    throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
  });
  await expect(send(1, 'm:insert', {n: 1})).rejects.toMatchObject({code: 'session.storage_full'});
  expect([numbers(), outcomes()]).toEqual([[0], [0]]);
  expect(await send(1, 'm:insert', {n: 1})).toMatchObject({result: {ok: true}});
  expect([numbers(), outcomes()]).toEqual([
    [0, 1],
    [0, 1],
  ]);
});
