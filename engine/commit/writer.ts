/**
 * The only writer of a tenant: its changes to documents, indexes and the journal while a group's transaction is open.
 * Only `group.ts` opens, commits and rolls back; only mutations inside a group call this class.
 *
 * Invariants
 * - The journal's sequence is gapless: a record is appended at the end of each write, and rolled back with it.
 * - After every rollback, the state in memory (head of the journal, catalog, counters) equals the file again.
 * - Creation times strictly increase within a table, so document numbers and creation times have the same order; update
 *   times strictly increase within a document.
 */
import {assert} from '../../shared/assert.ts';
import {conflict} from '../../shared/errors.ts';
import type {JournalEvent} from '../../shared/protocol/journal.ts';
import {DAMAGED_DELETE_DOCUMENTS_MAX} from '../limits.ts';
import type {Catalog, CatalogIndex, CatalogTable} from '../storage/catalog.ts';
import {checkedRow, damagedDocument, isSound} from '../storage/checksum.ts';
import type {Connection} from '../storage/connection.ts';
import {reportDamage, storageDamaged} from '../storage/damage.ts';
import {parseFields, storedDocumentText, timeAfter} from '../storage/document.ts';
import {IdFactory} from '../storage/ids.ts';
import {rowChecksum} from '../storage/row-checksum.ts';
import type {DocumentRow} from '../storage/rows.ts';
import {type PendingJobs, prepareStatements, type Statements} from '../storage/statements.ts';
import {DOCS_PER_TABLE} from '../storage/tables.sql.ts';
import {type Cause, SYSTEM} from './cause.ts';
import {Commit, CommittedEvent, type Fields, Side, type StoredRecord} from './commit.ts';
import {CommitNumbers} from './commit-numbers.ts';
import {checkSchema, checkUnique, keysOf, maintainedIndexes, NO_KEYS, TableCounters} from './document-write.ts';
import {GroupChanges} from './group-changes.ts';
import {type JournalHead, PendingRecord, readJournalHead, recordDigest} from './record.ts';

/** A mark in a transaction to return to, together with SQLite's savepoint. */
export type Mark = {
  head: JournalHead;
  undos: number;
  bytes: number;
  changes: number;
  events: number;
  records: number;
  grownBytes: number;
  grownWrites: number;
  replacedChars: number;
};

export class Writer {
  readonly db: Connection;
  readonly #statements: Statements;
  /** Of documents, by the group so far. */
  readonly changes: GroupChanges;
  readonly catalog: Catalog;
  readonly counters: TableCounters;
  readonly numbers: CommitNumbers;
  readonly #ids: IdFactory;
  readonly #clock: () => number;
  /** The clock's time when this process began to count time. */
  readonly #epochMs: number;
  #head: JournalHead;
  #record = new PendingRecord();
  /** What causes the current write: its record says so. */
  cause: Cause = SYSTEM;
  /** Functions that undo changes of the catalog, newest last. */
  #undos: (() => void)[] = [];
  #events: CommittedEvent[] = [];
  #records: StoredRecord[] = [];
  /** Length of the journal records, which contain the documents, written since the group began. */
  #bytes = 0;
  /** Never decreases, not even when a change is rolled back. Null: not read yet. */
  #catalogVersion: number | null = null;
  /** Whether the current group changed the catalog, even if the change was rolled back. */
  #hasNewCatalog = false;
  /** The clock of the function whose writes are running; null: there is none, and each write has its own time. */
  #frozenMs: number | null = null;
  /** Null: not counted since the start. Counting reads every job. */
  #pendingJobs: PendingJobs | null = null;
  /** Bytes that documents, jobs and code grew by since the group began, and the number of such writes. */
  #grownBytes = 0;
  #grownWrites = 0;
  /** Characters of documents before the group changed or deleted them: the commit holds those, too. */
  #replacedChars = 0;

