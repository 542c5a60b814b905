/** Packages that a host fetches from the store of the cluster: what the store has, and nothing that is damaged there. */
import {createHash} from 'node:crypto';
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {type FetchWish, fetchPackages} from '../../cluster/copies/fetched-packages.ts';
import {SpooledPackages} from '../../cluster/copies/spooled-packages.ts';
import {HostPackages} from '../../cluster/host/host-packages.ts';
import {LOG_SPOOL_PACKAGES_MS, PART_BYTES} from '../../cluster/limits.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import {Owned} from '../../cluster/log/packages.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {Subjects} from '../../cluster/log/subjects.ts';
import {REAL_TIMING} from '../../cluster/log/timing.ts';
import {LOST_PACKAGES_FILE} from '../../shared/tenant-directory.ts';
import {MemoryEngine, MemoryStreams} from './harness/memory-engine.ts';
import {CLUSTER, newTenant} from './harness/rig.ts';

const {signal} = new AbortController();
const tenant = newTenant();
let directory: string;
let to: string;
let engine: MemoryEngine;
let replicated: ReplicatedLog;
let host: HostPackages;
let owned: Owned;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-fetched-packages-'));
  to = join(directory, 'fetched');
  engine = new MemoryEngine(new MemoryStreams(), REAL_TIMING);
  replicated = new ReplicatedLog(engine, CLUSTER);
  owned = new Owned(tenant, 1);
  const path = join(directory, 'tenant.sqlite');
  host = new HostPackages({packages: replicated.packages, pathOf: () => path, freeBytes: () => null, report: () => {}});
});
afterEach(() => rmSync(directory, {recursive: true}));

const BYTES = [Buffer.alloc(PART_BYTES + 7, 'one'), Buffer.from('two')];

/** @returns the names of their files, which are the SHA-512 of what they have */
async function stored(): Promise<string[]> {
  mkdirSync(join(directory, 'packages'));
  const names = BYTES.map(bytes => `${createHash('sha512').update(bytes).digest('hex')}.tgz`);
  for (const [i, name] of names.entries()) writeFileSync(join(directory, 'packages', name), BYTES[i]!);
  await host.putOwn(owned, signal);
  return names;
}

const fetched = (wish: Partial<FetchWish> = {}) => fetchPackages(replicated.packages, tenant, {to, ...wish});
const there = () => Object.fromEntries(readdirSync(to).map(name => [name, readFileSync(join(to, name))]));

test('a directory gets what the store has, once, and loses what the store has not any more', async () => {
  const [one, two] = (await stored()) as [string, string];
  expect(await fetched()).toMatchObject({isMore: true});
  expect(there()).toEqual({[one]: BYTES[0], [two]: BYTES[1]});
  expect(await fetched()).toMatchObject({isMore: false});
  // As a crash can leave it.
  truncateSync(join(to, one), 5);
  writeFileSync(join(to, 'next'), 'half');
  expect(await fetched()).toMatchObject({isMore: true});
  expect(there()).toEqual({[one]: BYTES[0], [two]: BYTES[1]});
  await replicated.packages.drop(owned, new Set([one.slice(0, 128)]));
  expect(await fetched()).toMatchObject({isMore: false});
  expect(there()).toEqual({[two]: BYTES[1]});
});

test('one that is damaged in the store is named, left out, and not read again once it is known', async () => {
  const [, two] = (await stored()) as [string, string];
  const {id} = (await replicated.packages.list(tenant)).find(({bytes}) => bytes === BYTES[0]!.length)!;
  const subject = new Subjects(CLUSTER).base(tenant, id);
  const last = (await engine.last(subject))!;
  await engine.removeBefore(subject, last.sequence);
  const {lost} = await fetched();
  expect([...lost].map(([which, {message}]) => [which, message])).toEqual([
    [id, expect.stringMatching(/^the package /)],
  ]);
  expect(there()).toEqual({[two]: BYTES[1]});
  expect((await fetched({except: new Set(lost.keys())})).lost.size).toBe(0);
});

test('a step fetches a number of bytes, and ends when nothing is wanted any more', async () => {
  await stored();
  expect(await fetched({isOver: () => true})).toMatchObject({isMore: false, isDone: false});
  expect(await fetched({bytesMax: 1})).toMatchObject({isMore: true, isDone: false});
  expect(Object.keys(there())).toHaveLength(1);
  expect(await fetched({bytesMax: 1})).toMatchObject({isMore: true, isDone: true});
});

test('what cannot be read is tried again, and reported when it stays so', async () => {
  const [one] = (await stored()) as [string];
  const reports: string[] = [];
  let fails = true;
  const {packages} = replicated;
  const spooled = new SpooledPackages({
    tenant,
    directory: to,
    packages: {
      list: of => packages.list(of),
      read: (of, info) => (fails && info.bytes > 100 ? failing() : packages.read(of, info)),
    },
    report: sentence => reports.push(sentence),
  });
  const lostFile = join(to, LOST_PACKAGES_FILE);
  const never = () => false;
  expect(spooled.isDue(0)).toBe(true);
  expect(await spooled.fetch(0, never)).toEqual({isMore: true, isDone: true});
  expect(readFileSync(lostFile, 'utf8')).toBe(`${one.slice(0, 128)}\n`);
  let nowMs = 0;
  for (const reported of [0, 1, 1]) {
    expect(spooled.isDue(nowMs)).toBe(false);
    while (!spooled.isDue(nowMs)) nowMs += LOG_SPOOL_PACKAGES_MS;
    await spooled.fetch(nowMs, never);
    expect(reports.length).toBe(reported);
  }
  expect(reports[0]).toContain(`the repository lacks it, of ${tenant.id}`);
  fails = false;
  while (!spooled.isDue(nowMs)) nowMs += LOG_SPOOL_PACKAGES_MS;
  expect(await spooled.fetch(nowMs, never)).toEqual({isMore: true, isDone: true});
  expect(readdirSync(join(to, 'packages'))).toContain(one);
  expect(readdirSync(to)).not.toContain(LOST_PACKAGES_FILE);
  expect(spooled.isDue(Number.MAX_SAFE_INTEGER)).toBe(false);
  spooled.changed();
  expect([spooled.isDue(nowMs), spooled.isDue(nowMs + LOG_SPOOL_PACKAGES_MS)]).toEqual([false, true]);
});

// biome-ignore lint/correctness/useYield: it fails before
async function* failing(): AsyncGenerator<Buffer> {
  throw new LogError('damaged', 'the package: 5 bytes are missing');
}
