/**
 * Reads committed data on its own connection, in a read transaction: `inSnapshot` opens one if there is none, and
 * `endSnapshot` closes it. The main thread's snapshot is that of the newest durable commit: it is opened before the
 * next COMMIT, and closed when that is durable. A thread's snapshot lasts as long as its request.
 *
 * Every row from the file is compared with its checksum: reading a damaged one gives 503 op.storage_damaged.
 *
 * If the caller limits the text it takes at once, the statement leaves out long bodies, which costs nothing. They are
 * read one by one until the limit is reached. Reading every row separately from SQLite would take twice as long for the
 * usual short ones.
 */
import type Database from 'better-sqlite3';
import {assert} from '../../shared/assert.ts';
import {ROW_CACHE_ENTRIES_MAX, SCAN_ROW_BYTES, SCAN_ROWS_FIRST} from '../limits.ts';
import type {Catalog} from './catalog.ts';
import {checkedRow, type StoredRow} from './checksum.ts';
import type {Connection} from './connection.ts';
import {isEngineDamage, reading, storageDamaged} from './damage.ts';
import type {FunctionReader} from './function-reader.ts';
import {indexReads} from './index-reads.ts';
import {journalTimeline} from './journal-timeline.ts';
import {RowCache} from './row-cache.ts';
import type {DocumentRow, EntryPlace, TableInfo} from './rows.ts';

const DOCUMENT = 'doc, id, created, updated, body, flags, checksum';
/** Leaves out long bodies: their length is in the row's header, so the text is not read. */
const shortBody = (body: string) => `CASE WHEN octet_length(${body}) <= ${SCAN_ROW_BYTES} THEN ${body} END AS body`;
const SHORT_DOCUMENT = DOCUMENT.replace('body', shortBody('body'));
const JOINED = `e.doc AS doc, d.id AS id, d.created AS created, d.updated AS updated, d.body AS body, d.flags AS flags,
  d.checksum AS checksum`;
/**
 * `+ 0`: if a bare parameter's value could affect SQLite's row estimate, the statement would be planned again for each
 * run.
 */
const OF_INDEX = 'e.index_number = (? + 0)';
/** LEFT: an entry without its document is damage, and must not be skipped. */
const FROM_ENTRIES = `FROM index_entries e LEFT JOIN documents d ON d.doc = e.doc WHERE ${OF_INDEX}`;
const ENTRIES = `SELECT ${JOINED} ${FROM_ENTRIES}`;
const SHORT_ENTRIES = `SELECT ${JOINED.replace('d.body AS body', shortBody('d.body'))} ${FROM_ENTRIES}`;
const ENTRIES_BEHIND = `FROM index_entries e WHERE ${OF_INDEX} AND e.key >= ? AND e.key < ? AND (e.key, e.doc) > (?, ?)`;
const NUMBERS = `SELECT e.doc AS doc FROM index_entries e WHERE ${OF_INDEX}`;

/** The index contains the document numbers: rows of other tables are skipped without being read. */
const BY_IDS = `SELECT ${SHORT_DOCUMENT} FROM documents INDEXED BY documents_by_id
  WHERE id >= ? AND id < ? AND doc >= ? AND doc <= ? ORDER BY id`;

/** `body` null: it is long, or damaged. */
type ShortRow = Omit<StoredRow, 'body'> & {body: string | null};
type RangeShape = {hasUpper: boolean; hasAfter: boolean; reverse: boolean};
/** Indexed by the number of their shape. */
type Prepared<Row> = (Database.Statement<unknown[], Row> | undefined)[];

export class Reader implements FunctionReader {
  readonly timeline: string;
  readonly #catalog: Catalog;
  readonly #begin: Database.Statement<[]>;
  readonly #end: Database.Statement<[]>;
  readonly #rollBack: Database.Statement<[]>;
  readonly #byId: Database.Statement<[string], StoredRow>;
  readonly #forward: Database.Statement<[number, number, number], StoredRow>;
  readonly #backward: Database.Statement<[number, number, number], StoredRow>;
  readonly #shortForward: Database.Statement<[number, number, number], ShortRow>;
  readonly #shortBackward: Database.Statement<[number, number, number], ShortRow>;
  readonly #numbersForward: Database.Statement<[number, number, number], number>;
  readonly #namesForward: Database.Statement<[number, number, number], [doc: number, id: string]>;
  readonly #namesBackward: Database.Statement<[number, number, number], [doc: number, id: string]>;
  readonly #idsForward: Database.Statement<unknown[], ShortRow>;
  readonly #idsBackward: Database.Statement<unknown[], ShortRow>;
  readonly #joined: Prepared<StoredRow> = [];
  readonly #shortJoined: Prepared<ShortRow> = [];
  readonly #numbers: Prepared<number> = [];
  #count: Database.Statement<[number], {documents: number; countedTo: number}> | null = null;
  #entryCount: Database.Statement<unknown[], number> | null = null;
  #entryAt: Database.Statement<unknown[], EntryPlace> | null = null;
  #entryNumbers: Database.Statement<unknown[], number> | null = null;
  /** Null: rows can change during its life, as on the writer's connection. */
  readonly #cache: RowCache | null;
  readonly #db: Connection;
  readonly #catalogVersion: Database.Statement<[], number> | null;
  readonly #pin: Database.Statement<[], number>;
  /** Null: the catalog has not been read in a snapshot yet. */
  #readVersion: number | null = null;
  #isHeld = false;
  #inSnapshot = false;

