/**
 * A capture and its spool, with a receiver that falls behind and processes that end: a copy that has what the receiver
 * was given is always the file at one of its commits, and in the end the file.
 */
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {Capture} from '../../engine/copies/capture.ts';
import {CaptureLink} from '../../engine/copies/capture-link.ts';
import {CaptureLoop} from '../../engine/copies/capture-loop.ts';
import type {Disk} from '../../engine/copies/disk.ts';
import {LogReader} from '../../engine/copies/log-reader.ts';
import {encodePosition} from '../../engine/copies/position-file.ts';
import {Spool} from '../../engine/copies/spool.ts';
import {SET_NAME} from '../../engine/copies/spool-files.ts';
import {SpoolView} from '../../engine/copies/spool-view.ts';
import {rounds} from '../harness/nightly.ts';
import {Ended, endsAt} from './ending-disk.ts';
import {QUICK_DISK, SMALL, setBytes, setOf, TIMELINE} from './model.ts';
import {Receiver} from './receiver.ts';

const RUNS = rounds({commit: 30, nightly: 100});
const root = mkdtempSync(join(tmpdir(), 'svc-test-capture-'));
afterAll(() => rmSync(root, {recursive: true}));
let files = 0;

/** A file whose commits are numbered, its capture, and the receiver of its page sets. */
class Worker {
  readonly directory = join(root, String(++files));
  readonly path = join(this.directory, 'tenant.sqlite');
  readonly spool = join(this.directory, 'spool');
  readonly #bytesMax: number;
  readonly #disk: Disk;
  readonly #opened: LogReader[] = [];
  #db!: Database.Database;
  #commit = 1;
  #nowMs = 0;
  #link!: CaptureLink;
  #loop!: CaptureLoop;
  readonly #receiver = new Receiver(this.directory, join(this.directory, 'copy'));

  constructor(bytesMax: number, disk: Disk = QUICK_DISK) {
    this.#bytesMax = bytesMax;
    this.#disk = disk;
    mkdirSync(this.directory);
    this.#open();
    this.#db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, bytes BLOB)');
    this.start();
  }

