/** Names of tenants, looked up at a name server of the test: who waits for whom, and what is asked. */
import {createSocket, type Socket} from 'node:dgram';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {LookupQueue} from '../../../egress/lookup-queue.ts';
import type {Resolve} from '../../../egress/policy.ts';
import {systemNames} from '../../../egress/system-names.ts';
import {TenantNames} from '../../../egress/tenant-names.ts';
import {until} from '../../harness/until.ts';

const TYPES: Record<number, string> = {1: 'A', 28: 'AAAA'};

let server: Socket;
let directory: string;
let resolve: Resolve;
/** Questions that arrived, as `A name`. */
let asked: string[];
/** By question; a question that is in neither of the two has no address. */
let answers: Record<string, number[]>;
let silent: RegExp;

beforeEach(async () => {
  asked = [];
  answers = {'A quick.example': [192, 0, 2, 1], 'A inner.search.example': [192, 0, 2, 2]};
  silent = /slow/;
  server = createSocket('udp4');
  server.on('message', (message, from) => {
    const question = questionOf(message);
    asked.push(question);
    if (!silent.test(question)) server.send(answerTo(message, answers[question]), from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  directory = mkdtempSync(join(tmpdir(), 'svc-names-'));
  writeFileSync(join(directory, 'hosts'), '# a comment\n10.1.2.3 Listed.example other\nfd00::3 listed.example\n');
  writeFileSync(join(directory, 'resolv.conf'), 'search search.example. more.example\n');
  const servers = [`127.0.0.1:${(server.address() as AddressInfo).port}`];
  resolve = systemNames({hosts: join(directory, 'hosts'), resolvConf: join(directory, 'resolv.conf'), servers});
});
afterEach(() => {
  server.close();
  rmSync(directory, {recursive: true});
});

const never = new AbortController().signal;

function questionOf(message: Buffer): string {
  const labels: string[] = [];
  let at = 12;
  for (; message[at] !== 0; at += message[at]! + 1)
    labels.push(message.toString('latin1', at + 1, at + 1 + message[at]!));
  return `${TYPES[message.readUInt16BE(at + 1)]} ${labels.join('.')}`;
}

/** Without an address: there is no such name. */
function answerTo(message: Buffer, address: number[] | undefined): Buffer {
  const end = message.indexOf(0, 12) + 5;
  const head = Buffer.from(message.subarray(0, end));
  head.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2);
  for (const [at, count] of [1, address === undefined ? 0 : 1, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * at);
  if (address === undefined) return head;
  return Buffer.concat([head, Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, ...address])]);
}

test('names come from the hosts file, else from name servers and search domains', async () => {
  expect(await resolve('listed.example', never)).toEqual(['10.1.2.3', 'fd00::3']);
  expect(await resolve('other', never)).toEqual(['10.1.2.3']);
  expect(await resolve('app.localhost', never)).toEqual(['127.0.0.1', '::1']);
  expect(asked).toEqual([]);
  expect(await resolve('quick.example', never)).toEqual(['192.0.2.1']);
  expect(await resolve('inner', never)).toEqual(['192.0.2.2']);
  await expect(resolve('nothing.example', never)).rejects.toMatchObject({
    code: 'ENOTFOUND',
    message: 'getaddrinfo ENOTFOUND nothing.example',
  });
  writeFileSync(join(directory, 'hosts'), '10.9.9.9 quick.example # moved\n');
  await until('the new file to hold', async () => (await resolve('quick.example', never))[0] === '10.9.9.9');
});

test('names that get no answer delay no other tenant, and leave when they are given up', async () => {
  const queue = new LookupQueue({atOnce: 40, atOncePerTenant: 8, waitingPerTenant: 64});
  const stop = new AbortController();
  const slow = ['a', 'b', 'c', 'd'].flatMap(tenant => {
    const names = new TenantNames(tenant, queue, resolve);
    return Array.from({length: 60}, (_, n) => names.addresses(`slow${n}.${tenant}.example`, stop.signal));
  });
  const ended = Promise.allSettled(slow);
  await until('all to be under way', () => new Set(asked.filter(question => question.includes('slow'))).size >= 64);
  const other = new TenantNames('other', queue, resolve);
  expect(await other.addresses('quick.example', never)).toEqual(['192.0.2.1']);
  expect(queue.waiting).toBe(4 * 52);
  stop.abort();
  await ended;
  expect(queue.waiting).toBe(0);
  expect(await other.addresses('inner', never)).toEqual(['192.0.2.2']);
});

test('a name that several want is asked for once, and one that failed not again at once', async () => {
  const names = new TenantNames('a', new LookupQueue({atOnce: 8, atOncePerTenant: 8, waitingPerTenant: 8}), resolve);
  const all = await Promise.allSettled(Array.from({length: 50}, () => names.addresses('gone.example', never)));
  await expect(names.addresses('gone.example', never)).rejects.toMatchObject({code: 'ENOTFOUND'});
  expect(all.every(({status}) => status === 'rejected')).toBe(true);
  expect(asked.filter(question => question === 'A gone.example')).toHaveLength(1);
});

test('the tenant with the fewest is next; names beyond those that may wait fail with EMFILE', async () => {
  const queue = new LookupQueue({atOnce: 2, atOncePerTenant: 2, waitingPerTenant: 3});
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (tenant: string) =>
    queue.run(tenant, never, () => {
      begun.push(tenant);
      return new Promise<void>(done => ends.push(done));
    });
  const first = Array.from({length: 5}, () => run('a'));
  await expect(run('a')).rejects.toMatchObject({code: 'EMFILE'});
  const others = [run('b'), run('b'), run('c')];
  for (let n = 0; n < 8; n++) {
    await until('one to be under way', () => ends.length > n);
    ends[n]!();
  }
  await Promise.all([...first, ...others]);
  expect(begun).toEqual(['a', 'a', 'b', 'a', 'c', 'b', 'a', 'a']);
});
