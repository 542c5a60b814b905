/**
 * A commit group that is on disk, as one value. Once it is durable, the stages that follow a commit receive it, in the
 * order of the list in `tenant.ts`.
 *
 * The writer already has all of this data. Expensive parts (parsed fields of a row that was only read, a record as it
 * is shipped, an event's object) are made once, on first use, so a commit without readers costs an array or two.
 */
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import type {CatalogIndex} from '../storage/catalog.ts';
import {type ParsedDocument, parseDocument, withSystemFields} from '../storage/document.ts';
import type {DocumentRow} from '../storage/rows.ts';
import {sealedRecord} from './record.ts';

export type Fields = Record<string, unknown>;

/** A document before or after a write. */
export class Side {
  readonly row: DocumentRow;
  /** Its key in each of the change's `indexes`, in that order; empty when the document was damaged. */
  readonly keys: readonly Buffer[];
  readonly #fields: Fields | null;
  #document: ParsedDocument | null = null;

  /** @param fields the parsed `row.body`, if it has been parsed: must not change from now on */
  constructor(row: DocumentRow, fields: Fields | null = null, keys: readonly Buffer[] = NO_KEYS) {
    this.row = row;
    this.keys = keys;
    this.#fields = fields;
  }

  /** All fields with the system fields. */
  get document(): ParsedDocument {
    this.#document ??= this.#fields === null ? parseDocument(this.row) : withSystemFields(this.row, this.#fields);
    return this.#document;
  }
}

/** One written document before and after; null where it does not exist. A group can change one repeatedly. */
export type Change = {
  /** Of the record that has it. */
  readonly sequence: number;
  readonly table: {readonly number: number; readonly name: string};
  readonly doc: number;
  readonly id: string;
  /** The table's indexes that have entries of it: those that queries use and those being built. */
  readonly indexes: readonly CatalogIndex[];
  readonly before: Side | null;
  readonly after: Side | null;
  /** `before` does not show the stored values: the document was deleted because it is damaged. */
  readonly isDamaged: boolean;
};

/** An event other than a document change; those are in `changes`. */
export class CommittedEvent {
  readonly type: JournalEvent['type'];
  /** JSON, in the form of the record. */
  readonly text: string;
  #event: JournalEvent | null;

  constructor(type: JournalEvent['type'], text: string, event: JournalEvent | null = null) {
    this.type = type;
    this.text = text;
    this.#event = event;
  }

  get event(): JournalEvent {
    this.#event ??= JSON.parse(this.text) as JournalEvent;
    return this.#event;
  }
}

/** A journal record and the digest that chains it to the one before. */
export type StoredRecord = {readonly record: string | Buffer; readonly digest: string};

export class Commit {
  /**
   * Sequence of its first record; `lastSequence + 1` if it has no records, as when it only counted or built something.
   */
  readonly firstSequence: number;
  /** The newest sequence on disk after this commit. */
  readonly lastSequence: number;
  /** Epoch milliseconds, not earlier than its newest record. */
  readonly committedMs: number;
  readonly changes: readonly Change[];
  readonly events: readonly CommittedEvent[];
  /** Tables, indexes or schemas have changed. */
  readonly hasNewCatalog: boolean;
  readonly #stored: readonly StoredRecord[];
  #records: readonly string[] | null = null;

  constructor(
    lastSequence: number,
    committedMs: number,
    changes: readonly Change[],
    events: readonly CommittedEvent[],
    stored: readonly StoredRecord[],
    hasNewCatalog = false,
  ) {
    this.firstSequence = lastSequence - stored.length + 1;
    this.lastSequence = lastSequence;
    this.committedMs = committedMs;
    this.changes = changes;
    this.events = events;
    this.#stored = stored;
    this.hasNewCatalog = hasNewCatalog;
  }

  /** Its records in the form of the journal, backups and replicas: JSON with `integrity_sha256`. */
  get records(): readonly string[] {
    this.#records ??= this.#stored.map(({record, digest}) => sealedRecord(record.toString(), digest));
    return this.#records;
  }
}

/** A stage that follows a commit, named for the state it keeps up to date. */
export interface Stage {
  committed?(commit: Commit): void;
  /** What the stage updates: while there is none, it is passed over. Undefined: it receives every commit. */
  readonly dependents?: {readonly size: number};
  /** It follows events: a commit of documents alone passes it over. */
  readonly isOfEvents?: boolean;
  /** Writes that had run were rolled back because there was no space for their group. */
  takenBack?(): void;
}

/**
 * Passes a durable commit through the stages, in the order of the list. Whether a stage has something to do is
 * checked when its turn comes, because an earlier one can change that.
 */
export function passThrough(stages: readonly Stage[], commit: Commit): void {
  for (const stage of stages) {
    if (stage.dependents?.size === 0 || (stage.isOfEvents === true && commit.events.length === 0)) continue;
    stage.committed?.(commit);
  }
}

const NO_KEYS: readonly Buffer[] = [];
