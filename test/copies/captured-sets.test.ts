/** Page sets of the commits in SQLite's own log: applied to a base they make the file that SQLite's checkpoint makes. */
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {afterAll, expect, test} from 'vitest';
import {MemorySink, sourceOf} from '../../engine/copies/bytes.ts';
import {writeSet} from '../../engine/copies/captured-set.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {LogReader} from '../../engine/copies/log-reader.ts';
import {mergePageSets} from '../../engine/copies/merge.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import {writeBase} from '../../engine/copies/whole-base.ts';
import {FRAME_RUN_MAX, FRAME_RUNS_MAX} from '../../engine/limits.ts';
import {rounds} from '../harness/nightly.ts';
import {QUICK_DISK, TIMELINE} from './model.ts';

const RUNS = rounds({commit: 25, nightly: 100});
const directory = mkdtempSync(join(tmpdir(), 'svc-test-captured-'));
afterAll(() => rmSync(directory, {recursive: true}));
let files = 0;

/** A database with a log, whose owner never moves a commit that the reader has not accepted. */
class Captured {
  readonly path = join(directory, `${++files}.sqlite`);
  readonly db = new Database(this.path);
  readonly log: LogReader;
  position: Position;
  sets: PageSet[] = [];

  constructor() {
    for (const set of [
      'auto_vacuum = INCREMENTAL',
      'journal_mode = WAL',
      'wal_autocheckpoint = 0',
      'synchronous = OFF',
    ])
      this.db.pragma(set);
    this.db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, text BLOB); CREATE INDEX i ON t (text)');
    this.log = new LogReader(this.path);
    const taken = this.log.take(1_000, 0);
    this.log.accept(taken);
    const at = {timeline: TIMELINE, pageBytes: 4096, pages: taken.pagesAfter!, commit: 1, sequence: 0, timeMs: 0};
    const sink = new MemorySink();
    this.position = writeBase(this.log, at, sink);
    this.sets.push(new PageSet(sourceOf(sink.bytes)));
  }

  take(commits: number): void {
    const taken = this.log.take(commits);
    const commit = this.position.commit + commits;
    const sink = new MemorySink();
    this.position = writeSet(this.log, this.position, taken, {commit, sequence: commit, timeMs: commit}, sink);
    this.sets.push(new PageSet(sourceOf(sink.bytes)));
    this.log.accept(taken);
  }

  close(): void {
    this.db.close();
    this.log.close();
  }
}

type Act = {act: 'insert' | 'delete' | 'change' | 'vacuum' | 'spill' | 'checkpoint'; n: number; bytes: number};
const acts = fc.array(
  fc.record({
    act: fc.constantFrom('insert', 'insert', 'insert', 'delete', 'change', 'vacuum', 'spill', 'checkpoint'),
    n: fc.nat({max: 60}),
    bytes: fc.oneof(fc.nat({max: 400}), fc.nat({max: 20_000})),
  }),
  {minLength: 4, maxLength: 40},
);

/** @returns whether there was a commit */
function done(db: Database.Database, {act, n, bytes}: Act): boolean {
  const blob = Buffer.alloc(bytes, n);
  const changesBefore = db.prepare('SELECT total_changes()').pluck().get();
  if (act === 'insert') db.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)').run(n, blob);
  if (act === 'delete') db.prepare('DELETE FROM t WHERE n BETWEEN ? AND ?').run(n, n + 20);
  if (act === 'change') db.prepare('UPDATE t SET text = ? WHERE n BETWEEN ? AND ?').run(blob, n, n + 5);
  if (act === 'spill') {
    // Frames of one transaction that are in the log long before its commit, some of them repeated.
    db.pragma('cache_size = 4');
    db.transaction(() => {
      for (let i = 0; i < 12; i++) db.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)').run(n + (i % 7), blob);
    })();
  }
  if (act !== 'vacuum') return db.prepare('SELECT total_changes()').pluck().get() !== changesBefore;
  const free = db.pragma('freelist_count', {simple: true}) as number;
  db.pragma('incremental_vacuum');
  return free > 0;
}

test('any commits, cut and merged at random', () => {
  fc.assert(
    fc.property(acts, fc.array(fc.integer({min: 1, max: 4}), {minLength: 1}), (steps, sizes) => {
      const captured = new Captured();
      let [waiting, takes] = [0, 0];
      const takeAll = () => {
        while (waiting > 0) {
          const commits = Math.min(waiting, sizes[takes++ % sizes.length]!);
          captured.take(commits);
          waiting -= commits;
        }
      };
      for (const step of steps) {
        if (step.act !== 'checkpoint') waiting += done(captured.db, step) ? 1 : 0;
        else {
          takeAll();
          captured.db.pragma('wal_checkpoint(PASSIVE)');
        }
        if (step.n % 4 === 0) takeAll();
      }
      takeAll();
      expect(captured.log.take(1, 0).commits).toBe(0);
      const [base, ...sets] = captured.sets;
      const copy = CopyFile.create(join(directory, 'copy.sqlite'), base!, QUICK_DISK);
      for (let at = 0, i = 0; at < sets.length; i++) {
        const size = sizes[i % sizes.length]!;
        const sink = new MemorySink();
        mergePageSets(sets.slice(at, at + size), sink);
        copy.apply(new PageSet(sourceOf(sink.bytes)));
        at += size;
      }
      copy.verify();
      copy.close();
      captured.close(); // moves the log into the file
      expect(readFileSync(join(directory, 'copy.sqlite')).equals(readFileSync(captured.path))).toBe(true);
    }),
    {numRuns: RUNS},
  );
});

test('commits with more frames than are kept until they are accepted', () => {
  const captured = new Captured();
  const rows = 2 * FRAME_RUN_MAX * FRAME_RUNS_MAX;
  const insert = captured.db.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)');
  for (const byte of [1, 2]) {
    captured.db.transaction(() => {
      for (let n = 0; n < rows; n++) insert.run(n, Buffer.alloc(4_000, byte));
    })();
    captured.take(1);
  }
  const [base, ...sets] = captured.sets;
  const copy = CopyFile.create(join(directory, 'copy.sqlite'), base!, QUICK_DISK);
  for (const set of sets) copy.apply(set);
  copy.verify();
  copy.close();
  captured.close();
  expect(readFileSync(join(directory, 'copy.sqlite')).equals(readFileSync(captured.path))).toBe(true);
});

test('a commit that is said to be there and is not, and a log overwritten before it was read, are losses', () => {
  const captured = new Captured();
  expect(() => captured.take(1)).toThrow('has 0 of the next 1 commits');
  for (const n of [1, 2]) {
    captured.db.prepare('INSERT INTO t VALUES (?, ?)').run(n, Buffer.alloc(10));
    captured.db.pragma('wal_checkpoint(PASSIVE)');
    captured.db.prepare('UPDATE t SET text = ?').run(Buffer.alloc(20));
    captured.db.pragma('wal_checkpoint(PASSIVE)');
  }
  captured.db.prepare('INSERT INTO t VALUES (?, ?)').run(3, Buffer.alloc(10));
  expect(() => captured.take(1)).toThrow('was overwritten before all of it was read');
  captured.close();
});