  /** @param followsCatalog the catalog belongs to this reader, and is reloaded in a snapshot with another version */
  constructor(
    db: Connection,
    catalog: Catalog,
    {cachesRows = true, followsCatalog = false}: {cachesRows?: boolean; followsCatalog?: boolean} = {},
  ) {
    const version = "SELECT value FROM meta WHERE key = 'catalog_version'";
    this.#catalogVersion = followsCatalog ? db.prepare<[], number>(version).pluck() : null;
    this.#pin = db.prepare<[], number>('PRAGMA user_version').pluck();
    this.#cache = cachesRows ? new RowCache() : null;
    this.#db = db;
    this.#catalog = catalog;
    this.timeline = journalTimeline(db);
    this.#begin = db.prepare('BEGIN');
    this.#end = db.prepare('COMMIT');
    this.#rollBack = db.prepare('ROLLBACK');
    this.#byId = db.prepare(`SELECT ${DOCUMENT} FROM documents WHERE id = ?`);
    const range = 'FROM documents WHERE doc >= ? AND doc <= ? ORDER BY doc';
    this.#forward = db.prepare(`SELECT ${DOCUMENT} ${range} LIMIT ? + 0`);
    this.#backward = db.prepare(`SELECT ${DOCUMENT} ${range} DESC LIMIT ? + 0`);
    this.#shortForward = db.prepare(`SELECT ${SHORT_DOCUMENT} ${range} LIMIT ? + 0`);
    this.#shortBackward = db.prepare(`SELECT ${SHORT_DOCUMENT} ${range} DESC LIMIT ? + 0`);
    this.#numbersForward = db.prepare<[number, number, number], number>(`SELECT doc ${range} LIMIT ? + 0`).pluck();
    const names = (order: string) =>
      db
        .prepare<[number, number, number], [doc: number, id: string]>(`SELECT doc, id ${range}${order} LIMIT ? + 0`)
        .raw();
    this.#namesForward = names('');
    this.#namesBackward = names(' DESC');
    this.#idsForward = db.prepare(`${BY_IDS} LIMIT ? + 0`);
    this.#idsBackward = db.prepare(`${BY_IDS} DESC LIMIT ? + 0`);
  }

