/**
 * Transfers between accounts, each a transaction with an entry in a ledger, while their worker is killed: each is whole or not there, those
 * that were acknowledged are there once, and the journal replayed is what lists show.
 */
import {beforeEach, expect, test} from 'vitest';
import {canonical, checkChain, journalAfter, replay} from '../harness/journal.ts';
import {isAlive} from '../harness/processes.ts';
import {sharedService} from '../harness/shared-service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';

const CLIENTS = 8;
const ACCOUNTS = 4;
/** Transfers that are acknowledged before each kill. */
const ROUNDS = [40, 9, 75];

const service = await sharedService();
beforeEach(() => service.showLogOnFailure());

test(`transfers of ${CLIENTS} clients whose worker is killed ${ROUNDS.length} times are whole, and happen once`, async () => {
  const tenant = await Tenant.make(service);
  for (let n = 0; n < ACCOUNTS; n++) {
    await tenant.request('PUT', `/documents/accounts/a${n}`, {fields: {balance: 0}});
  }
  const acknowledged: string[] = [];
  let isOver = false;
  const transfer = async (marker: string, n: number) => {
    const [from, to] = [`a${n % ACCOUNTS}`, `a${(n + 1) % ACCOUNTS}`];
    const operations = [
      {type: 'insert', table: 'ledger', fields: {marker}},
      {type: 'patch', table: 'accounts', id: from, increment: {balance: -1}, patch: {last: {$ref: 0}}},
      {type: 'patch', table: 'accounts', id: to, increment: {balance: 1}, append: {seen: [{$ref: 0}]}},
    ];
    // Sent with one key until it is acknowledged.
    for (;;) {
      const headers = {'idempotency-key': marker};
      const reply = await tenant.request('POST', '/transactions', {operations}, headers).catch(() => null);
      if (reply?.status === 200) return;
      if (reply !== null) expect(reply.text).toMatch(/"code":"session\./);
    }
  };
  const clients = Array.from({length: CLIENTS}, async (_, client) => {
    for (let n = 0; !isOver; n++) {
      await transfer(`${client}-${n}`, client + n);
      acknowledged.push(`${client}-${n}`);
    }
  });
  for (const transfers of ROUNDS) {
    const before = acknowledged.length;
    await until('acknowledged transfers', () => acknowledged.length >= before + transfers);
    const worker = await service.workerOf(tenant.id);
    process.kill(worker, 'SIGKILL');
    await until('its end', () => !isAlive(worker));
  }
  isOver = true;
  await Promise.all(clients);

  const ledger = await tenant.list('ledger');
  expect(ledger.map(({marker}) => marker).sort()).toEqual(acknowledged.toSorted());
  const accounts = (await tenant.list('accounts')) as unknown as {balance: number; seen?: string[]}[];
  expect(accounts.reduce((sum, {balance}) => sum + balance, 0)).toBe(0);
  expect(accounts.flatMap(({seen = []}) => seen).sort()).toEqual(ledger.map(({_id}) => _id).sort());
  const {records, texts} = await journalAfter(tenant, 0);
  checkChain(texts);
  expect(records.map(({writes}) => writes.length)).toEqual([
    ...Array(ACCOUNTS).fill(1),
    ...Array(acknowledged.length).fill(3),
  ]);
  const replayed = replay({snapshot: {documents: {}}} as never, records);
  for (const table of ['ledger', 'accounts']) {
    expect(canonical(replayed.get(table))).toBe(canonical(await tenant.list(table)));
  }
});
