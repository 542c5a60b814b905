/**
 * Documents as CSV (RFC 4180). A cell is a value's JSON, but a string is itself as long as it is not empty and would not be read as JSON; of a
 * field that is not there the cell is empty. So a value that is read by the same rule (`cells=json` of an import) is the one that was
 * written, and a sheet shows text and numbers as they are.
 */

import {type ParsedDocument, parseDocument, parseFields} from '../../../../engine/documents/document.ts';
import {PIECE_CHARS} from '../../../../engine/journal/pieces.ts';
import type {DocumentRow} from '../../../../engine/storage/rows.ts';
import {ServiceError} from '../../../../shared/errors.ts';
import {IMPORT_LINE_BYTES_MAX} from '../../../../shared/limits.ts';
import type {Value} from '../../../../shared/values/value.ts';
import {CSV_COLUMNS_MAX} from '../../limits.ts';

const SYSTEM_FIELDS = ['_id', '_creationTime', '_updateTime'];
/** What has none of these stands in a cell as it is. A reader takes a mark of byte order away from the beginning. */
const TO_QUOTE = /[",\r\n\ufeff]/;
/** Nothing else begins a text that is JSON. */
const LIKE_JSON = /^[ \t\r\n]*(?:["[{\d-]|true|false|null)/;

/** The columns that are asked for: names with commas between them. @throws op.invalid_input 400 */
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
 * The system fields and all fields that any of the documents has, by name.
 * @yields after each piece of text that it has looked at, nothing
 * @throws op.invalid_input 400 when CSV cannot have them all
 */
export function* columnsOf(rows: Iterable<DocumentRow>): Generator<'', string[], void> {
  const names = new Set<string>();
  const looked = new Looked();
  let chars = 0;
  for (const row of rows) {
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
    // A name may be as long as a document. No import takes a header that is longer.
    if (chars > IMPORT_LINE_BYTES_MAX) {
      throw invalid(`the names of all fields are longer than ${IMPORT_LINE_BYTES_MAX} bytes: name the columns`);
    }
    if (looked.isPiece(row)) yield '';
  }
  return [...SYSTEM_FIELDS, ...[...names].sort()];
}

/**
 * The header, and a record a document.
 * @yields nothing, after each piece of text that it has looked at: of long documents, records may have little
 */
export function* csvTexts(rows: Iterable<DocumentRow>, columns: readonly string[]): Generator<string, void, void> {
  yield recordText(columns);
  const looked = new Looked();
  for (const row of rows) {
    const document: ParsedDocument = parseDocument(row);
    yield recordText(columns.map(name => (Object.hasOwn(document, name) ? cellText(document[name]!) : '')));
    if (looked.isPiece(row)) yield '';
  }
}

/** How much has been read: whoever makes little of much lets others have the thread all the same. */
class Looked {
  #chars = 0;

  /** Whether what was read since the last one is a piece. */
  isPiece({id, body}: DocumentRow): boolean {
    this.#chars += id.length + body.length;
    if (this.#chars < PIECE_CHARS) return false;
    this.#chars = 0;
    return true;
  }
}

function recordText(cells: readonly string[]): string {
  // A line with nothing on it is no record.
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

function invalid(message: string): ServiceError {
  return new ServiceError('op.invalid_input', message);
}
