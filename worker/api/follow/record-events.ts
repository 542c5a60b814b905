/**
 * Journal records as events, made once for all readers: the event of a record, the events of a commit that pass a
 * filter of tables, and the tables that a record concerns, which only its JSON contains.
 */
import {Buffer} from 'node:buffer';
import type {Commit} from '../../../engine/commit/commit.ts';
import {STREAM_CHUNK_BYTES_MAX} from '../../../engine/limits.ts';
import {FOLLOWED_RECORDS_KEPT} from '../limits.ts';
import {eventText} from './event-stream.ts';

/** A reader's filter: records that concern one of these tables. */
export class RecordFilter {
  /** Null: all. */
  readonly tables: ReadonlySet<string> | null;
  /** Equal for equal filters. */
  readonly key: string;

  constructor(tables: ReadonlySet<string> | null) {
    this.tables = tables;
    this.key = tables === null ? '' : [...tables].sort().join(' ');
  }
}

type Named = {readonly table?: string; readonly to?: string};

/**
 * Cache of the tables that recent records concern: a reader that is behind reads the records that others have just
 * read.
 */
export class RecordTables {
  /** By sequence, in order of the first request. */
  readonly #known = new Map<number, ReadonlySet<string>>();

  /** @param record of the journal, complete */
  concerns(sequence: number, record: string, {tables}: RecordFilter): boolean {
    if (tables === null) return true;
    const concerned = this.#of(sequence, record);
    for (const table of tables) if (concerned.has(table)) return true;
    return false;
  }

  #of(sequence: number, record: string): ReadonlySet<string> {
    const known = this.#known.get(sequence);
    if (known !== undefined) return known;
    const concerned = tablesIn(record);
    this.#known.set(sequence, concerned);
    if (this.#known.size > FOLLOWED_RECORDS_KEPT) this.#known.delete(this.#known.keys().next().value!);
    return concerned;
  }
}

/** The tables that a record concerns: it wrote to them, or changed their schema or name. */
function tablesIn(record: string): ReadonlySet<string> {
  const {events, writes} = JSON.parse(record) as {events: readonly Named[]; writes: readonly Named[]};
  const tables = new Set<string>();
  for (const said of [writes, events]) {
    for (const {table, to} of said) {
      if (table !== undefined) tables.add(table);
      if (to !== undefined) tables.add(to);
    }
  }
  return tables;
}

/** The part of a commit that one reader is sent, as one chunk. */
export type Events = {readonly bytes: Buffer; readonly count: number};

/** The events of one commit. */
export class CommitEvents {
  /** It is one chunk, small enough to write without checking who reads it. */
  readonly isShort: boolean;
  readonly #commit: Commit;
  readonly #tables: RecordTables;
  /** By the filter's key. */
  readonly #made = new Map<string, Events>();

  constructor(commit: Commit, tables: RecordTables) {
    this.#commit = commit;
    this.#tables = tables;
    let chars = 0;
    for (const {length} of commit.records) chars += length;
    this.isShort = chars <= STREAM_CHUNK_BYTES_MAX;
  }

  of(filter: RecordFilter): Events {
    let events = this.#made.get(filter.key);
    if (events === undefined) {
      events = this.#make(filter);
      this.#made.set(filter.key, events);
    }
    return events;
  }

  #make(filter: RecordFilter): Events {
    const {firstSequence, records} = this.#commit;
    let text = '';
    let count = 0;
    for (const [at, record] of records.entries()) {
      const sequence = firstSequence + at;
      if (!this.#tables.concerns(sequence, record, filter)) continue;
      text += eventText(sequence, null, record);
      count++;
    }
    return {bytes: Buffer.from(text), count};
  }
}
