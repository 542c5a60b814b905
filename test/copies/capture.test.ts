/**
 * A capture and its spool, with a receiver that falls behind and processes that end: a copy that has what the receiver
 * was given is always the file at one of its commits, and in the end the file.
 */
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {Capture} from '../../engine/copies/capture.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {LogReader} from '../../engine/copies/log-reader.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {Spool} from '../../engine/copies/spool.ts';
import {rounds} from '../harness/nightly.ts';
import {Ended, endsAt} from './ending-disk.ts';
import {QUICK_DISK, SMALL, setBytes, setOf, TIMELINE} from './model.ts';

const RUNS = rounds({commit: 30, nightly: 100});
const directory = mkdtempSync(join(tmpdir(), 'svc-test-capture-'));
afterAll(() => rmSync(directory, {recursive: true}));
let files = 0;

/** A file whose commits are numbered, its capture, and the receiver of its page sets. */
class Worker {
  readonly path = join(directory, `${++files}.sqlite`);
  readonly #bytesMax: number;
  readonly #opened: LogReader[] = [];
  #db!: Database.Database;
  #commit = 1;
  spool!: Spool;
  capture!: Capture;
  copy: CopyFile | null = null;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
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
    this.spool = new Spool(`${this.path}-spool`, this.#bytesMax, QUICK_DISK);
    this.capture = new Capture(log, this.spool, this.#file);
  }

  write(n: number, bytes: number): void {
    this.#db.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)').run(n, Buffer.alloc(bytes, n));
    this.#commit++;
  }

  take(): void {
    this.capture.take(this.#file);
    expect(this.spool.bytes).toBeLessThanOrEqual(this.#bytesMax);
  }

  checkpoint(): void {
    this.take();
    this.#db.pragma('wal_checkpoint(PASSIVE)');
  }

  receive(most: number): void {
    if (this.capture.isBaseDue) {
      const sink = new MemorySink();
      this.capture.writeBase(sink);
      this.copy?.close();
      this.copy = CopyFile.create(`${this.path}-copy`, new PageSet(sourceOf(sink.bytes)), QUICK_DISK);
    }
    for (let sets = 0; sets < most; sets++) {
      const oldest = this.spool.oldest();
      if (oldest === null) return;
      this.copy!.apply(new PageSet(sourceOf(oldest)));
      this.spool.confirm();
    }
  }

  /** In order, with the log emptied; the next open has an empty one. */
  close(): void {
    this.take();
    this.#db.close();
    this.#open();
  }

  end(): void {
    this.take();
    this.receive(Number.POSITIVE_INFINITY);
    this.copy!.verify();
    this.copy!.close();
    this.#db.close();
    expect(readFileSync(`${this.path}-copy`).equals(readFileSync(this.path))).toBe(true);
    for (const log of this.#opened) log.close();
  }
}

const acts = fc.array(
  fc.record({
    act: fc.constantFrom('write', 'write', 'write', 'take', 'receive', 'checkpoint', 'crash', 'close', 'lost'),
    n: fc.integer({min: 1, max: 30}),
    bytes: fc.oneof(fc.nat({max: 300}), fc.nat({max: 30_000})),
  }),
  {minLength: 5, maxLength: 40},
);

test('any course of writes, checkpoints, ends and receivers that are late', () => {
  fc.assert(
    fc.property(acts, fc.constantFrom(0, 3_000, 2 ** 20), (steps, bytesMax) => {
      const worker = new Worker(bytesMax);
      for (const {act, n, bytes} of steps) {
        if (act === 'write') worker.write(n, bytes);
        if (act === 'take') worker.take();
        if (act === 'receive') worker.receive(n % 4);
        if (act === 'checkpoint') worker.checkpoint();
        if (act === 'close') worker.close();
        // A set of the spool that a power cut has damaged.
        if (act === 'lost') damageOne(`${worker.path}-spool`);
        if (act === 'crash' || act === 'close' || act === 'lost') worker.start();
      }
      worker.end();
    }),
    {numRuns: RUNS},
  );
});

function damageOne(spool: string): void {
  const set = readdirSync(spool).find(name => name.endsWith('.set'));
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
    worker.write(1, 10);
    worker.close();
    const log = new LogReader(worker.path);
    const spool = new Spool(`${worker.path}-spool`, 2 ** 20, QUICK_DISK);
    const at = {timeline: TIMELINE, pageBytes: 4096, pages: 2, commit: 2, sequence: 20, timeMs: 2};
    expect(new Capture(log, spool, at).isBaseDue).toBe(false);
    expect(new Capture(log, spool, {...at, ...other}).isBaseDue).toBe(true);
    expect(readdirSync(`${worker.path}-spool`)).toEqual([]);
    log.close();
    worker.start();
    worker.end();
  });
});

test('a process that ends at any step of a spool leaves sets that follow one another, or none', () => {
  const path = join(directory, 'spool');
  const addTo = (spool: Spool, n: number) =>
    spool.add(sink => {
      sink.write(setBytes(SMALL, {first: n, last: n}));
      return setOf(SMALL, {first: n, last: n}).after;
    });
  const run = (spool: Spool) => {
    spool.begin(setOf(SMALL, {first: 0, last: 1}).after);
    for (const n of [2, 3]) addTo(spool, n);
    spool.confirm();
    addTo(spool, 4);
    spool.confirm();
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
    const oldest = spool.oldest();
    const from = oldest === null ? '' : ` from ${new PageSet(sourceOf(oldest)).head.first}`;
    found.add(`${spool.position?.commit ?? 'base due'}${from}`);
  }
  expect([...found]).toEqual(['base due', '1', '2 from 2', '3 from 2', '3 from 3', '4 from 3', '4 from 4']);
});
