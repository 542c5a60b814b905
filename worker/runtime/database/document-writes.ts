/**
 * `insert`, `patch` and `delete` of mutations. Values from the realm are outside input: they are parsed, checked and
 * encoded again here. All checks are made before the first change, so a call that fails has changed nothing.
 */
import {Buffer} from 'node:buffer';
import type {Fields} from '../../../engine/commit/commit.ts';
import type {Writer} from '../../../engine/commit/writer.ts';
import {FLAG_FLOATS, isTableName, parseFields} from '../../../engine/storage/document.ts';
import {decodeId} from '../../../engine/storage/ids.ts';
import type {DocumentRow} from '../../../engine/storage/rows.ts';
import {ServiceError} from '../../../shared/errors.ts';
import {DOCUMENT_BYTES_MAX, DOCUMENT_ID_CHARS_MAX} from '../../../shared/limits.ts';
import {mergeFields} from '../../../shared/values/json.ts';
import type {Value} from '../../../shared/values/value.ts';
import {checkWireDocument, encodeDocument, holdsFloats, ValueError} from '../../../shared/values/wire-value.ts';
import type {Budget} from './budget.ts';
import {DatabaseFault, undecodable} from './database-fault.ts';
import type {KnownRows} from './known-rows.ts';
import {parseRealmJson} from './realm-json.ts';

export class DocumentWrites {
  readonly #writer: Writer;
  readonly #budget: Budget;
  readonly #known: KnownRows;

  constructor(writer: Writer, budget: Budget, known: KnownRows) {
    this.#writer = writer;
    this.#budget = budget;
    this.#known = known;
  }

  /** @param wire text of the fields. @returns the new id */
  insert(table: string, wire: string): string {
    checkWritable(table);
    const fields = fieldsOf(wire, 'db.insert');
    if (Object.hasOwn(fields, '_id'))
      throw new DatabaseFault("Provided document ID doesn't match: _id is given by the database");
    for (const field of ['_creationTime', '_updateTime']) {
      const what = field === '_creationTime' ? 'creation time' : 'update time';
      if (Object.hasOwn(fields, field))
        throw new DatabaseFault(`Provided ${what} ${field} doesn't match: it is given by the database`);
    }
    checkNames(fields);
    const {body, flags} = this.#stored(fields);
    const id = schemaFaults(table, () =>
      this.#writer.insert(this.#writer.table(table), fields as Fields, body, undefined, flags),
    );
    this.#known.set(this.#writer.lastStored);
    return id;
  }

  /** @param removed JSON array of the top-level fields to remove */
  patch(id: string, wire: string, removed: string): void {
    const row = this.#existing(id, 'patch', 'Update');
    const patch = fieldsOf(wire, 'db.patch');
    checkUnchanged(patch, '_id', row.id);
    checkUnchanged(patch, '_creationTime', row.created);
    delete patch._updateTime; // an outdated copy of the document must not fail
    checkNames(patch);
    const old = parseFields(row);
    const fields = mergeFields(old, patch);
    const names = parseRealmJson(removed);
    for (const name of Array.isArray(names) ? names : []) delete fields[String(name)];
    const {body, flags} = this.#stored(fields as Record<string, Value>);
    const table = this.#writer.catalog.tableOfDoc(row.doc);
    schemaFaults(table.name, () => this.#writer.update(table, row, old, fields, body, flags));
    this.#known.set(this.#writer.lastStored);
  }

  delete(id: string): void {
    const row = this.#existing(id, 'delete', 'Delete');
    this.#budget.wrote(0);
    this.#writer.delete(this.#writer.catalog.tableOfDoc(row.doc), row);
    this.#known.delete(row.id);
  }

  #existing(id: string, call: 'patch' | 'delete', action: 'Update' | 'Delete'): DocumentRow {
    if (id.length > DOCUMENT_ID_CHARS_MAX) throw undecodable(call);
    const row = this.#known.get(id) ?? this.#writer.documentById(id);
    if (row !== undefined) return row;
    const decoded = decodeId(id);
    if (decoded === null) throw undecodable(call);
    if (this.#writer.catalog.tableByNumber(decoded.tableNumber) === undefined) {
      throw new DatabaseFault(`Table for ID "${id}" not found`);
    }
    throw new DatabaseFault(`${action} on nonexistent document ID ${id}`);
  }

  #stored(fields: Record<string, Value>): {body: string; flags: number} {
    const body = encodeDocument(fields);
    const bytes = Buffer.byteLength(body);
    if (bytes > DOCUMENT_BYTES_MAX) {
      const [size, most] = [bytes, DOCUMENT_BYTES_MAX].map(count => `${Math.ceil((count * 100) / 2 ** 20) / 100} MiB`);
      throw new DatabaseFault(`Value is too large (${size} > maximum size ${most})`);
    }
    this.#budget.wrote(bytes);
    return {body, flags: holdsFloats(body) ? FLAG_FLOATS : 0};
  }
}

function checkWritable(table: string): void {
  if (isTableName(table)) return;
  if (table.startsWith('_')) throw new DatabaseFault('System tables (prefixed with _) are read-only');
  throw new DatabaseFault(
    `Invalid table name ${JSON.stringify(table).slice(0, 100)}: a letter, then letters, digits and underscores, at most 64`,
  );
}

function fieldsOf(wire: string, call: string): Record<string, Value> {
  let value: Value;
  try {
    value = checkWireDocument(parseRealmJson(wire));
  } catch (caught) {
    if (!(caught instanceof ValueError)) throw caught;
    throw new DatabaseFault(caught.message);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new DatabaseFault(`Invalid argument 'value' for '${call}': Value must be an Object`);
}

function checkNames(fields: Record<string, Value>): void {
  const name = Object.keys(fields).find(key => key.startsWith('_'));
  if (name === undefined) return;
  throw new DatabaseFault(`Field '${name}' starts with an underscore, which is only allowed for system fields`);
}

/** A patch can hold the whole document, so it can contain system fields with their current values. */
function checkUnchanged(patch: Record<string, Value>, name: '_id' | '_creationTime', current: string | number): void {
  if (!Object.hasOwn(patch, name)) return;
  if (patch[name] !== current)
    throw new DatabaseFault(`Provided ${name} doesn't match the document's, which never changes`);
  delete patch[name];
}

function schemaFaults<T>(table: string, write: () => T): T {
  try {
    return write();
  } catch (caught) {
    if (!(caught instanceof ServiceError)) throw caught;
    if (caught.code === 'op.unique_violation') throw new DatabaseFault(caught.message);
    if (caught.code !== 'op.schema_violation') throw caught;
    const message = typeof caught.detail?.message === 'string' ? caught.detail.message : caught.message;
    throw new DatabaseFault(
      `Failed to insert or update a document in table "${table}" because it does not match the schema: ${message}`,
    );
  }
}
