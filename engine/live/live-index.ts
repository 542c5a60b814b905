/**
 * Finds the watchers of a written document: the one index of live queries and of cached results of functions. A watcher
 * registers key ranges in orders in which each document has a position. A change notifies, once, exactly the watchers
 * whose range contains the document's position before or after the change. That takes logarithmic time per order.
 *
 * There are two kinds of orders, each of one table:
 *
 *   of values     any sequence of fields, created for the watchers that use it: encodeKey(values). Expresses filters
 *                 of a query object without an index, so it stays correct when indexes are created and dropped
 *   of a read set the positions of `reads/read-set.ts`: declared indexes, creation, ids. If an index is dropped,
 *                 its ranges lose their meaning, so their watchers let go when indexes change
 */
import {assert} from '../../shared/assert.ts';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {compilePath, type FieldPath, valueAt} from '../../shared/values/paths.ts';
import type {Change, Commit, Side, Stage} from '../commit/commit.ts';
import {ANY_TABLE, oneByte, type PackedReadSet, placesIn} from '../reads/read-set.ts';
import {IntervalIndex} from './interval-index.ts';

export interface Watcher {
  /** A commit wrote a watched document. From here on the watcher can watch other ranges, or none. */
  wrote(change: Change): void;
}

export interface Watch {
  /** Stops watching. Call it once. */
  end(): void;
}

/** Values of `fields` from `lower` on, below `upper`: bytes of keys, as one-byte strings. */
export type FieldRange = {readonly fields: readonly string[]; readonly lower: string; readonly upper: string};

type Orders = IntervalIndex<Watcher>;
type ValueOrder = {fields: readonly string[]; paths: readonly FieldPath[]; ranges: Orders};

export class LiveIndex implements Stage {
  /** By the table's name, then by the fields. */
  readonly #values = new Map<string, Map<string, ValueOrder>>();
  /** By the table's number, then by that of the index. */
  readonly #places = new Map<number, Map<number, Orders>>();
  /** Watchers of tables that do not exist yet, by name. */
  readonly #absent = new Map<string, Set<Watcher>>();
  readonly #found = new Set<Watcher>();
  /** The watches that have not ended. */
  readonly dependents = {size: 0};

  /** @param of empty: no document can match */
  watchValues(watcher: Watcher, table: string, of: readonly FieldRange[]): Watch {
    const [only] = of;
    if (only !== undefined && of.length === 1) return this.#begun(this.#watchRange(watcher, table, only));
    const ends = of.map(range => this.#watchRange(watcher, table, range));
    return this.#begun(() => {
      for (const end of ends) end();
    });
  }

  /** @param end removes it from the orders */
  #begun(end: () => void): Watch {
    this.dependents.size++;
    let isOver = false;
    return {
      end: () => {
        if (isOver) return;
        isOver = true;
        this.dependents.size--;
        assert(this.dependents.size >= 0, 'each watch that began ends once');
        end();
      },
    };
  }

  #watchRange(watcher: Watcher, table: string, {fields, lower, upper}: FieldRange): () => void {
    const orders = emplace(this.#values, table, () => new Map<string, ValueOrder>());
    const name = JSON.stringify(fields);
    const {ranges} = emplace(orders, name, () => {
      return {fields, paths: fields.map(compilePath), ranges: new IntervalIndex<Watcher>()};
    });
    const interval = ranges.add(lower, upper, watcher);
    return () => {
      ranges.remove(interval);
      if (ranges.size > 0) return;
      orders.delete(name);
      if (orders.size === 0) this.#values.delete(table);
    };
  }

  watchReads(watcher: Watcher, {intervals, absentTables}: PackedReadSet): Watch {
    const ends = intervals.map(({table, index, lower, upper}) => {
      const orders = emplace(this.#places, table, () => new Map<number, Orders>());
      const ranges = emplace(orders, index, () => new IntervalIndex<Watcher>());
      const interval = ranges.add(lower, upper, watcher);
      return () => {
        ranges.remove(interval);
        if (ranges.size > 0) return;
        orders.delete(index);
        if (orders.size === 0) this.#places.delete(table);
      };
    });
    for (const table of absentTables) {
      const watchers = emplace(this.#absent, table, () => new Set<Watcher>());
      watchers.add(watcher);
      ends.push(() => {
        watchers.delete(watcher);
        if (watchers.size === 0) this.#absent.delete(table);
      });
    }
    return this.#begun(() => {
      for (const end of ends) end();
    });
  }

  /** Notifies the watchers of each change, in order. */
  committed({changes}: Commit): void {
    const found = this.#found;
    for (const change of changes) {
      this.#collect(change, found);
      for (const watcher of found) watcher.wrote(change);
      found.clear();
    }
  }

  #collect(change: Change, found: Set<Watcher>): void {
    const {table} = change;
    for (const watcher of this.#absent.get(table.name) ?? []) found.add(watcher);
    collectByPlaces(this.#places.get(ANY_TABLE), change, found);
    const places = this.#places.get(table.number);
    const values = this.#values.get(table.name);
    if (change.isDamaged) {
      // The old values are unknown: every watcher of the table is notified, because each may show the document.
      for (const {ranges} of values?.values() ?? []) ranges.collectAll(found);
      for (const ranges of places?.values() ?? []) ranges.collectAll(found);
      return;
    }
    collectByPlaces(places, change, found);
    for (const order of values?.values() ?? []) collectByValues(order, change, found);
  }
}

function collectByPlaces(orders: ReadonlyMap<number, Orders> | undefined, change: Change, found: Set<Watcher>): void {
  if (orders === undefined) return;
  for (const [index, ranges] of orders) {
    for (const place of placesIn(index, change)) ranges.collect(place, found);
  }
}

function collectByValues({fields, paths, ranges}: ValueOrder, change: Change, found: Set<Watcher>): void {
  const {indexes, before, after} = change;
  // The writer may have made the same keys for an index.
  const index = indexes.findIndex(one => isSame(one.fields, fields));
  const keyOf = (side: Side | null) =>
    side === null ? null : oneByte(side.keys[index] ?? encodeKey(paths.map(path => valueAt(side.document, path))));
  collectBoth(ranges, keyOf(before), keyOf(after), found);
}

function collectBoth(ranges: Orders, before: string | null, after: string | null, found: Set<Watcher>): void {
  if (before !== null) ranges.collect(before, found);
  if (after !== null && after !== before) ranges.collect(after, found);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((field, i) => field === b[i]);
}

/** The map's value of this key; created if missing. */
export function emplace<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
