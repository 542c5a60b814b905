import {expect, onTestFinished, test} from 'vitest';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {RawSocket} from '../../harness/raw-socket.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {App} from '../app.ts';

const BIG = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  export const put = mutation({args: {n: v.number()}, handler: async (ctx, {n}) => {
    const old = await ctx.db.query('big' as never).first() as any;
    const text = String(n).padStart(4, '0').repeat(50_000);
    if (old === null) await ctx.db.insert('big' as never, {n, text} as never);
    else await ctx.db.patch(old._id, {n, text} as never);
  }});
  export const get = query({args: {}, handler: async ctx => { const {n, text} = await ctx.db.query('big' as never).first() as any; return {n, text}; }});`;
const ROUNDS = 80;

const service = await sharedService();

test('a reader that is slow holds up nobody, skips moments, and is shown the newest once it reads', async () => {
  const app = await App.deploy(service, {'big.ts': BIG});
  await app.mutation('big:put', {n: 0});
  const slow = await RawSocket.openFunctions(service, app.tenant);
  onTestFinished(() => slow.close());
  const client_id = FunctionSocket.newClient();
  slow.send({type: 'client_hello', protocol: 'svc.functions.v1', client_id, connection_count: 0});
  const changes = [{type: 'add', query_id: 1, path: 'big:get', args: {}}];
  slow.send({type: 'query_set', base_version: 0, new_version: 1, changes});
  const seen: number[] = [];
  const next = async () => {
    for (;;) {
      const message = (await slow.nextMessage()) as unknown as {type: string; changes?: {value: {n: number}}[]};
      if (message.type !== 'transition') continue;
      for (const {value} of message.changes!) seen.push(value.n);
      return;
    }
  };
  await next();
  slow.stopReading();
  const quick = await FunctionSocket.established(service, app.tenant);
  onTestFinished(() => quick.close());
  const id = await quick.query('big:get');
  for (let n = 1; n <= ROUNDS; n++) {
    await quick.mutation('big:put', {n});
    expect(quick.value(id)).toMatchObject({n});
  }
  slow.readAgain();
  while (seen.at(-1) !== ROUNDS) await next();
  expect(seen.length).toBeLessThan(ROUNDS / 2);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
});
