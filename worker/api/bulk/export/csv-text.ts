/**
 * Documents as CSV (RFC 4180). A cell holds the value's JSON, except that a non-empty string that does not parse as
 * JSON is written as it is. The cell of a missing field is empty. So an import with the same rule (`cells=json`) reads
 * back the same values, and a spreadsheet shows text and numbers normally.
 */

import {CHUNK_CHARS} from '../../../../engine/journal/chunks.ts';
import {type ParsedDocument, parseDocument, parseFields} from '../../../../engine/storage/document.ts';
import type {DocumentRow} from '../../../../engine/storage/rows.ts';
import {invalid} from '../../../../shared/errors.ts';
import {IMPORT_LINE_BYTES_MAX} from '../../../../shared/limits.ts';
import type {Value} from '../../../../shared/values/value.ts';
import {CSV_COLUMNS_MAX} from '../../limits.ts';

const SYSTEM_FIELDS = ['_id', '_creationTime', '_updateTime'];
/** Cells with any of these are quoted. A byte order mark is quoted because readers drop it at the beginning. */
const TO_QUOTE = /[",\r\n\ufeff]/;
/** Every JSON text begins like this. */
const LIKE_JSON = /^[ \t\r\n]*(?:["[{\d-]|true|false|null)/;

/** Parses the requested columns, separated by commas. @throws op.invalid_input 400 */
export function namedColumns(text: string): string[] {
  const names = text.split(',');
  if (names.length > CSV_COLUMNS_MAX) {
    throw invalid(`the parameter columns names ${names.length} columns; the limit is ${CSV_COLUMNS_MAX}`);
  }
  const known = new Set<string>();
  for (const name of names) {
    if (name === '')
      throw invalid('the parameter columns is names of fields with commas between them, like name,population');
    if (known.has(name)) throw invalid(`the parameter columns has ${JSON.stringify(name.slice(0, 60))} twice`);
    known.add(name);
  }
  return names;
}

/**
 * The system fields and every field that any document has, by name.
 * @param rows null: a batch was read
 * @yields an empty text after each batch of text that it has read
 * @throws op.invalid_input 400 when CSV cannot represent all of them
 */
export function* columnsOf(rows: Iterable<DocumentRow | null>): Generator<'', string[], void> {
  const names = new Set<string>();
  const looked = new Looked();
  let chars = 0;
  for (const row of rows) {
    if (row === null) {
      yield '';
      continue;
    }
    for (const name of Object.keys(parseFields(row))) {
      if (names.has(name)) continue;
      names.add(name);
      chars += name.length + 1;
    }
    if (names.has(''))
      throw invalid(`document ${row.id} has a field without a name, which CSV cannot have: name the columns`);
    if (names.size + SYSTEM_FIELDS.length > CSV_COLUMNS_MAX) {
      throw invalid(`the documents have more than ${CSV_COLUMNS_MAX} different fields: name the columns`);
    }
    // A field name can be as long as a document, but no import accepts a header longer than this.
    if (chars > IMPORT_LINE_BYTES_MAX) {
      throw invalid(`the names of all fields are longer than ${IMPORT_LINE_BYTES_MAX} bytes: name the columns`);
    }
    if (looked.isChunk(row)) yield '';
  }
  return [...SYSTEM_FIELDS, ...[...names].sort()];
}

/**
 * The header, then one record per document.
 * @yields an additional empty text after each batch of text that it has read, because the records of long documents can
 *   be short
 */
export function* csvTexts(
  rows: Iterable<DocumentRow | null>,
  columns: readonly string[],
): Generator<string, void, void> {
  yield recordText(columns);
  const looked = new Looked();
  for (const row of rows) {
    if (row === null) {
      yield '';
      continue;
    }
    const document: ParsedDocument = parseDocument(row);
    yield recordText(columns.map(name => (Object.hasOwn(document, name) ? cellText(document[name]!) : '')));
    if (looked.isChunk(row)) yield '';
  }
}

/** Counts the text read, so that the thread is yielded even when little output results. */
class Looked {
  #chars = 0;

  /** Whether a batch has been read since the last one. */
  isChunk({id, body}: DocumentRow): boolean {
    this.#chars += id.length + body.length;
    if (this.#chars < CHUNK_CHARS) return false;
    this.#chars = 0;
    return true;
  }
}

function recordText(cells: readonly string[]): string {
  // An empty line is not a record.
  if (cells.length === 1 && cells[0] === '') return '""\r\n';
  return `${cells.map(cell => (TO_QUOTE.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}

function cellText(value: Value): string {
  return typeof value === 'string' && value !== '' && !isJson(value) ? value : JSON.stringify(value);
}

function isJson(text: string): boolean {
  if (!LIKE_JSON.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