  #open(): void {
    this.#db = new Database(this.path);
    for (const set of ['journal_mode = WAL', 'wal_autocheckpoint = 0', 'synchronous = OFF']) this.#db.pragma(set);
    this.#db.exec('BEGIN IMMEDIATE; COMMIT');
  }

  get #file() {
    const [commit, sequence, timeMs] = [this.#commit, 10 * this.#commit, this.#commit];
    const pages = this.#db.pragma('page_count', {simple: true}) as number;
    return {timeline: TIMELINE, pageBytes: 4096, pages, commit, sequence, timeMs};
  }

  /** The process of the capture begins again, with what is on disk. */
  start(): void {
    const log = new LogReader(this.path);
    this.#opened.push(log);
    this.#link = new CaptureLink();
    this.#link.publish(this.#file);
    const settings = {everyMs: 1_000, spoolBytesMax: this.#bytesMax, spool: this.spool, file: this.#file};
    const parts = {log, link: this.#link, onDropped: () => undefined, now: () => this.#nowMs, disk: this.#disk};
    this.#loop = new CaptureLoop(settings, parts);
  }

  write(n: number, bytes: number): void {
    this.#db.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)').run(n, Buffer.alloc(bytes, n));
    this.#commit++;
    this.#link.publish(this.#file);
  }

  /** Time passes. */
  turn(ms: number): void {
    this.#nowMs += ms;
    this.#loop.turn();
    const view = SpoolView.open(this.directory)!;
    expect(view.list().sets.reduce((sum, {bytes}) => sum + bytes, 0)).toBeLessThanOrEqual(this.#bytesMax);
    view.close();
  }

  /** Everything durable is taken, as before a change of the log. */
  take(): void {
    this.#link.request();
    this.turn(0);
    expect(this.#link.waitTaken(this.#commit, 0)).toBe(true);
  }

  checkpoint(): void {
    this.take();
    this.#db.pragma('wal_checkpoint(PASSIVE)');
  }

  /** The copier has time for some sets. */
  receive(most: number): void {
    this.#receiver.receive(most, 1 + (most % 3));
  }

  /** In order, with the log emptied; the next open has an empty one. */
  close(): void {
    this.take();
    this.#db.close();
    this.#open();
  }

  end(): void {
    // What was dropped is noticed, and a base is requested, made and received.
    for (let turns = 0; turns < 200 && this.#receiver.commit !== this.#commit; turns++) {
      this.receive(64);
      this.turn(60_000);
    }
    this.#receiver.verify();
    this.#receiver.close();
    this.#db.close();
    // What is in the log moves into the file at the close.
    expect(readFileSync(join(this.directory, 'copy')).equals(readFileSync(this.path))).toBe(true);
    for (const log of this.#opened) log.close();
  }

  /** Opens the spool beside a file that says this of itself. */
  captureFor(other: object): Capture {
    const log = new LogReader(this.path);
    const capture = new Capture(log, new Spool(this.spool, 2 ** 20, QUICK_DISK), {...this.#file, ...other});
    log.close();
    return capture;
  }
}

const acts = fc.array(
  fc.record({
    act: fc.constantFrom('write', 'write', 'write', 'turn', 'receive', 'checkpoint', 'crash', 'close', 'lost'),
    n: fc.integer({min: 1, max: 30}),
    bytes: fc.oneof(fc.nat({max: 300}), fc.nat({max: 30_000})),
  }),
  {minLength: 5, maxLength: 60},
);

test('any course of writes, checkpoints, ends and receivers that are late', () => {
  fc.assert(
    fc.property(acts, fc.constantFrom(0, 3_000, 2 ** 20), (steps, bytesMax) => {
      const worker = new Worker(bytesMax);
      for (const {act, n, bytes} of steps) {
        if (act === 'write') worker.write(n, bytes);
        if (act === 'turn') worker.turn(50 * n);
        if (act === 'receive') worker.receive(n % 4);
        if (act === 'checkpoint') worker.checkpoint();
        if (act === 'close') worker.close();
        // A set of the spool that a power cut has damaged.
        if (act === 'lost') damageOne(worker.spool);
        if (act === 'crash' || act === 'close' || act === 'lost') worker.start();
      }
      worker.end();
    }),
    {numRuns: RUNS},
  );
});

function damageOne(spool: string): void {
  const set = readdirSync(spool).find(name => SET_NAME.test(name));
  if (set !== undefined) writeFileSync(join(spool, set), readFileSync(join(spool, set)).subarray(0, -1));
}

describe('a base is due', () => {
  test.each([
    ['of another timeline', {timeline: 'f'.repeat(32)}],
    ['whose commits the log does not have in full', {commit: 9}],
    ['that is older than the spool', {commit: 1}],
    ['that has other pages at the same commit', {pages: 9}],
  ])('when the spool is beside a file %s', (_, other) => {
    const worker = new Worker(2 ** 20);
    worker.receive(0);
    worker.turn(1_000);
    worker.turn(1);
    worker.write(1, 10);
    worker.close();
    expect(worker.captureFor({}).isBaseDue).toBe(false);
    expect(worker.captureFor(other).isBaseDue).toBe(true);
    expect(readdirSync(worker.spool)).toEqual([]);
    worker.start();
    worker.end();
  });
});

test('a base is made once for each request, and a receiver that is gone requests none', () => {
  const worker = new Worker(0);
  const bases = () => readdirSync(worker.spool).filter(name => name === 'base.set').length;
  worker.receive(0);
  for (let turns = 0; turns < 4; turns++) worker.turn(1_000);
  expect(bases()).toBe(1);
  worker.write(1, 10);
  // The set does not fit: everything is dropped, and stays so.
  for (let turns = 0; turns < 4; turns++) worker.turn(60_000);
  expect(readdirSync(worker.spool)).toEqual([]);
  worker.end();
});

test('a process that ends at any step of a spool leaves sets that follow one another, or none', () => {
  const path = join(root, 'spool');
  const after = (n: number) => setOf(SMALL, {first: n, last: n}).after;
  const addTo = (spool: Spool, n: number) =>
    spool.add(sink => {
      sink.write(setBytes(SMALL, {first: n, last: n}));
      return after(n);
    });
  const confirm = (spool: Spool, n: number) => {
    writeFileSync(join(path, 'confirmed'), encodePosition(after(n)));
    spool.removeConfirmed();
  };
  const run = (spool: Spool) => {
    spool.begin(setOf(SMALL, {first: 0, last: 1}).after);
    for (const n of [2, 3]) addTo(spool, n);
    confirm(spool, 2);
    addTo(spool, 4);
    confirm(spool, 3);
    spool.drop();
  };
  const found = new Set<string>();
  for (let change = 0, hasEnded = false; !hasEnded; change++) {
    rmSync(path, {recursive: true, force: true});
    try {
      run(new Spool(path, 2 ** 20, endsAt(change)));
      hasEnded = true;
    } catch (caught) {
      if (!(caught instanceof Ended)) throw caught;
    }
    const spool = new Spool(path, 2 ** 20, QUICK_DISK);
    const sets = readdirSync(path).filter(name => SET_NAME.test(name));
    found.add(`${spool.position?.commit ?? 'base due'} sets ${sets.map(name => Number(SET_NAME.exec(name)![1]))}`);
  }
  expect([...found]).toEqual(['base due sets ', '1 sets ', '2 sets 2', '3 sets 3', '4 sets 4']);
});

test('a base for which the disk has no space is not begun, and the reason has the numbers', () => {
  const worker = new Worker(2 ** 20);
  const capture = worker.captureFor({pages: 2 ** 40});
  expect(capture.beginBase()).toMatch(/the disk has \d+ MiB free: \d+ MiB are needed/);
  expect(capture.isBaseUnderWay).toBe(false);
  expect(readdirSync(worker.spool)).toEqual([]);
});

test('after a base that filled the disk, the pause before the next one doubles', () => {
  let bases = 0;
  let pages = -1;
  const disk: Disk = {
    ...QUICK_DISK,
    open(path, flags) {
      const fd = QUICK_DISK.open(path, flags);
      if (path.endsWith('base.pages')) [pages, bases] = [fd, bases + 1];
      return fd;
    },
    write(fd, bytes, at) {
      if (fd === pages) throw Object.assign(new Error('no space'), {code: 'ENOSPC'});
      QUICK_DISK.write(fd, bytes, at);
    },
    close(fd) {
      if (fd === pages) pages = -1;
      QUICK_DISK.close(fd);
    },
  };
  const worker = new Worker(2 ** 20, disk);
  worker.receive(64);
  for (let minutes = 0; minutes < 32; minutes++) worker.turn(60_000);
  // After 2, 4, 8 and 16 minutes.
  expect(bases).toBe(5);
});
