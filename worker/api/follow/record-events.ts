/**
 * Records of the journal as events, made once for all who follow it: the event of a record, which of a commit's a filter of tables leaves,
 * and which tables a record concerns, which only its JSON says.
 */
import {Buffer} from 'node:buffer';
import type {Commit} from '../../../engine/commit/commit.ts';
import {STREAM_PIECE_BYTES_MAX} from '../../../engine/limits.ts';
import {FOLLOWED_RECORDS_KEPT} from '../limits.ts';
import {eventText} from './event-stream.ts';

/** Which records a reader wants: those that concern one of these tables. */
export class RecordFilter {
  /** Null: all. */
  readonly tables: ReadonlySet<string> | null;
  /** Equal filters have equal ones. */
  readonly key: string;

  constructor(tables: ReadonlySet<string> | null) {
    this.tables = tables;
    this.key = tables === null ? '' : [...tables].sort().join(' ');
  }
}

type Named = {readonly table?: string; readonly to?: string};

/** What records concern, of the latest that somebody asked for: who is behind reads what the others have read just before. */
export class RecordTables {
  /** By sequence, the one asked for first first. */
  readonly #known = new Map<number, ReadonlySet<string>>();

  /** @param record of the journal, whole */
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

/** The tables of which a record says something: it wrote to them, or changed their schema or name. */
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

/** What one reader is sent of a commit, in one piece. */
export type Events = {readonly bytes: Buffer; readonly count: number};

/** The events of one commit. */
export class CommitEvents {
  /** It is one piece, which may be written without a look at who reads it. */
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
    this.isShort = chars <= STREAM_PIECE_BYTES_MAX;
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
