/**
 * Live queries on a real file, held against a model that sorts and filters arrays: after each commit group every held query
 * shows what the model answers, and a result is sent exactly when it differs from the one before.
 */
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {afterAll, afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {deleteEffect, insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {LiveIndex} from '../../engine/live/live-index.ts';
import {type LiveHolder, LiveQueries} from '../../engine/live/live-queries.ts';
import {type LiveRows, liveBatches, liveRows} from '../../engine/reads/live-scan.ts';
import {UNHURRIED} from '../../engine/reads/read-budget.ts';
import {runQuery} from '../../engine/reads/run.ts';
import type {LiveScan} from '../../engine/reads/scan-message.ts';
import type {LiveScans, LiveTaker} from '../../engine/reads/scan-pool.ts';
import {renameTable} from '../../engine/schema/rename.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openReader} from '../../engine/storage/database.ts';
import {Reader} from '../../engine/storage/reader.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import {type Doc, fields, liveShape, naiveLive} from '../harness/naive-query.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const tenant = new TenantParts();
afterAll(() => tenant.close());
const {reader, writer} = tenant;
const metrics = new WorkerMetrics();
const parts = {reader, metrics, sequence: () => writer.head.sequence};

type HeldScan = {scan: LiveScan; taker: LiveTaker; found: LiveRows | null};

/** Scan threads whose snapshots and answers come when a test says so. */
class HeldScans implements LiveScans {
  readonly waiting: HeldScan[] = [];
  readonly #db = openReader(tenant.path);

  live(scan: LiveScan, taker: LiveTaker): () => void {
    const held: HeldScan = {scan, taker, found: null};
    this.waiting.push(held);
    return () => this.#remove(held);
  }

  /** One of them begins its snapshot, if it has not, and finds its result. */
  begin(n: number): void {
    const held = this.waiting[n % Math.max(1, this.waiting.length)];
    if (held === undefined || held.found !== null) return;
    held.taker.begins();
    held.found = liveRows(new Reader(this.#db, Catalog.read(this.#db), {cachesRows: false}), held.scan, UNHURRIED);
  }

  /** The result of one of them arrives. */
  deliver(n: number): void {
    const held = this.waiting[n % Math.max(1, this.waiting.length)];
    if (held === undefined) return;
    if (held.found === null) this.begin(n);
    this.#remove(held);
    for (const batch of liveBatches(held.found!)) held.taker.batch(batch);
    held.taker.end(held.found!.isComplete);
  }

  close(): void {
    this.#db.close();
  }

  #remove(held: HeldScan): void {
    const at = this.waiting.indexOf(held);
    if (at >= 0) this.waiting.splice(at, 1);
  }
}

/** A router that keeps what it is sent. */
class Received implements LiveHolder {
  readonly latest = new Map<number, string>();
  /** Streams that got a result since the last look, and the sequences of the batches. */
  streams: number[] = [];
  /** Streams whose result is behind, as their messages said. */
  readonly behind = new Set<number>();
  sequences: number[] = [];

  live(stream: number, text: string): void {
    this.latest.set(stream, text);
    this.behind.delete(stream);
    this.streams.push(stream);
  }

  liveBehind(stream: number): void {
    this.behind.add(stream);
  }

  liveFailed(stream: number): void {
    throw new Error(`stream ${stream} failed`);
  }

  liveEnd(sequence: number): void {
    this.sequences.push(sequence);
  }

  /** What came since the last look. */
  take(): {streams: number[]; sequences: number[]} {
    const {streams, sequences} = this;
    this.streams = [];
    this.sequences = [];
    return {streams: streams.sort((a, b) => a - b), sequences};
  }
}

/** One write: an insert, or a change of the document that `pick` points at. */
const write = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'patch', 'patch', 'delete'),
  pick: fc.nat(),
  fields,
  rolledBack: fc.constantFrom(false, false, false, false, true),
});
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never;
/** The system fields can be asked for as well, and one of them changes with every patch. */
const query = fc.oneof(
  {arbitrary: liveShape, weight: 6},
  {
    arbitrary: fc.record({
      filters: fc.constant<LiveQueryObject['filters']>([]),
      order: fc.record({
        field: fc.constantFrom('_updateTime', '_creationTime'),
        direction: fc.constantFrom('asc' as const, 'desc' as const),
      }),
      limit: fc.integer({min: 1, max: 4}),
    }),
    weight: 1,
  },
);
const step = fc.record({
  group: fc.array(write, {minLength: 1, maxLength: 5}),
  subscribe: fc.array(query, {maxLength: 2}),
  unsubscribe: fc.option(fc.nat(), {freq: 4}),
});
const indexes = fc.subarray([['a'], ['a', 'b'], ['b'], ['c.d']]);

/** Runs the writes as a commit group does: each in a savepoint of its own. A rename is the last of them, if there are documents. */
function commit(
  table: string,
  writes: readonly Write[],
  ids: string[],
  rename: {to: string; rolledBack: boolean} | null = null,
): void {
  const {statements} = writer;
  statements.begin.run();
  const perform = (rolledBack: boolean, change: () => void) => {
    const mark = writer.mark();
    statements.savepoint.run();
    change();
    writer.appendRecord();
    if (rolledBack) {
      statements.rollbackTo.run();
      writer.returnTo(mark);
    }
    statements.release.run();
  };
  for (const {kind, pick, fields: values, rolledBack} of writes) {
    const id = ids[pick % Math.max(1, ids.length)];
    perform(rolledBack, () => {
      if (kind === 'insert' || id === undefined) {
        const inserted = insertEffect(table, values)(writer);
        if (!rolledBack) ids.push(inserted);
      } else if (kind === 'patch') patchEffect(table, id, values)(writer);
      else {
        deleteEffect(table, id)(writer);
        if (!rolledBack) ids.splice(ids.indexOf(id), 1);
      }
    });
  }
  if (rename !== null && ids.length > 0)
    perform(rename.rolledBack, () => renameTable(writer, {table, to: rename.to, job: undefined}));
  writer.counters.write();
  statements.commit.run();
  reader.endSnapshot();
  reader.committed(writer.commit());
}

