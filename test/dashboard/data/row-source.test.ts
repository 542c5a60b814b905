/** The requests of a data page: more rows before the reader needs them, and a live query that moves along. */
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {LIVE_MOVE_MS, MARK_MS, ROWS_HELD_MAX} from '../../../dashboard/pages/data/limits.ts';
import type {Doc, RowOrder} from '../../../dashboard/pages/data/row-order.ts';
import {RowSource} from '../../../dashboard/pages/data/row-source.ts';
import type {QueryObject} from '../../../shared/protocol/queries.ts';
import {naiveResult} from '../../harness/naive-query.ts';

const NEWEST: RowOrder = {field: '_creationTime', direction: 'desc'};
const SCREEN = 30;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A table whose live queries answer when it changes. */
class Table {
  docs: Doc[] = [];
  readonly #live = new Map<number, () => void>();
  reads = 0;
  #ids = 0;
  #documents = 0;

  fill(count: number): void {
    for (let i = 0; i < count; i++) this.insert();
  }
  insert(): void {
    const now = ++this.#documents;
    this.docs.push({_id: `d${now}`, _creationTime: now, _updateTime: now} as unknown as Doc);
    for (const changed of this.#live.values()) changed();
  }
  source(order: RowOrder): RowSource {
    const ask = (query: QueryObject) => naiveResult(this.docs, {...query, explain: undefined} as never) as Doc[];
    return new RowSource(
      {table: 't', filters: [], order},
      {
        read: async query => {
          this.reads++;
          return {data: ask(query), explain: null};
        },
        live: (query, onResult) => {
          const id = ++this.#ids;
          this.#live.set(id, () => queueMicrotask(() => this.#live.has(id) && onResult(ask(query))));
          this.#live.get(id)!();
          return () => void this.#live.delete(id);
        },
      },
    );
  }
  get subscriptions(): number {
    return this.#live.size;
  }
}

const settle = () => vi.advanceTimersByTimeAsync(LIVE_MOVE_MS + 1);

describe('a data page', () => {
  test('shows each document of a long table once, in order, and holds a bounded part of it', async () => {
    const table = new Table();
    table.fill(4_000);
    const source = table.source(NEWEST);
    source.jumpTo(null);
    await settle();
    expect(table.reads).toBe(1);
    const seen: string[] = [];
    for (let last = ''; ; ) {
      const {rows} = source.state().window;
      expect(rows.length).toBeLessThanOrEqual(ROWS_HELD_MAX);
      const from = rows.findIndex(row => row.doc._id === last) + 1;
      const visible = rows.slice(from, from + SCREEN);
      if (visible.length === 0) break;
      seen.push(...visible.map(row => row.doc._id));
      last = seen.at(-1)!;
      source.show(from, from + visible.length - 1);
      await settle();
      expect(table.subscriptions).toBe(1);
    }
    expect(seen).toEqual(table.docs.map(doc => doc._id).reverse());
    source.stop();
    expect(table.subscriptions).toBe(0);
  });

  test('jumps to any creation time in one request, and reads on in both directions', async () => {
    const table = new Table();
    table.fill(2_000);
    const source = table.source(NEWEST);
    source.jumpTo(null);
    await settle();
    const {reads} = table;
    source.jumpTo({value: 1_000, created: 1_000, id: ''});
    await settle();
    expect(table.reads).toBeLessThanOrEqual(reads + 3);
    const {rows, isAtStart} = source.state().window;
    expect(isAtStart).toBe(false);
    expect(rows.map(row => row.doc._creationTime)).toContain(1_001);
    expect(rows.map(row => row.doc._creationTime)).toContain(900);
    source.jumpTo(null, true);
    await settle();
    expect(source.state().window.rows.at(-1)!.doc._id).toBe('d1');
    source.stop();
  });

  test('marks what comes, changes and goes in the visible rows, and settles', async () => {
    const table = new Table();
    table.fill(20);
    const source = table.source(NEWEST);
    source.jumpTo(null);
    await settle();
    const gone = table.docs[15]!;
    table.docs.splice(15, 1);
    table.docs[10] = {...table.docs[10]!, _updateTime: 99};
    table.insert();
    await settle();
    const marked = source.state().window.rows.filter(row => row.mark !== null);
    expect(marked.map(({mark}) => mark)).toEqual(['new', 'gone', 'changed']);
    await vi.advanceTimersByTimeAsync(MARK_MS);
    const {rows} = source.state().window;
    expect(rows.every(row => row.mark === null)).toBe(true);
    expect(rows.map(row => row.doc._id)).not.toContain(gone._id);
    source.stop();
  });
});
