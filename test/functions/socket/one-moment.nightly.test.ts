/**
 * Every transition that a socket is sent holds at its version, while isolate processes are killed and the processors are short: each of its
 * queries is answered again from the journal up to that version.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {afterAll, beforeAll, expect, onTestFinished, test} from 'vitest';
import {FunctionSocket} from '../../harness/function-socket.ts';
import {journalAfter} from '../../harness/journal.ts';
import {Service} from '../../harness/service.ts';
import {Tenant} from '../../harness/tenant.ts';
import {until} from '../../harness/until.ts';
import {App} from '../app.ts';
import {isolateProcesses} from '../isolate-process/processes.ts';

const TRANSITIONS = 1_500;
const ROUND = 125;
const ACCOUNTS = 8;
const SOCKETS = 5;
const BURNERS = 2;

const BANK = `
  import {v} from 'svc/values';
  import {mutation, query} from './_generated/server';
  const all = async (ctx: any) => (await ctx.db.query('accounts').collect() as any[]).map(({n, balance}) => ({n, balance}));
  const sum = (accounts: any[]) => accounts.reduce((sum, {balance}) => sum + balance, 0);
  const work = (n: number) => { let x = 0; for (let i = 0; i < n; i++) x += i % 7; return x < 0; };
  export const open = mutation({args: {}, handler: async ctx => {
    for (let n = 0; n < ${ACCOUNTS}; n++) await ctx.db.insert('accounts' as never, {n, balance: 100} as never);
  }});
  export const total = query({args: {}, handler: async ctx => sum(await all(ctx))});
  export const even = query({args: {}, handler: async ctx => { work(2e5); return sum((await all(ctx)).filter(({n}) => n % 2 === 0)); }});
  export const odd = query({args: {}, handler: async ctx => { work(2e6); return sum((await all(ctx)).filter(({n}) => n % 2 === 1)); }});
  export const one = query({args: {n: v.number()}, handler: async (ctx, {n}) => (await all(ctx)).find(a => a.n === n).balance});
  export const list = query({args: {}, handler: async ctx => (await all(ctx)).map(({balance}) => balance).join()});
  export const move = mutation({args: {from: v.number(), to: v.number()}, handler: async (ctx, {from, to}) => {
    const accounts = await ctx.db.query('accounts').collect() as any[];
    const [a, b] = [accounts.find(({n}) => n === from), accounts.find(({n}) => n === to)];
    await ctx.db.patch(a._id, {balance: a.balance - 1});
    await ctx.db.patch(b._id, {balance: b.balance + 1});
  }});`;

const sum = (balances: readonly number[]) => balances.reduce((total, balance) => total + balance, 0);
type Query = {path: string; args: {n?: number}; answer: (balances: readonly number[]) => unknown};
const queriesOf = (socket: number): Query[] => [
  {path: 'bank:total', args: {}, answer: sum},
  {path: 'bank:even', args: {}, answer: all => sum(all.filter((_, n) => n % 2 === 0))},
  {path: 'bank:odd', args: {}, answer: all => sum(all.filter((_, n) => n % 2 === 1))},
  {path: 'bank:list', args: {}, answer: all => all.join()},
  {path: 'bank:one', args: {n: socket}, answer: all => all[socket]},
];

let service: Service;
let app: App;
beforeAll(async () => {
  service = await Service.start();
  app = await App.deploy(service, {'bank.ts': BANK});
  await app.mutation('bank:open', {});
});
afterAll(() => service.stop());

/** What a socket showed at a version: the answers of its queries, where they were values. */
type State = {socket: number; ts: number; shown: (unknown | {error: string})[]};

class Accounts {
  readonly #ids = new Map<string, number>();
  /** The balances from each version on, oldest first. */
  #versions: {ts: number; balances: readonly number[]}[] = [{ts: 0, balances: []}];
  #read = 0;

  /** Reads the journal on. Versions before `since` are not needed any more. */
  async readOn(since: number): Promise<void> {
    const {records} = await journalAfter(Tenant.of(service, app.tenant), this.#read);
    for (const {sequence, writes} of records) {
      const balances = [...this.#versions.at(-1)!.balances];
      for (const {id, document} of writes) {
        const account = document as {n?: number; balance?: number} | null;
        if (account?.balance === undefined) continue;
        if (account.n !== undefined) this.#ids.set(id, account.n);
        balances[this.#ids.get(id)!] = account.balance;
      }
      this.#versions.push({ts: sequence, balances});
      this.#read = sequence;
    }
    const first = this.#versions.findLastIndex(({ts}) => ts <= since);
    this.#versions = this.#versions.slice(first);
  }

  at(moment: number): readonly number[] {
    return this.#versions.findLast(({ts}) => ts <= moment)!.balances;
  }
}

/** Processes that compute and do nothing else. */
function burn(): void {
  const burners: ChildProcess[] = Array.from({length: BURNERS}, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], {stdio: 'ignore'}),
  );
  onTestFinished(() => {
    for (const burner of burners) burner.kill('SIGKILL');
  });
}

test('each result of each transition holds at its version, while isolate processes are killed under load', async () => {
  const states: State[] = [];
  const sockets = await Promise.all(
    Array.from({length: SOCKETS}, () => FunctionSocket.established(service, app.tenant)),
  );
  for (const [i, socket] of sockets.entries()) {
    const ids = socket.queries(queriesOf(i).map(({path, args}) => ({path, args})));
    socket.onState = (shown, {ts}) => {
      states.push({
        socket: i,
        ts,
        shown: ids.map(id => shown.get(id)).map(one => (one !== undefined && 'value' in one ? one.value : null)),
      });
      socket.messages.length = 0;
      socket.transitions.length = 0;
    };
  }
  onTestFinished(() => {
    for (const socket of sockets) socket.close();
  });
  await until('the first results', () => sockets.every(({shown}) => shown.size === 5));
  burn();
  let isOver = false;
  const writing = sockets.map(async (socket, i) => {
    for (let n = 0; !isOver; n++) {
      const id = socket.sendMutation('bank:move', {from: (i + n) % ACCOUNTS, to: (3 * i + 5 * n + 1) % ACCOUNTS});
      await socket.result(id);
      socket.results.delete(id);
      await nextTurn();
    }
  });
  const accounts = new Accounts();
  const wrong: object[] = [];
  let checked = 0;
  let values = 0;
  const worker = await service.workerOf(app.tenant);
  while (checked < TRANSITIONS && wrong.length === 0) {
    const aim = states.length + ROUND / 2;
    await until('transitions before a kill', () => states.length >= aim);
    for (const pid of isolateProcesses(worker)) process.kill(pid, 'SIGKILL');
    await until('transitions after a kill', () => states.length >= aim + ROUND / 2);
    const round = states.splice(0);
    await accounts.readOn(Math.min(...round.map(({ts}) => ts)));
    for (const {socket, ts, shown} of round) {
      const balances = accounts.at(ts);
      for (const [i, {path, answer}] of queriesOf(socket).entries()) {
        if (shown[i] === null) continue;
        values++;
        if (shown[i] !== answer(balances)) wrong.push({socket, ts, path, shown: shown[i], right: answer(balances)});
      }
      checked++;
    }
  }
  isOver = true;
  await Promise.all(writing);
  expect(wrong).toEqual([]);
  expect(values).toBeGreaterThan(checked / 4);
}, 6_000_000);
