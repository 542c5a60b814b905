/**
 * A tenant that is replaced by a restore, under writes, while processes are killed: each write that was answered with success is in
 * the tenant or in what was set aside, and nothing is left over. `SVC_SEED=7` repeats a course.
 */
import {spawn} from 'node:child_process';
import {randomBytes, randomInt} from 'node:crypto';
import {cpSync, existsSync, mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {restoreFile} from '../../copies/restore/restore-file.ts';
import {CLI} from '../harness/command.ts';
import {rounds} from '../harness/nightly.ts';
import {isAlive} from '../harness/processes.ts';
import {seededRandom} from '../harness/random.ts';
import {type TestRepository, testRepository} from '../harness/repository.ts';
import {Service} from '../harness/service.ts';
import {Tenant} from '../harness/tenant.ts';
import {until} from '../harness/until.ts';
import {LOAD_TABLE, WriteLoad} from '../harness/write-load.ts';
import {contentOf, TenantHistory} from './history.ts';

const ROUNDS = rounds({commit: 3, nightly: 20});
const VICTIMS = ['supervisor', 'copier', 'all', 'command'] as const;
type Victim = (typeof VICTIMS)[number];

const seed = Number(process.env.SVC_SEED ?? randomInt(2 ** 31));
const random = seededRandom(seed);
const undo: (() => void)[] = [];
const scratch = mkdtempSync(join(tmpdir(), 'svc-killed-restore-'));
let repository: TestRepository;
let service: Service;
let source: Tenant;
let target: Tenant;

beforeAll(async () => {
  repository = await testRepository(remove => undo.push(remove));
  service = await Service.start({args: repository.args});
  source = await Tenant.make(service);
  const documents = Array.from({length: 40}, (_, n) => ({n, text: randomBytes(20_000).toString('base64')}));
  await source.insertAll('source', documents, 4);
  target = await Tenant.make(service);
  await target.insert('source', {n: -1});
  await backUp();
});
afterAll(async () => {
  await service.stop();
  for (const one of undo) one();
  rmSync(scratch, {recursive: true});
});

const admin = () => ({'x-svc-admin-token': service.adminToken});

function backUp(): Promise<unknown> {
  return until('a whole backup', async () => {
    const reply = await service.request('POST', '/api/backup/run', undefined, admin()).catch(() => null);
    return reply?.status === 200;
  });
}

/** Replaces the target by a copy of the source. @returns whether it was answered with success */
async function replaceByRoute(): Promise<boolean> {
  const body = {as: target.id, replace: true, live: true};
  const path = `/api/tenants/${source.id}/restore`;
  const reply = await service.request('POST', path, body, admin()).catch(() => null);
  return reply?.status === 201;
}

function replaceByCommand(): {pid: number; done: Promise<boolean>} {
  const from = ['--from', repository.directory, '--key', repository.keyFile];
  const place = ['--as', target.id, '--replace', '--live', '--data', service.data, '--url', service.url];
  const child = spawn(process.execPath, [CLI, 'restore', source.id, ...from, ...place], {
    stdio: 'ignore',
    env: {PATH: process.env.PATH ?? '', HOME: scratch, TMPDIR: scratch},
  });
  return {pid: child.pid!, done: new Promise(resolve => child.once('close', code => resolve(code === 0)))};
}

async function kill(victim: Victim, command: number | null): Promise<void> {
  switch (victim) {
    case 'command':
      if (command !== null && isAlive(command)) process.kill(command, 'SIGKILL');
      return;
    case 'copier':
      for (const pid of service.children('copier')) process.kill(pid, 'SIGKILL');
      return;
    case 'all':
      await service.killAll();
      return startAgain();
    case 'supervisor': {
      const before = service.processes();
      await service.end('SIGKILL');
      await until('the children to end', () => !before.some(isAlive));
      return startAgain();
    }
  }
}

/** A command that found no server does its work by itself, and keeps the data directory locked meanwhile. */
async function startAgain(): Promise<void> {
  await until('a server to start', () =>
    service.run().then(
      () => true,
      () => false,
    ),
  );
}

/** Markers in a file that a worker may have been killed with. */
function markersIn(directory: string): number[] {
  const copy = join(scratch, 'aside');
  rmSync(copy, {recursive: true, force: true});
  cpSync(directory, copy, {recursive: true});
  return markers(contentOf(join(copy, 'tenant.sqlite')).tables.get(LOAD_TABLE) ?? []);
}

function markers(documents: readonly Record<string, unknown>[]): number[] {
  return documents.map(({marker}) => marker as number);
}

/** While it is replaced, no router knows it. */
async function all(table: string): Promise<Record<string, unknown>[]> {
  await until('the tenant to be served', async () => {
    const reply = await target.request('GET', '/journal?limit=1').catch(() => null);
    return reply?.status === 200;
  });
  const history = await TenantHistory.of(target);
  return history.stateAt(history.head).get(table) ?? [];
}

test(`nothing is lost, and nothing is left (seed ${seed})`, async () => {
  service.showLogOnFailure();
  const load = new WriteLoad(target, 4);
  const course: string[] = [];
  let wasReplaced = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await load.progress(10);
    const isByRoute = random() < 0.5;
    const victim = VICTIMS[Math.floor(random() * VICTIMS.length)]!;
    // A restore takes about as long, until it has replaced the tenant.
    const afterMs = Math.floor(random() * (isByRoute ? 800 : 2_500));
    const command = isByRoute ? null : replaceByCommand();
    const done = command?.done ?? replaceByRoute();
    await delay(afterMs);
    await kill(victim, command?.pid ?? null);
    const isDone = await done;
    if (isDone) wasReplaced++;
    course.push(`${isByRoute ? 'route' : 'command'}, ${victim} after ${afterMs} ms: ${isDone}`);
    await load.progress(10);
    await until('no file that arrives', () => readdirSync(join(service.data, 'incoming')).length === 0);
    const texts = (await all('source')).length;
    expect([1, 40], course.join('\n')).toContain(texts);
    if (isDone) expect(texts, course.join('\n')).toBe(40);
  }
  await load.stop();
  const aside = join(service.data, 'set-aside');
  const replaced = existsSync(aside) ? readdirSync(aside) : [];
  expect(replaced.length, course.join('\n')).toBeGreaterThanOrEqual(wasReplaced);
  const there = new Set([...markers(await all(LOAD_TABLE)), ...replaced.flatMap(name => markersIn(join(aside, name)))]);
  expect(
    [...load.acknowledged].filter(marker => !there.has(marker)),
    course.join('\n'),
  ).toEqual([]);
  await backUp();
  await expectCopied(course);
  await service.end('SIGTERM');
  const left = readdirSync(service.data).filter(name => name.startsWith('scratch') || name === 'incoming');
  expect(left.flatMap(name => readdirSync(join(service.data, name)))).toEqual([]);
  expect(readdirSync(join(service.data, 'tenants'))).toHaveLength(2);
  await service.run();
}, 600_000);

async function expectCopied(course: readonly string[]): Promise<void> {
  const history = await TenantHistory.of(target);
  const reader = await repository.open();
  const path = join(scratch, 'restored.sqlite');
  await restoreFile({repository: reader, tenant: target.id, target: 'newest', path, isKept: true});
  reader.close();
  expect(history.differencesOf(contentOf(path)), course.join('\n')).toEqual([]);
}