describe('live results are what the model answers', () => {
  // No query of this test reads much, however slow the machine is.
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(0));
  afterEach(() => void vi.restoreAllMocks());

  test('for random writes in groups, and random queries that come and go', () => {
    fc.assert(
      fc.property(fc.array(step, {minLength: 1, maxLength: 25}), indexes, (steps, lists) => {
        const {name} = tenant.newTable(lists);
        const ids: string[] = [];
        const all = (): Doc[] => (JSON.parse(runQuery(reader, {table: name, filters: []})) as {data: Doc[]}).data;
        const index = new LiveIndex();
        const live = new LiveQueries({...parts, index, scans: new HeldScans(), count: () => 0});
        const received = new Received();
        const held = new Map<number, LiveQueryObject>();
        let lastStream = 0;
        for (const {group, subscribe, unsubscribe} of steps) {
          for (const part of subscribe) {
            const asked: LiveQueryObject = {table: name, ...part};
            held.set(++lastStream, asked);
            live.subscribe(received, lastStream, asked);
            reader.endSnapshot();
          }
          const gone = [...held.keys()][unsubscribe ?? -1];
          if (gone !== undefined) {
            live.unsubscribe(received, gone);
            held.delete(gone);
          }
          received.take();
          const before = new Map(received.latest);
          commit(name, group, ids);
          index.committed(writer.commit());
          live.committed(writer.commit());
          writer.endGroup();
          reader.endSnapshot();

          const {streams, sequences} = received.take();
          const documents = all();
          const changed: number[] = [];
          for (const [stream, asked] of held) {
            const shown = received.latest.get(stream)!;
            expect(JSON.parse(shown)).toEqual(naiveLive(documents, asked));
            if (shown !== before.get(stream)) changed.push(stream);
          }
          expect(streams).toEqual(changed);
          expect(sequences).toEqual(changed.length === 0 ? [] : [writer.head.sequence]);
        }
        live.release(received);
        expect(live.size).toBe(0);
      }),
      {numRuns: 150},
    );
  });
});

describe('live results of queries that read much', () => {
  const move = fc.record({begin: fc.nat(9), deliver: fc.option(fc.nat(9))});
  const moved = fc.record({
    step,
    moves: fc.array(move, {maxLength: 3}),
    rename: fc.constantFrom('no', 'no', 'no', 'yes', 'taken back'),
    isOfOther: fc.boolean(),
  });

  test('are what the model answers whenever they are not said to be behind, however scans, commits and renames interleave', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(moved, {minLength: 1, maxLength: 25}), async steps => {
        let {name} = tenant.newTable();
        let other = `${name}_renamed`;
        const ids: string[] = [];
        const all = (table: string): Doc[] =>
          (JSON.parse(runQuery(reader, {table, filters: []})) as {data: Doc[]}).data;
        const scans = new HeldScans();
        // Whatever reads the table is taken for a query that reads much.
        const index = new LiveIndex();
        const live = new LiveQueries({...parts, index, scans, count: () => Number.POSITIVE_INFINITY});
        const received = new Received();
        const held = new Map<number, LiveQueryObject>();
        let lastStream = 0;
        const check = () => {
          for (const [stream, asked] of held) {
            const shown = received.latest.get(stream);
            if (shown === undefined || received.behind.has(stream)) continue;
            expect(JSON.parse(shown)).toEqual(naiveLive(all(asked.table), asked));
          }
          expect(received.sequences).toEqual(received.sequences.toSorted((a, b) => a - b));
        };
        for (const {
          step: {group, subscribe, unsubscribe},
          moves,
          rename,
          isOfOther,
        } of steps) {
          for (const part of subscribe) {
            const asked: LiveQueryObject = {table: isOfOther ? other : name, ...part};
            held.set(++lastStream, asked);
            live.subscribe(received, lastStream, asked);
            reader.endSnapshot();
          }
          const gone = [...held.keys()][unsubscribe ?? -1];
          if (gone !== undefined) {
            live.unsubscribe(received, gone);
            held.delete(gone);
          }
          for (const {begin, deliver} of moves) {
            scans.begin(begin);
            if (deliver !== null) scans.deliver(deliver);
          }
          check();
          commit(name, group, ids, rename === 'no' ? null : {to: other, rolledBack: rename === 'taken back'});
          if (rename === 'yes' && ids.length > 0) [name, other] = [other, name];
          index.committed(writer.commit());
          live.committed(writer.commit());
          writer.endGroup();
          reader.endSnapshot();
          check();
          await nextTurn();
        }
        // Once nothing is under way, everybody has a result, and it is the newest.
        for (let n = 0; scans.waiting.length > 0; n++) {
          expect(n).toBeLessThan(1_000);
          scans.deliver(0);
          await nextTurn();
        }
        expect([...held.keys()].filter(stream => !received.latest.has(stream) || received.behind.has(stream))).toEqual(
          [],
        );
        check();
        live.release(received);
        expect(live.size).toBe(0);
        scans.close();
      }),
      {numRuns: 80},
    );
  });
});