  /** Fixes the current state as the snapshot until `endSnapshot`. It reads one page, even if no read follows. */
  hold(): void {
    if (this.#isHeld) return;
    assert(!this.#inSnapshot, 'reads of a snapshot are inside its transaction');
    this.#begin.run();
    this.#isHeld = true;
    this.#pin.get(); // the first read is what makes it a snapshot
  }

  /** Call it before a read: all reads until `endSnapshot` see one snapshot. */
  inSnapshot(): void {
    if (this.#inSnapshot) return;
    this.hold();
    this.#inSnapshot = true;
    if (this.#catalogVersion === null) return;
    const version = this.#catalogVersion.get() ?? 0;
    if (version !== this.#readVersion) this.#catalog.readAgain(this.#db);
    this.#readVersion = version;
  }

  /** For statements prepared elsewhere, between `inSnapshot` and `endSnapshot`. */
  get db(): Connection {
    return this.#db;
  }

  endSnapshot(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#inSnapshot = false;
    try {
      this.#end.run();
    } catch (caught) {
      // The reader that met the damage got the error; nothing was written that could be lost.
      if (!isEngineDamage(caught)) throw caught;
      if (this.#db.inTransaction) this.#rollBack.run();
    }
  }

  /** Updates the row cache after a commit; call it before the next read. */
  committed({changes}: {readonly changes: readonly {doc: number; after: {row: DocumentRow} | null}[]}): void {
    for (const {doc, after} of changes) this.#cache?.committed(doc, after?.row ?? null);
  }

  table(name: string): TableInfo | undefined {
    return this.#catalog.table(name)?.info;
  }

  documentById(id: string): DocumentRow | undefined {
    const cached = this.#cache?.withId(id);
    if (cached !== undefined) return cached;
    const row = reading(() => this.#byId.get(id));
    if (row === undefined) return undefined;
    this.#check(row);
    if (row.id !== id) {
      if (!id.isWellFormed()) return undefined; // SQLite searched for U+FFFD instead of the lone surrogates
      throw storageDamaged({check: 'id', id, document: row.doc});
    }
    this.#cache?.add(row);
    return row;
  }

  documents(low: number, high: number, reverse: boolean, limit: number, chars = Number.POSITIVE_INFINITY) {
    const cache = limit > 1 && limit <= SCAN_ROWS_FIRST && this.#cache?.isTried() === true ? this.#cache : null;
    const cached = cache === null ? null : this.#cachedRange(cache, low, high, reverse, limit);
    if (cached !== null) return cached;
    const rows = this.#storedRange(low, high, reverse, limit, chars);
    if (cache !== null && rows.length <= ROW_CACHE_ENTRIES_MAX) for (const row of rows) cache.add(row);
    return rows;
  }

  /**
   * The rows of a small range by their numbers and ids; null when some are not cached, or there are too many. A row
   * whose stored number is damaged has the id of another one: it is read, and its checksum refuses it.
   */
  #cachedRange(cache: RowCache, low: number, high: number, reverse: boolean, limit: number): DocumentRow[] | null {
    const most = Math.min(limit, ROW_CACHE_ENTRIES_MAX + 1);
    const names = reading(() => (reverse ? this.#namesBackward : this.#namesForward).all(low, high, most));
    if (names.length > ROW_CACHE_ENTRIES_MAX) return null;
    const rows = cache.all(names.map(([doc]) => doc));
    return rows?.every(({id}, i) => id === names[i]![1]) === true ? rows : null;
  }

  #storedRange(low: number, high: number, reverse: boolean, limit: number, chars: number): StoredRow[] {
    if (chars !== Number.POSITIVE_INFINITY && limit > 1) {
      const rows = reading(() => (reverse ? this.#shortBackward : this.#shortForward).all(low, high, limit));
      return this.#whole(rows, chars);
    }
    return this.#checked(reading(() => (reverse ? this.#backward : this.#forward).all(low, high, limit)));
  }

  documentsByIds(
    from: string,
    to: string,
    low: number,
    high: number,
    reverse: boolean,
    limit: number,
    chars = Number.POSITIVE_INFINITY,
  ): DocumentRow[] {
    const statement = reverse ? this.#idsBackward : this.#idsForward;
    return this.#whole(
      reading(() => statement.all(from, to, low, high, limit)),
      chars,
    );
  }

  isBuilding(table: string, index: string): boolean {
    const indexes = this.#catalog.table(table)?.indexes ?? [];
    return indexes.some(({name, state}) => name === index && state === 'building');
  }

  tableName(number: number): string | undefined {
    return this.#catalog.tableByNumber(number)?.name;
  }

  indexEntries(
    index: number,
    lower: Buffer,
    upper: Buffer | null,
    reverse: boolean,
    after: {key: Buffer; doc: number} | null,
    limit: number,
    chars = Number.POSITIVE_INFINITY,
  ): DocumentRow[] {
    indexReads.note(index);
    const bounds: unknown[] = [index, lower];
    if (upper !== null) bounds.push(upper);
    if (after !== null) bounds.push(after.key, after.doc);
    bounds.push(limit);
    const shape: RangeShape = {hasUpper: upper !== null, hasAfter: after !== null, reverse};
    const cache = limit <= ROW_CACHE_ENTRIES_MAX && this.#cache?.isTried() === true ? this.#cache : null;
    if (cache !== null) {
      const numbers = reading(() => this.#statement(this.#numbers, NUMBERS, shape, true).all(...bounds));
      const cached = cache.all(numbers);
      if (cached !== null) return cached;
    }
    const rows =
      chars === Number.POSITIVE_INFINITY || limit === 1
        ? this.#checkedEntries(reading(() => this.#statement(this.#joined, ENTRIES, shape).all(...bounds)))
        : this.#whole(
            reading(() => this.#statement(this.#shortJoined, SHORT_ENTRIES, shape).all(...bounds)),
            chars,
          );
    if (cache !== null) for (const row of rows) cache.add(row);
    return rows;
  }

  documentCount({number, highDoc}: TableInfo): number | null {
    this.#count ??= this.#db.prepare('SELECT documents, counted_to AS countedTo FROM tables WHERE number = ?');
    const table = reading(() => this.#count!.get(number));
    return table === undefined || table.countedTo < highDoc ? null : table.documents;
  }

  countEntries(
    index: number,
    lower: Buffer,
    upper: Buffer,
    after: EntryPlace | null,
    most: number,
  ): {count: number; last: EntryPlace | null} {
    indexReads.note(index);
    this.#entryCount ??= this.#db
      .prepare<unknown[], number>(`SELECT count(*) FROM (SELECT 1 ${ENTRIES_BEHIND} LIMIT ? + 0)`)
      .pluck();
    const bounds = [index, lower, upper, after?.key ?? lower, after?.doc ?? -1];
    const count = reading(() => this.#entryCount!.get(...bounds, most)) ?? 0;
    return {count, last: count < most ? null : this.#placeOf(bounds, most)};
  }

  documentNumbers(low: number, high: number, most: number): number[] {
    return reading(() => this.#numbersForward.all(low, high, most));
  }

  entryNumbers(
    index: number,
    lower: Buffer,
    upper: Buffer,
    after: EntryPlace | null,
    most: number,
  ): {docs: number[]; last: EntryPlace | null} {
    indexReads.note(index);
    this.#entryNumbers ??= this.#db
      .prepare<unknown[], number>(`SELECT e.doc ${ENTRIES_BEHIND} ORDER BY e.key, e.doc LIMIT ? + 0`)
      .pluck();
    const bounds = [index, lower, upper, after?.key ?? lower, after?.doc ?? -1];
    const docs = reading(() => this.#entryNumbers!.all(...bounds, most));
    return {docs, last: docs.length < most ? null : this.#placeOf(bounds, most)};
  }

  /** The n-th entry within these bounds. */
  #placeOf(bounds: readonly unknown[], n: number): EntryPlace | null {
    this.#entryAt ??= this.#db.prepare(
      `SELECT e.key AS key, e.doc AS doc ${ENTRIES_BEHIND} ORDER BY e.key, e.doc LIMIT 1 OFFSET ? + 0`,
    );
    return reading(() => this.#entryAt!.get(...bounds, n - 1)) ?? null;
  }

  #checkedEntries(rows: StoredRow[]): StoredRow[] {
    for (const row of rows) {
      if (row.id === null) throw storageDamaged({check: 'entry', document: row.doc});
      this.#check(row);
    }
    return rows;
  }

  /** The first rows, with their bodies, up to and including the row that reaches this much text. */
  #whole(rows: ShortRow[], most: number): StoredRow[] {
    const whole: StoredRow[] = [];
    let chars = 0;
    for (const row of rows) {
      if (row.id === null) throw storageDamaged({check: 'entry', document: row.doc});
      const read = hasBody(row) ? row : reading(() => this.#forward.get(row.doc, row.doc, 1));
      if (read === undefined) throw storageDamaged({check: 'entry', document: row.doc});
      this.#check(read);
      whole.push(read);
      chars += read.body.length;
      if (chars >= most) break;
    }
    return whole;
  }

  #checked(rows: StoredRow[]): StoredRow[] {
    for (const row of rows) this.#check(row);
    return rows;
  }

  #check(row: StoredRow): void {
    checkedRow(row, this.#catalog);
  }

  /** One statement per shape of range, prepared on first use. */
  #statement<Row>(prepared: Prepared<Row>, select: string, {hasUpper, hasAfter, reverse}: RangeShape, isValue = false) {
    const shape = (hasUpper ? 1 : 0) + (hasAfter ? 2 : 0) + (reverse ? 4 : 0);
    const known = prepared[shape];
    if (known !== undefined) return known;
    const upper = hasUpper ? ' AND e.key < ?' : '';
    const after = hasAfter ? ` AND (e.key, e.doc) ${reverse ? '<' : '>'} (?, ?)` : '';
    const order = reverse ? 'e.key DESC, e.doc DESC' : 'e.key, e.doc';
    const statement = this.#db.prepare<unknown[], Row>(
      `${select} AND e.key >= ?${upper}${after} ORDER BY ${order} LIMIT ? + 0`,
    );
    // One object per row would cost as much as the step to it.
    if (isValue) statement.pluck();
    prepared[shape] = statement;
    return statement;
  }
}

function hasBody(row: ShortRow): row is StoredRow {
  return row.body !== null;
}
