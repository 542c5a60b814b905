/**
 * Finds the live queries that a written document may concern, without trying them all: a query with an `eq` filter is filed
 * under its table, the filter's field and value, and is looked at only for documents that have, or had, that value. Queries
 * without one are looked at for every document of their table.
 */
import {hash} from 'node:crypto';
import {encodeKey} from '../../shared/values/key-encoding.ts';
import {type FieldPath, valueAt} from '../../shared/values/paths.ts';
import type {ParsedDocument} from '../documents/document.ts';
import type {LiveQuery} from './live-query.ts';

/** Longer keys are hashed: engines hash long texts of one length alike. */
const KEY_BYTES_PLAIN = 1024;

type ByField = {path: FieldPath; byValue: Map<string, Set<LiveQuery>>};
type OfTable = {byField: Map<string, ByField>; others: Set<LiveQuery>};

export class MatchIndex {
  readonly #tables = new Map<string, OfTable>();

  add(live: LiveQuery): void {
    this.#setOf(live).add(live);
  }

  remove(live: LiveQuery): void {
    const {table} = live.query;
    const ofTable = this.#tables.get(table)!;
    const set = this.#setOf(live);
    set.delete(live);
    const filed = fieldOf(live);
    if (filed !== undefined && set.size === 0) {
      const byField = ofTable.byField.get(filed.field)!;
      byField.byValue.delete(valueKey(filed.value));
      if (byField.byValue.size === 0) ofTable.byField.delete(filed.field);
    }
    if (ofTable.byField.size === 0 && ofTable.others.size === 0) this.#tables.delete(table);
  }

  /** True when writes to this table can concern nobody. */
  isUnwatched(table: string): boolean {
    return !this.#tables.has(table);
  }

  /** The queries that the document before or after (null: not there) may belong to, each once. */
  candidates(table: string, before: ParsedDocument | null, after: ParsedDocument | null): Set<LiveQuery> {
    const found = new Set<LiveQuery>();
    const ofTable = this.#tables.get(table);
    if (ofTable === undefined) return found;
    for (const live of ofTable.others) found.add(live);
    for (const {path, byValue} of ofTable.byField.values()) {
      for (const document of [before, after]) {
        if (document === null) continue;
        for (const live of byValue.get(valueKey(valueAt(document, path))) ?? []) found.add(live);
      }
    }
    return found;
  }

  /** Every query of the table. */
  allOf(table: string): Set<LiveQuery> {
    const ofTable = this.#tables.get(table);
    const found = new Set(ofTable?.others);
    for (const {byValue} of ofTable?.byField.values() ?? []) {
      for (const set of byValue.values()) for (const live of set) found.add(live);
    }
    return found;
  }

  #setOf(live: LiveQuery): Set<LiveQuery> {
    const newTable = (): OfTable => ({byField: new Map(), others: new Set()});
    const newField = (path: FieldPath): ByField => ({path, byValue: new Map()});
    const ofTable = emplace(this.#tables, live.query.table, newTable);
    const filed = fieldOf(live);
    if (filed === undefined) return ofTable.others;
    const byField = emplace(ofTable.byField, filed.field, () => newField(filed.path));
    return emplace(byField.byValue, valueKey(filed.value), () => new Set<LiveQuery>());
  }
}

function fieldOf(live: LiveQuery) {
  return live.filters.find(filter => filter.op === 'eq');
}

function valueKey(value: Parameters<typeof encodeKey>[0][number]): string {
  const key = encodeKey([value]);
  return key.length <= KEY_BYTES_PLAIN ? key.toString('latin1') : hash('sha256', key, 'base64');
}

/** The map's value of this key, made if there is none. */
export function emplace<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
