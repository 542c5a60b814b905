/** A capture thread that fails, or is stuck, ends the copies of its tenant and nothing else. */
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {CommitGroups} from '../../engine/commit/group.ts';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {CaptureLink} from '../../engine/copies/capture-link.ts';
import {fileStateOf} from '../../engine/copies/file-state.ts';
import {TenantCopies} from '../../engine/copies/tenant-copies.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {promptSync} from '../harness/prompt-sync.ts';
import {until} from '../harness/until.ts';

const THREAD = fileURLToPath(new URL('./capture-ends.cjs', import.meta.url));
const log = createLogger({process: 'worker'});

let directory: string;
let path: string;
let db: Connection;
let writer: Writer;
let metrics: WorkerMetrics;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-tenant-copies-'));
  path = join(directory, 'tenant.sqlite');
  db = openWriter(path);
  writer = new Writer(db, Catalog.read(db), Date.now);
  metrics = new WorkerMetrics();
  mkdirSync(join(directory, 'spool'));
  writeFileSync(join(directory, 'spool', 'position'), '');
});
afterEach(() => {
  db.close();
  rmSync(directory, {recursive: true});
});

/** Of the file at each beginning of a capture. */
let began: number[];

/** @param fails the thread throws; otherwise it takes nothing */
function start(fails: boolean, againMs?: number): TenantCopies {
  const settings = {everyMs: fails ? 1 : 1_000, spoolBytesMax: 1};
  began = [];
  const file = () => {
    const state = fileStateOf(db, writer.head, 0);
    began.push(state.commit);
    return state;
  };
  return new TenantCopies({path, settings, file, metrics, log}, {thread: THREAD, againMs});
}

const givenUp = async () => {
  const report = await metrics.report();
  return report.find(({name}) => name === 'svc_copies_given_up_total')?.values[0]?.value ?? 0;
};

/** Locks of this process on the file. */
function locks(): number {
  const {ino} = statSync(path);
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .filter(line => line.includes(` ${process.pid} `) && line.includes(`:${ino} `)).length;
}

test.each([
  ['fails', true],
  ['is stuck', false],
])('a thread that %s: the spool is dropped, writes and checkpoints go on', async (_, fails) => {
  const before = locks();
  expect(before).toBeGreaterThan(0);
  const copies = start(fails);
  const groups = new CommitGroups({writer, metrics, log, stages: [], sync: promptSync, copies});
  const insert = (text: string) => groups.perform(own => insertEffect('t', {text})(own));
  await insert('one');
  expect(copies.isTaken(1)).toBe(false);
  if (!fails) copies.giveUp();
  await until('copies to be given up', async () => (await givenUp()) === 1);
  expect(readdirSync(join(directory, 'spool'))).toEqual([]);
  expect(copies.isTaken(0)).toBe(true);
  await insert('two');
  copies.giveUp();
  expect(await givenUp()).toBe(1);
  expect(locks()).toBe(before);
  await groups.close();
  copies.close(writer.numbers.newest, {lastSequence: writer.head.sequence, committedMs: 0});
});

test.each([
  ['failed', true],
  ['was stuck', false],
])('a capture that %s begins again behind a checkpoint, each time', async (_, fails) => {
  const copies = start(fails, 0);
  const groups = new CommitGroups({writer, metrics, log, stages: [], sync: promptSync, copies});
  const insert = (text: string) => groups.perform(own => insertEffect('t', {text})(own));
  for (let n = 1; n <= 4; n++) {
    await insert(`document ${n}`);
    await until('a capture to begin', () => began.length === n);
    if (!fails) copies.giveUp();
    await until('it to be given up', async () => (await givenUp()) === n);
  }
  expect(began).toEqual([...began].sort((a, b) => a - b));
  await groups.close();
  copies.close(writer.numbers.newest, {lastSequence: writer.head.sequence, committedMs: 0});
});

test('a request to copy all ends the pause after a capture that was given up', async () => {
  const copies = start(false, 3_600_000);
  const groups = new CommitGroups({writer, metrics, log, stages: [], sync: promptSync, copies});
  await groups.perform(own => insertEffect('t', {text: 'one'})(own));
  copies.giveUp();
  const flushes: Promise<void>[] = [];
  await until('a capture to begin', () => {
    flushes.push(copies.flush()); // the thread that was given up may not have ended yet
    return began.length === 2;
  });
  copies.giveUp();
  await Promise.all(flushes);
  await groups.close();
  copies.close(writer.numbers.newest, {lastSequence: writer.head.sequence, committedMs: 0});
});

test('the capture thread reads the number, the sequence and the time of one commit', () => {
  const link = new CaptureLink();
  const other = new CaptureLink(link.memory);
  link.publish({commit: 2 ** 40, sequence: 7, timeMs: 1_700_000_000_000});
  expect(other.durable).toEqual({commit: 2 ** 40, sequence: 7, timeMs: 1_700_000_000_000});
  expect([other.takeRequest(), link.waitTaken(1, 0)]).toEqual([false, false]);
  link.request();
  expect([other.takeRequest(), other.takeRequest()]).toEqual([true, false]);
  other.taken(2 ** 40);
  expect(link.waitTaken(2 ** 40, 0)).toBe(true);
  link.end();
  expect(other.checkGoesOn).toThrow('');
});
