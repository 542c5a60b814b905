/**
 * Nothing that a crash could take back is ever seen. The disk is driven by hand: a sync ends when a step says so, and at a crash
 * any part of what was not synced may be on disk or not. What recovery finds is held against a model with every moment of
 * the tenant.
 */
import {copyFileSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {describe, expect, onTestFinished, test} from 'vitest';
import type {Stage} from '../../engine/commit/commit.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {Linger} from '../../engine/commit/linger.ts';
import {deleteEffect, insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {JournalReader} from '../../engine/journal/read-page.ts';
import {SCAN_INLINE_CHARS} from '../../engine/limits.ts';
import {LiveIndex} from '../../engine/live/live-index.ts';
import {type LiveHolder, LiveQueries} from '../../engine/live/live-queries.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {leaveSyncsToUs, openReader, openWriter} from '../../engine/storage/database.ts';
import type {Sync} from '../../engine/storage/log-sync.ts';
import {Reader} from '../../engine/storage/reader.ts';
import {ThreadReader} from '../../engine/storage/thread-reader.ts';
import {findLogDamage} from '../../engine/storage/wal-log.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {rounds} from '../harness/nightly.ts';

const BLOCK_BYTES = 512;
const log = createLogger({}, {write: () => undefined});

/** Documents by id: their `n`. */
type State = ReadonlyMap<string, number>;

/** A tenant's log on a disk whose syncs end when the test says so. */
class Disk {
  readonly path: string;
  /** The log as it was when the newest sync that has ended began. */
  #durable: Buffer;
  #syncing: {log: Buffer; done: (error: Error | null) => void} | null = null;
  onSync: () => void = () => undefined;
  /** The next syncs of the thread that writes fail. */
  fails = false;

  constructor(path: string) {
    this.path = path;
    this.#durable = readFileSync(`${path}-wal`);
  }

  readonly sync: Sync = done => {
    expect(this.#syncing).toBeNull(); // one at a time
    this.onSync();
    this.#syncing = {log: readFileSync(`${this.path}-wal`), done};
  };

  get isSyncing(): boolean {
    return this.#syncing !== null;
  }

  /** A sync by the thread that writes. */
  syncNow(): void {
    expect(this.#syncing).toBeNull();
    this.onSync();
    if (this.fails) throw Object.assign(new Error('EIO: i/o error, fdatasync'), {code: 'EIO'});
    this.#durable = readFileSync(`${this.path}-wal`);
  }

  end(error: Error | null = null): void {
    const {log: synced, done} = this.#syncing!;
    this.#syncing = null;
    if (error === null) this.#durable = synced;
    done(error);
  }

  /** All that a power cut that keeps nothing of what was not synced depends on. */
  get content(): Buffer[] {
    return [readFileSync(this.path), readFileSync(`${this.path}-wal`), this.#durable];
  }

  /** The file as the machine finds it after a power cut. @param isKept which blocks of what was not synced had been written */
  cut(to: string, isKept: (block: number) => boolean): void {
    const now = readFileSync(`${this.path}-wal`);
    const found = Buffer.from(now);
    let end = this.#durable.length;
    for (let at = 0; at < now.length; at += BLOCK_BYTES) {
      const to = Math.min(at + BLOCK_BYTES, now.length);
      if (isKept(at / BLOCK_BYTES)) end = Math.max(end, to);
      else if (at < this.#durable.length) this.#durable.copy(found, at, at, to);
      else found.fill(0, at, to);
    }
    copyFileSync(this.path, to);
    writeFileSync(`${to}-wal`, found.subarray(0, Math.max(end, Math.min(now.length, this.#durable.length))));
  }
}

class Tenant implements LiveHolder {
  readonly #directory = makeMemoryDirectory('svc-durable-');
  readonly #path = join(this.#directory, 'tenant.sqlite');
  readonly #db = openWriter(this.#path);
  readonly #readerDb = openReader(this.#path);
  readonly #writer = new Writer(this.#db, Catalog.read(this.#db), Date.now);
  readonly #reader = new Reader(this.#readerDb, new Catalog(), {followsCatalog: true});
  readonly #journal = new JournalReader(this.#readerDb);
  readonly #thread = new ThreadReader(this.#path);
  readonly disk = new Disk(this.#path);
  /** Which groups are synced by the thread that writes. */
  isInThread: () => boolean = () => false;
  readonly groups: CommitGroups;
  readonly #queries: LiveQueries;
  /** The tenant after each sequence. */
  readonly #states: State[] = [new Map()];
  /** The newest sequence that any caller was answered with or has seen. */
  #known = 0;
  /** Of the whole table, and of its first document: a result that is cut is read again when it becomes too short. */
  readonly #liveTexts: string[] = [];
  #crashes = 0;
  /** What the disk held at the last crash after somebody learned something, and what was known then. */
  #learned: {content: Buffer[]; known: number} = {content: [], known: -1};
  /** Called where a process may end: before each sync, and between its end and the first stage. */
  onStep: () => void = () => undefined;

  constructor() {
    const index = new LiveIndex();
    const stages: Stage[] = [
      {committed: () => this.onStep()},
      this.#reader,
      index,
      {committed: commit => this.#queries.committed(commit)},
      {committed: ({lastSequence}) => this.#learn(lastSequence)},
    ];
    leaveSyncsToUs(this.#db);
    this.#reader.inSnapshot();
    this.disk.onSync = () => this.onStep();
    this.groups = new CommitGroups({
      writer: this.#writer,
      metrics: new WorkerMetrics(),
      log,
      stages,
      sync: this.disk.sync,
      inThread: {
        place: {isThread: () => this.isInThread(), inThread: () => undefined, inPool: () => undefined},
        sync: () => this.disk.syncNow(),
      },
      snapshot: {hold: () => this.#reader.hold(), advance: () => this.#reader.endSnapshot()},
      linger: new Linger(),
    });
    this.#queries = new LiveQueries({
      index,
      reader: this.#reader,
      scans: {live: () => expect.fail('the table is small')},
      metrics: new WorkerMetrics(),
      sequence: () => this.groups.durableSequence,
      count: () => 0,
    });
  }

  get ids(): string[] {
    return [...this.#states.at(-1)!.keys()];
  }

  /** Resolves when its caller is answered. */
  async write(kind: 'insert' | 'patch' | 'delete' | 'refused', pick: number, n: number, text: string): Promise<void> {
    let sequence = 0;
    const change = (writer: Writer) => {
      const id = this.ids[pick % Math.max(1, this.ids.length)];
      const state = new Map(this.#states.at(-1));
      if (kind === 'insert' || kind === 'refused' || id === undefined)
        state.set(insertEffect('t', {n, text})(writer), n);
      else if (kind === 'patch') state.set(patchEffect('t', id, {patch: {n, text}})(writer).id, n);
      else state.delete(deleteEffect('t', id)(writer));
      if (kind === 'refused') throw new Error('it is taken back');
      sequence = this.#states.push(state) - 1;
    };
    await this.groups.perform(change).catch(error => expect(error.code).toBe('op.failed'));
    this.#learn(sequence);
  }

  /** On the main thread: never waits, and shows one durable moment. */
  read(): void {
    this.#reader.inSnapshot();
    const sequence = this.#journal.head();
    expect(sequence).toBe(this.groups.durableSequence);
    expect(this.#documents(this.#reader)).toEqual(this.#states[sequence]);
    this.#learn(sequence);
  }

  /** On a thread: sees what is committed, and is answered when that is durable. */
  readOnThread(): void {
    const found = this.#thread.read(reader => ({
      documents: this.#documents(reader),
      sequence: new JournalReader(reader.db).head(),
    }));
    expect(found.documents).toEqual(this.#states[found.sequence]);
    this.groups.whenDurable(() => this.#learn(found.sequence));
  }

  subscribe(): void {
    this.#queries.subscribe(this, 0, {table: 't', filters: []});
    this.#queries.subscribe(this, 1, {table: 't', filters: [], limit: 1});
  }

  /** Somebody knows of this now, so no crash may take it back. */
  #learn(sequence: number): void {
    this.#known = Math.max(this.#known, sequence);
    const {content} = this.disk;
    const isSame = content.every((bytes, i) => this.#learned.content[i]?.equals(bytes) === true);
    if (isSame && this.#learned.known === this.#known) return; // the same crash would be recovered from again
    this.#learned = {content, known: this.#known};
    this.crash(() => false);
  }

  /** What the next process finds, if the machine fails now. */
  crash(isKept: (block: number) => boolean): void {
    const path = join(this.#directory, `crash-${this.#crashes++}`);
    this.disk.cut(path, isKept);
    this.#recovered(path);
  }

  /** What the next process finds, if this one is killed now. */
  kill(): void {
    this.crash(() => true);
  }

  #recovered(path: string): void {
    expect(findLogDamage(path)).toBeNull();
    const db = openWriter(path, false);
    const {head} = new Writer(db, Catalog.read(db), Date.now);
    expect(head.sequence).toBeGreaterThanOrEqual(this.#known);
    const reader = new Reader(db, Catalog.read(db), {cachesRows: false});
    expect(this.#documents(reader)).toEqual(this.#states[head.sequence]);
    db.close();
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, {force: true});
  }

  #documents(reader: Reader): State {
    const info = reader.table('t');
    if (info === undefined) return new Map();
    const rows = reader.documents(info.lowDoc, info.highDoc, false, 1_000);
    return new Map(rows.map(({id, body}) => [id, (JSON.parse(body) as {n: number}).n]));
  }

  /* ── as a router ── */

  liveResult(stream: number): State {
    const documents = JSON.parse(this.#liveTexts[stream]!) as {_id: string; n: number}[];
    return new Map(documents.map(({_id, n}) => [_id, n]));
  }

  /** A result, as a router gets it. */
  live(stream: number, text: string): void {
    this.#liveTexts[stream] = text;
  }

  liveBehind(): void {}

  flushAfterTick(): void {}

  liveFailed(): void {
    expect.fail('a live query failed');
  }

  liveEnd(sequence: number): void {
    expect(this.liveResult(0)).toEqual(this.#states[sequence]);
    if (this.#liveTexts.length > 1)
      expect(this.liveResult(1)).toEqual(new Map([...this.#states[sequence]!].slice(0, 1)));
    this.#learn(sequence);
  }

  /** Every write is answered in the end. */
  async finish(): Promise<void> {
    const idle = this.groups.idle();
    let isIdle = false;
    void idle.then(() => (isIdle = true));
    for (let turn = 0; !isIdle; turn++) {
      expect(turn).toBeLessThan(10_000);
      if (this.disk.isSyncing) this.disk.end();
      await nextTurn();
    }
  }

  close(): void {
    this.#thread.close();
    this.#readerDb.close();
    this.#db.close();
    rmSync(this.#directory, {recursive: true});
  }
}

const STEPS_MAX = 60;
/** As many of these as there are steps are fewer than a query reads on the serving thread. */
const LONG = 'x'.repeat(Math.floor(SCAN_INLINE_CHARS / STEPS_MAX) - 1_000);
const text = fc.constantFrom('', 'x'.repeat(3_000), 'x'.repeat(3_000), LONG);
const step = fc.oneof(
  {
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      kind: fc.constantFrom('insert', 'insert', 'patch', 'delete', 'refused'),
      pick: fc.nat(),
      text,
    }),
    weight: 6,
  },
  {arbitrary: fc.record({do: fc.constant('turn' as const)}), weight: 4},
  {arbitrary: fc.record({do: fc.constant('sync ends' as const)}), weight: 4},
  {arbitrary: fc.record({do: fc.constantFrom('read', 'read on a thread', 'subscribe', 'kill')}), weight: 3},
  {arbitrary: fc.record({do: fc.constant('power cut' as const), kept: fc.infiniteStream(fc.boolean())}), weight: 2},
);

function newTenant(): Tenant {
  const tenant = new Tenant();
  onTestFinished(() => tenant.close());
  return tenant;
}

describe('what anybody learns of is there after a crash', () => {
  test('for random writes, reads, live results, syncs and crashes, at every step', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, {minLength: 5, maxLength: STEPS_MAX}),
        fc.infiniteStream(fc.boolean()),
        fc.infiniteStream(fc.boolean()),
        async (steps, kept, inThread) => {
          const tenant = new Tenant();
          try {
            let n = 0;
            tenant.isInThread = () => inThread.next().value === true;
            tenant.onStep = () => tenant.crash(() => kept.next().value === true);
            const told: Promise<void>[] = [];
            for (const one of steps) {
              if (one.do === 'write') {
                const {kind, pick, text: filling} = one;
                told.push(tenant.write(kind as 'insert', pick, ++n, filling));
              } else if (one.do === 'turn') await nextTurn();
              else if (one.do === 'sync ends') {
                if (tenant.disk.isSyncing) tenant.disk.end();
                await nextTurn();
              } else if (one.do === 'read') tenant.read();
              else if (one.do === 'read on a thread') tenant.readOnThread();
              else if (one.do === 'subscribe') tenant.subscribe();
              else if (one.do === 'kill') tenant.kill();
              else if (one.do === 'power cut') tenant.crash(() => one.kept.next().value === true);
            }
            await tenant.finish();
            await Promise.all(told);
            tenant.read();
          } finally {
            tenant.close();
          }
        },
      ),
      {numRuns: rounds({commit: 15, nightly: 120})},
    );
  }, 120_000);

  test('also while the log begins anew, again and again', async () => {
    const tenant = newTenant();
    for (let n = 0; n < rounds({commit: 10, nightly: 24}); n++) {
      const told = tenant.write(n % 3 === 2 ? 'patch' : 'insert', n, n, 'x'.repeat(500_000));
      tenant.read();
      await tenant.finish();
      await told;
      tenant.crash(block => block % 3 === n % 3);
    }
  }, 60_000);
});

describe('while a commit is being synced', () => {
  test('reads go on, and show what was durable before; writes go on in the next group, and wait for their own sync', async () => {
    const tenant = newTenant();
    const order: string[] = [];
    const write = (name: string) => tenant.write('insert', 0, 1, '').then(() => order.push(name));
    const first = write('first');
    await nextTurn();
    expect(tenant.disk.isSyncing).toBe(true);
    const others = [write('second'), write('third')];
    await nextTurn();
    expect(tenant.ids.length).toBe(3); // they ran
    tenant.read();
    expect(tenant.groups.durableSequence).toBe(0);
    tenant.disk.end();
    await first;
    expect(order).toEqual(['first']);
    tenant.read();
    expect(tenant.groups.durableSequence).toBe(1);
    await tenant.finish();
    await Promise.all(others);
    expect(order).toEqual(['first', 'second', 'third']);
    expect(tenant.groups.durableSequence).toBe(3);
  });

  test('what only reads the writer is settled behind it', async () => {
    const tenant = newTenant();
    const first = tenant.write('insert', 0, 1, '');
    await nextTurn();
    let isSettled = false;
    const replay = tenant.groups.perform(writer => writer.head.sequence).then(head => (isSettled = head === 1));
    await nextTurn();
    await nextTurn();
    expect(isSettled).toBe(false);
    tenant.disk.end();
    await Promise.all([first, replay]);
    expect(isSettled).toBe(true);
    expect(tenant.disk.isSyncing).toBe(false); // it wrote nothing: there is nothing to sync
  });
});

test('a sync of the thread that writes: its readers see the moment before, then the one after', async () => {
  const tenant = newTenant();
  tenant.isInThread = () => true;
  for (let n = 0; n < 3; n++) {
    const told = tenant.write('insert', 0, n, '');
    tenant.read(); // leaves a snapshot open
    await told;
    expect(tenant.disk.isSyncing).toBe(false);
    tenant.read();
    expect(tenant.groups.durableSequence).toBe(n + 1);
  }
});

test('a live result that is read again shows the moment it is sent for, when the thread has synced the next one', async () => {
  const tenant = newTenant();
  for (const n of [1, 2, 3]) {
    const told = tenant.write('insert', 0, n, '');
    await tenant.finish();
    await told;
  }
  tenant.subscribe();
  const told = [tenant.write('delete', 0, 0, '')]; // the pool syncs it
  await nextTurn();
  told.push(tenant.write('delete', 0, 0, ''));
  await nextTurn();
  tenant.isInThread = () => true;
  tenant.disk.end();
  await Promise.all(told);
  expect([...tenant.liveResult(1).values()]).toEqual([3]);
});

test('a sync of the thread that writes fails like one of the pool', async () => {
  const tenant = newTenant();
  void tenant.write('insert', 0, 1, '');
  await nextTurn();
  let isTold = false;
  void tenant.write('insert', 0, 2, '').then(() => (isTold = true));
  await nextTurn();
  tenant.isInThread = () => true;
  tenant.disk.fails = true;
  expect(() => tenant.disk.end()).toThrow('the log could not be synced');
  await nextTurn();
  expect(isTold).toBe(false);
  expect(tenant.groups.durableSequence).toBeLessThan(2);
});

test('a sync that fails ends the process: no caller is answered with its commit', async () => {
  const tenant = newTenant();
  let isTold = false;
  void tenant.write('insert', 0, 1, '').then(() => (isTold = true));
  await nextTurn();
  expect(() => tenant.disk.end(Object.assign(new Error('EIO: i/o error, fdatasync'), {code: 'EIO'}))).toThrow(
    'the log could not be synced',
  );
  await nextTurn();
  expect(isTold).toBe(false);
  expect(tenant.groups.durableSequence).toBe(0);
});
