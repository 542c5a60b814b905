/**
 * What a commit group put on disk, as one value. Once it is durable it is handed to the stages that follow a commit, in the order of the list in
 * `tenant.ts`, and forgotten once they ran.
 *
 * The writer had all of this in hand. What costs something to make (parsed fields of a row that was only read, a record as it
 * is shipped, an event's object) is made when it is first asked for, once: a commit that nobody looks at costs an array or two.
 */
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import {type ParsedDocument, parseDocument, withSystemFields} from '../documents/document.ts';
import type {CatalogIndex} from '../storage/catalog.ts';
import {sealedRecord} from '../storage/record-digest.ts';
import type {DocumentRow} from '../storage/rows.ts';

export type Fields = Record<string, unknown>;

/** A document before or after a write. */
export class Side {
  readonly row: DocumentRow;
  /** Its key in each of the change's `indexes`, in that order; none when the document was damaged. */
  readonly keys: readonly Buffer[];
  readonly #fields: Fields | null;
  #document: ParsedDocument | null = null;

  /** @param fields what `row.body` says, if somebody has parsed it: not changed from now on */
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

/** One written document: as it was and as it is, null where it was not or is not there. A group may change one repeatedly. */
export type Change = {
  readonly table: {readonly number: number; readonly name: string};
  readonly doc: number;
  readonly id: string;
  /** The table's indexes that have entries of it: those that queries use and those that are being filled. */
  readonly indexes: readonly CatalogIndex[];
  readonly before: Side | null;
  readonly after: Side | null;
  /** What `before` says is not what was written: it was deleted because it is damaged. */
  readonly isDamaged: boolean;
};

/** What happened besides documents, which are in `changes`. */
export class CommittedEvent {
  readonly type: JournalEvent['type'];
  /** JSON, as it is in the record. */
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

/** A record of the journal and the digest that chains it to the one before. */
export type StoredRecord = {readonly record: string | Buffer; readonly digest: string};

export class Commit {
  /** Of its first record; one more than `lastSequence` when it has none, like one that only counted or built something. */
  readonly firstSequence: number;
  /** The newest sequence that is on disk with it. */
  readonly lastSequence: number;
  /** Epoch milliseconds, not before its newest record. */
  readonly committedMs: number;
  readonly changes: readonly Change[];
  readonly events: readonly CommittedEvent[];
  /** Tables, indexes or schemas are not what they were. */
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

  /** Its records as the journal shows them, what a backup or a replica is sent: JSON with `integrity_sha256`. */
  get records(): readonly string[] {
    this.#records ??= this.#stored.map(({record, digest}) => sealedRecord(record.toString(), digest));
    return this.#records;
  }
}

/** What follows a commit, named for what it keeps up to date. */
export interface Stage {
  committed(commit: Commit): void;
  /** Writes that had run were taken back: there was no space for their group. */
  takenBack?(): void;
}

const NO_KEYS: readonly Buffer[] = [];