  constructor(db: Connection, catalog: Catalog, clock: () => number) {
    this.db = db;
    this.catalog = catalog;
    this.#statements = prepareStatements(db);
    this.changes = new GroupChanges(this.#statements);
    this.counters = new TableCounters(this.#statements, undo => this.onRollback(undo));
    this.#clock = clock;
    this.#ids = new IdFactory(clock);
    this.#head = readJournalHead(this.#statements);
    this.numbers = new CommitNumbers(db, this.#statements);
    this.#epochMs = this.nowMs() - performance.now();
  }

  /** Deferred changes are stored first, because a statement may read them. */
  get statements(): Statements {
    this.changes.storeDeferred();
    return this.#statements;
  }

  get head(): JournalHead {
    return this.#head;
  }

  /** The sequence of the state that includes the current write so far. */
  get effectSequence(): number {
    return this.#head.sequence + (this.#record.isEmpty ? 0 : 1);
  }

  get bytesWritten(): number {
    return this.#bytes;
  }

  get grownBytes(): number {
    return this.#grownBytes;
  }

  get grownWrites(): number {
    return this.#grownWrites;
  }

  get replacedChars(): number {
    return this.#replacedChars;
  }

  /** The tenant's stored data grew by this many bytes, or shrank. The journal and derived data do not count. */
  grew(bytes: number): void {
    this.#grownBytes += bytes;
    this.#grownWrites++;
  }

  /** Epoch milliseconds; never earlier than the newest record, even if the clock goes back. */
  nowMs(): number {
    return Math.max(this.#clock(), this.#head.timestamp);
  }

  /**
   * As `nowMs`, for expiry: when the clock is set forward while the process runs, nothing looks older. Otherwise a
   * reply stored a moment ago would expire, and its write would be made twice.
   */
  get ageMs(): number {
    return Math.min(this.nowMs(), this.#epochMs + performance.now());
  }

  /** Documents written by `run` have this time: a mutation's clock stands still, so its documents have equal ages. */
  at<T>(nowMs: number, run: () => T): T {
    assert(this.#frozenMs === null, 'a mutation runs inside another');
    this.#frozenMs = nowMs;
    try {
      return run();
    } finally {
      this.#frozenMs = null;
    }
  }

  get #documentMs(): number {
    return this.#frozenMs ?? this.nowMs();
  }

  /* ── transaction ── */

  mark(): Mark {
    return {
      head: this.#head,
      undos: this.#undos.length,
      bytes: this.#bytes,
      changes: this.changes.all.length,
      events: this.#events.length,
      records: this.#records.length,
      grownBytes: this.#grownBytes,
      grownWrites: this.#grownWrites,
      replacedChars: this.#replacedChars,
    };
  }

  /** Rolls back the state in memory to `mark`; the caller does the same in SQLite. */
  returnTo(mark: Mark): void {
    this.#head = mark.head;
    this.#bytes = mark.bytes;
    this.changes.returnTo(mark.changes);
    this.#events.length = mark.events;
    this.#records.length = mark.records;
    this.#grownBytes = mark.grownBytes;
    this.#grownWrites = mark.grownWrites;
    this.#replacedChars = mark.replacedChars;
    this.#record = new PendingRecord();
    while (this.#undos.length > mark.undos) this.#undos.pop()!();
  }

  /** Nothing was changed since, except for the numbers of documents, which can be skipped. */
  isUnchangedSince(mark: Mark): boolean {
    const now = this.mark();
    return (Object.keys(mark) as (keyof Mark)[]).every(part => now[part] === mark[part]) && this.#record.isEmpty;
  }

  /** Everything that the group has written: the content of the durable commit. */
  commit(): Commit {
    return new Commit(
      this.#head.sequence,
      this.nowMs(),
      this.changes.all,
      this.#events,
      this.#records,
      this.#hasNewCatalog,
    );
  }

  /** Call it after the group's commit, or after a rollback of the whole group. */
  endGroup(): void {
    this.changes.endGroup();
    this.#events = [];
    this.#records = [];
    this.#hasNewCatalog = false;
    this.#undos = [];
    this.#bytes = 0;
    this.#grownBytes = 0;
    this.#grownWrites = 0;
    this.#replacedChars = 0;
    this.#record = new PendingRecord();
  }

  /** Runs `undo` if the current change is rolled back. */
  onRollback(undo: () => void): void {
    this.#undos.push(undo);
  }

  /* ── documents ── */

  /** The table of this name; it is created if missing. */
  table(name: string): CatalogTable {
    const known = this.catalog.table(name);
    if (known !== undefined) return known;
    const table = this.catalog.add(name);
    this.onRollback(() => this.#forgetTable(table));
    const checksum = rowChecksum('tables', {number: table.number, name, fields: null, deployed: null});
    this.statements.insertTable.run(table.number, name, table.countedTo, checksum);
    this.catalogChanged();
    return table;
  }

  /** Tables, indexes or schemas changed: other threads reload them when they see a new version. */
  catalogChanged(): void {
    this.#hasNewCatalog = true;
    this.#catalogVersion ??= Number(this.statements.meta.get('catalog_version') ?? 0);
    this.statements.setMeta.run('catalog_version', ++this.#catalogVersion);
  }

  #forgetTable(table: CatalogTable): void {
    this.counters.forget(table);
    this.catalog.remove(table);
  }

  /** The document, or undefined when the table has none with this id. @throws op.storage_damaged 503 */
  document(table: CatalogTable, id: string): DocumentRow | undefined {
    const row = this.documentById(id);
    return row !== undefined && Math.floor(row.doc / DOCS_PER_TABLE) === table.number ? row : undefined;
  }

  /** A document of any table. @throws op.storage_damaged 503 */
  documentById(id: string): DocumentRow | undefined {
    const deferred = this.changes.deferred(id);
    if (deferred !== undefined) return deferred ?? undefined;
    const row = checkedRow(this.#statements.documentById.get(id), this.catalog);
    if (row === undefined || row.id === id) return row;
    if (!id.isWellFormed()) return undefined; // SQLite searched for U+FFFD instead of the lone surrogates
    throw storageDamaged({check: 'id', id, document: row.doc});
  }

  /** @throws op.storage_damaged 503 */
  documentByDoc(doc: number): DocumentRow | undefined {
    return checkedRow(this.statements.documentByDoc.get(doc), this.catalog);
  }

  /** Rows whose doc is above `after` and at most `high`, in that order. @throws op.storage_damaged 503 */
  documentsFrom(after: number, high: number, limit: number): DocumentRow[] {
    const rows = this.statements.documentsFrom.all(after, high, limit);
    for (const row of rows) checkedRow(row, this.catalog);
    return rows;
  }

  /** @param body the stored text of `fields`; both have been checked */
  insert(table: CatalogTable, fields: Fields, body: string, chosenId?: string, flags = 0, updated?: number): string {
    checkSchema(table, fields);
    if (chosenId !== undefined && this.statements.documentById.get(chosenId) !== undefined) {
      throw conflict(`a document with the id ${JSON.stringify(chosenId)} exists`);
    }
    // Check the lengths of keys before anything is changed: a function may catch the error and continue.
    const indexes = maintainedIndexes(table);
    const keys = keysOf(indexes, fields);
    checkUnique(this, table, indexes, keys, fields, null);
    const row = this.newRow(table, body, chosenId, flags, updated);
    this.#wrote(table, indexes, null, new Side(row, fields, keys));
    return row.id;
  }

  /** The row of a new document, which is written next. @param updated set for a document that was updated elsewhere */
  newRow(table: CatalogTable, body: string, chosenId?: string, flags = 0, updated?: number): DocumentRow {
    assert(table.lastN + 1 < DOCS_PER_TABLE, `table ${table.name} is out of document numbers`);
    const n = ++table.lastN;
    table.lastCreated = timeAfter(table.lastCreated, this.#documentMs);
    this.counters.change(table);
    const created = table.lastCreated;
    const id = chosenId ?? this.#ids.next(table.number);
    return {doc: table.number * DOCS_PER_TABLE + n, id, created, updated: updated ?? created, body, flags};
  }

  /** New documents with consecutive numbers have been stored. @param events, writes their texts in the record */
  wroteNew(
    table: CatalogTable,
    indexes: readonly CatalogIndex[],
    stored: readonly Side[],
    events: Buffer,
    writes: Buffer,
  ): void {
    const sequence = this.#head.sequence + 1;
    for (const after of stored) {
      const {doc, id, body} = after.row;
      this.grew(body.length);
      for (const watcher of table.watchers) watcher.add(doc);
      this.changes.addStored({sequence, table, doc, id, indexes, before: null, after, isDamaged: false});
    }
    this.counters.countNew(table, stored[0]!.row.doc, stored.length);
    this.#record.many(events, writes);
  }

  /** The row that the last insert or update of the group has stored. */
  get lastStored(): DocumentRow {
    const row = this.changes.all.at(-1)?.after?.row;
    assert(row !== undefined, 'a document was stored');
    return row;
  }

  /** Replaces the fields of an existing document. @param old its parsed fields, @param body the stored text of `fields` */
  update(table: CatalogTable, row: DocumentRow, old: Fields, fields: Fields, body: string, flags = 0): void {
    checkSchema(table, fields);
    const indexes = maintainedIndexes(table);
    const keys = keysOf(indexes, fields);
    const keysBefore = keysOf(indexes, old);
    checkUnique(this, table, indexes, keys, fields, {doc: row.doc, keys: keysBefore});
    const updated = timeAfter(row.updated, this.#documentMs);
    const now: DocumentRow = {doc: row.doc, id: row.id, created: row.created, updated, body, flags};
    this.#wrote(table, indexes, new Side(row, old, keysBefore), new Side(now, fields, keys));
  }

  delete(table: CatalogTable, row: DocumentRow): void {
    const indexes = maintainedIndexes(table);
    const old = indexes.length === 0 ? null : parseFields(row);
    const keys = old === null ? NO_KEYS : keysOf(indexes, old);
    this.#wrote(table, indexes, new Side(row, old, keys), null);
  }

  /**
   * Deletes the document whether or not it matches its checksum, because this is the way to remove a damaged one. A
   * damaged document's index keys cannot be computed from its fields, so its entries are searched by its number.
   * @throws op.storage_damaged 503 when that search would take long
   */
  deleteById(table: CatalogTable, id: string): boolean {
    const row = this.statements.documentById.get(id);
    if (row === undefined || Math.floor(row.doc / DOCS_PER_TABLE) !== table.number || !id.isWellFormed()) return false;
    if (isSound(row) && row.id === id) {
      this.delete(table, row);
      return true;
    }
    const damage = damagedDocument(row, this.catalog);
    // The index by id would keep its entry, or lose the entry of another document.
    if (row.id !== id) throw storageDamaged({...damage, check: 'id', id});
    if (table.indexes.length > 0 && table.lastN > DAMAGED_DELETE_DOCUMENTS_MAX) throw storageDamaged(damage);
    reportDamage(damage);
    this.statements.deleteDocument.run(row.doc);
    for (const index of table.indexes) this.statements.deleteEntriesOf.run(index.number, row.doc);
    // A value in a damaged row can have another type than its column.
    this.#wrote(table, [], new Side({...row, body: String(row.body)}), null, true);
    return true;
  }

  #wrote(
    table: CatalogTable,
    indexes: readonly CatalogIndex[],
    before: Side | null,
    after: Side | null,
    isDamaged = false,
  ): void {
    const {doc, id} = (after ?? before)!.row;
    const op = before === null ? 'insert' : after === null ? 'delete' : 'update';
    assert(Math.floor(doc / DOCS_PER_TABLE) === table.number, `document ${doc} is of table ${table.name}`);
    const replacedChars = before?.row.body.length ?? 0;
    this.grew((after?.row.body.length ?? 0) - replacedChars);
    this.#replacedChars += replacedChars;
    for (const watcher of table.watchers) watcher.add(doc);
    const sequence = this.#head.sequence + 1;
    const change = {sequence, table, doc, id, indexes, before, after, isDamaged};
    if (isDamaged) this.changes.addStored(change);
    else this.changes.add(change);
    if (op !== 'update') this.counters.countDocument(table, doc, op === 'insert' ? 1 : -1);
    const document = after === null ? 'null' : storedDocumentText(after.row);
    const target = `"table":"${table.name}","id":${JSON.stringify(id)}`;
    this.#record.event(`{"type":"${EVENT_OF[op]}",${target}}`);
    this.#record.write(`{${target},"op":"${op}","document":${document}}`);
  }

  /* ── scheduled work ── */

  /** An id for a job, which belongs to no table. */
  newJobId(): string {
    return this.#ids.next(0);
  }

  get pendingJobs(): PendingJobs {
    this.#pendingJobs ??= this.statements.countJobs.get()!;
    return this.#pendingJobs;
  }

  /** The current write adds (1) or removes (-1) a job of this many bytes. */
  pendingJobsChange(by: 1 | -1, bytes: number): void {
    this.#addPendingJobs(by, by * bytes);
    this.grew(by * bytes);
    this.onRollback(() => this.#addPendingJobs(-by, -by * bytes));
  }

  #addPendingJobs(jobs: number, bytes: number): void {
    if (this.#pendingJobs === null) return;
    this.#pendingJobs = {jobs: this.#pendingJobs.jobs + jobs, bytes: this.#pendingJobs.bytes + bytes};
  }

  /** The current write is the run of this job or cron tick. */
  executing(scheduledExecutionId: string, cause: Cause): void {
    this.#record.scheduledExecutionId = scheduledExecutionId;
    this.cause = {...this.cause, ...cause};
  }

  /* ── journal ── */

  event(event: JournalEvent): void {
    this.#happened(new CommittedEvent(event.type, JSON.stringify(event), event));
  }

  /** @param text JSON of a JournalEvent of this type: stored work is included without parsing it */
  eventText(type: JournalEvent['type'], text: string): void {
    this.#happened(new CommittedEvent(type, text));
  }

  #happened(event: CommittedEvent): void {
    this.#record.event(event.text);
    this.#events.push(event);
  }

  /** Appends the current write's changes as one record; nothing if there are none. */
  appendRecord(): void {
    if (this.#record.isEmpty) return;
    const sequence = this.#head.sequence + 1;
    const timestamp = this.nowMs();
    const record = this.#record.record(sequence, timestamp, this.cause);
    const digest = recordDigest(this.#head.digest, record);
    assert(timestamp >= this.#head.timestamp, 'times of the journal never go back');
    const {changes} =
      typeof record === 'string'
        ? this.#statements.appendJournal.run(sequence, record, digest, this.numbers.next)
        : this.#statements.appendJournalBytes.run(sequence, record, digest, this.numbers.next);
    assert(changes === 1, `record ${sequence} is appended once`);
    this.#head = {sequence, digest, timestamp};
    this.#records.push({record, digest});
    this.#bytes += record.length;
    this.#record = new PendingRecord();
  }
}

const EVENT_OF = {insert: 'document.inserted', update: 'document.updated', delete: 'document.deleted'} as const;
