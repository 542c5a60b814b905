/**
 * Batched inserts: does the work of `Writer.insert` for as many new documents as one statement takes. Each document is
 * checked (schema, keys, unique indexes) when it is added, so a refused one has written nothing. Then rows, index
 * entries and the texts of the journal record are written for the whole batch. Flush before any other write or read.
 */
import {Buffer} from 'node:buffer';
import {INSERT_ROWS_AT_ONCE} from '../limits.ts';
import type {CatalogIndex, CatalogTable} from '../storage/catalog.ts';
import {documentChecksum} from '../storage/checksum.ts';
import {parseFields} from '../storage/document.ts';
import type {DocumentRow} from '../storage/rows.ts';
import {type Fields, Side} from './commit.ts';
import {checkSchema, checkUnique, keysOf, maintainedIndexes, NO_KEYS} from './document-write.ts';
import type {Writer} from './writer.ts';

/** A new document without an id, whose fields have been checked. */
export type NewDocument = {
  readonly table: string;
  /** These bytes contain its stored text in UTF-8, from `start` to `end`. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly isAscii: boolean;
};

/** The destination of the batch. */
type Target = {readonly table: CatalogTable; readonly indexes: readonly CatalogIndex[]; readonly isUnique: boolean};
type Waiting = {readonly document: NewDocument; readonly side: Side};

export class NewDocuments {
  readonly #writer: Writer;
  #target: Target | null = null;
  #waiting: Waiting[] = [];
  /** Unique keys of the batched documents: number of the index and key. */
  readonly #keys = new Set<string>();

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** @throws op.schema_violation 400, op.invalid_input 400, op.unique_violation 409, op.storage_damaged 503 */
  add(document: NewDocument): void {
    const writer = this.#writer;
    const {table, indexes, isUnique} = this.#targetNamed(document.table);
    const {bytes, start, end, isAscii} = document;
    const body = bytes.toString(isAscii ? 'latin1' : 'utf8', start, end);
    let fields: Fields | null = null;
    let keys = NO_KEYS;
    if (table.compiled !== null || indexes.length > 0) {
      fields = parseFields({body, flags: 0});
      checkSchema(table, fields);
      keys = keysOf(indexes, fields);
      if (isUnique) this.#checkUnique(table, indexes, keys, fields);
    }
    const row = writer.newRow(table, body);
    this.#waiting.push({document, side: new Side(row, fields, keys)});
    if (this.#waiting.length === INSERT_ROWS_AT_ONCE) this.flush();
  }

  #targetNamed(name: string): Target {
    if (this.#target?.table.name === name) return this.#target;
    this.flush();
    const table = this.#writer.table(name);
    const indexes = maintainedIndexes(table);
    this.#target = {table, indexes, isUnique: indexes.some(index => index.isUnique)};
    return this.#target;
  }

  #checkUnique(table: CatalogTable, indexes: readonly CatalogIndex[], keys: readonly Buffer[], fields: Fields): void {
    const names = indexes.flatMap((index, i) =>
      index.isUnique ? [`${index.number} ${keys[i]!.toString('latin1')}`] : [],
    );
    // The conflicting document may be in this batch: it is found after a flush.
    if (names.some(name => this.#keys.has(name))) this.flush();
    checkUnique(this.#writer, table, indexes, keys, fields, null);
    for (const name of names) this.#keys.add(name);
  }

  /** Writes the batch. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    const {table, indexes} = this.#target!;
    this.#waiting = [];
    this.#keys.clear();
    this.#writeRows(waiting.map(({side}) => side.row));
    for (const [i, {number}] of indexes.entries()) this.#writeEntries(number, i, waiting);
    this.#writer.wroteNew(
      table,
      indexes,
      waiting.map(({side}) => side),
      eventsOf(table.name, waiting),
      writesOf(table.name, waiting),
    );
  }

  #writeRows(rows: readonly DocumentRow[]): void {
    const {insertDocument, insertDocuments} = this.#writer.statements;
    if (rows.length < INSERT_ROWS_AT_ONCE) {
      for (const row of rows) {
        const {doc, id, created, updated, body, flags} = row;
        insertDocument.run(doc, id, created, updated, body, flags, documentChecksum(row));
      }
      return;
    }
    const values: unknown[] = [];
    for (const row of rows) {
      values.push(row.doc, row.id, row.created, row.updated, row.body, row.flags, documentChecksum(row));
    }
    insertDocuments.run(values);
  }

  /** @param place position of the index among the table's */
  #writeEntries(index: number, place: number, waiting: readonly Waiting[]): void {
    const {insertEntry, insertEntries} = this.#writer.statements;
    if (waiting.length < INSERT_ROWS_AT_ONCE) {
      for (const {side} of waiting) insertEntry.run(index, side.keys[place]!, side.row.doc);
      return;
    }
    const values: unknown[] = [];
    for (const {side} of waiting) values.push(index, side.keys[place]!, side.row.doc);
    insertEntries.run(values);
  }
}

/** In the form of the journal record. Table names and generated ids contain nothing that JSON would escape. */
function eventsOf(table: string, waiting: readonly Waiting[]): Buffer {
  const target = `{"type":"document.inserted","table":"${table}","id":"`;
  let events = '';
  for (const [i, {side}] of waiting.entries()) events += `${i === 0 ? '' : ','}${target}${side.row.id}"}`;
  return Buffer.from(events, 'latin1');
}

/** Each document in the form of `storedDocumentText`: system fields, then its stored bytes. */
function writesOf(table: string, waiting: readonly Waiting[]): Buffer {
  const target = `{"table":"${table}","id":"`;
  const heads: string[] = [];
  let length = 0;
  for (const {document, side} of waiting) {
    const {id, created} = side.row;
    const isEmpty = document.end - document.start === 2;
    const head =
      `${heads.length === 0 ? '' : ','}${target}${id}","op":"insert","document":{"_id":"${id}",` +
      `"_creationTime":${created},"_updateTime":${created}${isEmpty ? '' : ','}`;
    heads.push(head);
    length += head.length + document.end - document.start;
  }
  const writes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const [i, {document}] of waiting.entries()) {
    at += writes.write(heads[i]!, at, 'latin1');
    at += document.bytes.copy(writes, at, document.start + 1, document.end);
    writes[at++] = CLOSE_BRACE;
  }
  return writes;
}

const CLOSE_BRACE = 0x7d;
