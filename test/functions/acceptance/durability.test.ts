import {beforeAll, describe, expect, test} from 'vitest';
import {rounds} from '../../harness/nightly.ts';
import {sharedService} from '../../harness/shared-service.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';

const FILES = {
  'transfers.ts': `
    import {v} from 'svc/values';
    import {mutation, query} from './_generated/server';
    export const open = mutation({args: {}, handler: async ctx => {
      const ids = [];
      for (let i = 0; i < 10; i++) ids.push(await ctx.db.insert('accounts' as never, {balance: 100} as never));
      return ids as string[];
    }});
    export const transfer = mutation({args: {from: v.string(), to: v.string(), note: v.string()}, handler: async (ctx, {from, to, note}) => {
      const payer = (await ctx.db.get(from as never)) as any;
      const payee = (await ctx.db.get(to as never)) as any;
      await ctx.db.patch(from as never, {balance: payer.balance - 1} as never);
      await ctx.db.insert('notes' as never, {note} as never);
      await ctx.db.patch(to as never, {balance: payee.balance + 1} as never);
    }});
    export const state = query({args: {}, handler: async ctx => ({
      sum: ((await ctx.db.query('accounts' as never).collect()) as any[]).reduce((sum, account) => sum + account.balance, 0),
      notes: ((await ctx.db.query('notes' as never).collect()) as any[]).map(entry => entry.note as string),
    })});`,
};

const service = await sharedService();
let app: App;
/** The state of all accounts and notes, asked again while the answer is that the killed worker had the request. */
function state(): Promise<{sum: number; notes: string[]}> {
  return until('an answer of the next worker', async () => {
    const reply = await app.svc('POST', '/query', {path: 'transfers:state', args: {}});
    if (reply.status === 503) return null;
    expect(reply.body).toMatchObject({status: 'success'});
    return (reply.body as {value: {sum: number; notes: string[]}}).value;
  });
}

beforeAll(async () => {
  app = await App.deploy(service, FILES);
});

describe('a mutation that was acknowledged', () => {
  test('is on disk whole, and one that was not is there whole or not at all: the worker is killed under load', async () => {
    const ids = (await app.mutation('transfers:open', {})) as string[];
    const acknowledged: string[] = [];
    const attempted = new Set<string>();
    for (let round = 0; round < rounds({commit: 2, nightly: 4}); round++) {
      let isOver = false;
      const load = Array.from({length: 8}, async (_, client) => {
        for (let i = 0; !isOver; i++) {
          const note = `${round}-${client}-${i}`;
          attempted.add(note);
          const [from, to] = [ids[(client + i) % 10]!, ids[(client * 3 + i + 1) % 10]!];
          if (from === to) continue;
          const reply = await app.svc('POST', '/mutation', {path: 'transfers:transfer', args: {from, to, note}});
          if ((reply.body as {status?: string}).status === 'success') acknowledged.push(note);
          else expect([503, 200]).toContain(reply.status);
        }
      });
      const before = acknowledged.length;
      while (acknowledged.length < before + 50) await new Promise(resolve => setImmediate(resolve));
      process.kill(await service.workerOf(app.tenant), 'SIGKILL');
      isOver = true;
      await Promise.all(load);
      const {sum, notes} = await state();
      expect(sum).toBe(1_000);
      expect(new Set(notes).size).toBe(notes.length);
      const there = new Set(notes);
      expect(acknowledged.filter(note => !there.has(note))).toEqual([]);
      expect(notes.filter(note => !attempted.has(note))).toEqual([]);
    }
  });
});
