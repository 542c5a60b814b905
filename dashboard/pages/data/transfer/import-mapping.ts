/**
 * How the columns of a file become fields of documents, and the requests of an import. Rows that do not fit are
 * described and left out; the others are sent as JSON lines, in order, in requests of bounded size.
 */
import type {FieldType, StoredTableSchema} from '../../../../shared/protocol/schema.ts';
import type {Value} from '../../../../shared/values/value.ts';
import {checkDocument, type Fields} from '../document-edit.ts';
import {IMPORT_CHARS_PER_REQUEST, IMPORT_LINES_PER_REQUEST} from '../limits.ts';
import type {FileRow} from './file-rows.ts';

export type ColumnMapping = {
  readonly column: string;
  /** Null: the column is left out. */
  readonly field: string | null;
  /** How a cell of CSV is read; values of JSON lines have their types already. */
  readonly type: FieldType;
};

export type MappedRow = {readonly line: number; readonly fields: Fields; readonly problems: readonly string[]};

const SYSTEM = new Set(['_id', '_creationTime', '_updateTime']);

/** The mapping that a file's first rows suggest: each column a field of its name, of its declared or apparent type. */
export function suggestedMapping(rows: readonly FileRow[], schema: StoredTableSchema | null): ColumnMapping[] {
  const columns = [...new Set(rows.flatMap(({values}) => Object.keys(values)))];
  return columns.map(column => {
    const declared = schema?.fields.find(({name}) => name === column)?.field_type;
    const cells = rows.map(({values}) => values[column]).filter(cell => cell !== undefined && cell !== '');
    return {column, field: SYSTEM.has(column) ? null : column, type: declared ?? apparentType(cells)};
  });
}

function apparentType(cells: readonly unknown[]): FieldType {
  if (cells.length === 0 || cells.some(cell => typeof cell !== 'string')) return 'any';
  const texts = cells as string[];
  if (texts.every(isPlainNumber)) return 'number';
  return texts.every(text => text === 'true' || text === 'false') ? 'boolean' : 'string';
}

/** Without zeros in front, as postal codes have them: those are texts. */
function isPlainNumber(text: string): boolean {
  return /^-?(?:0|[1-9]\d{0,15})(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text.trim());
}

export function mappedRow(
  {line, values, problem}: FileRow,
  mapping: readonly ColumnMapping[],
  schema: StoredTableSchema | null,
): MappedRow {
  if (problem !== null) return {line, fields: {}, problems: [problem]};
  const fields: Record<string, Value> = {};
  const problems: string[] = [];
  for (const {column, field, type} of mapping) {
    const cell = values[column];
    if (field === null || cell === undefined) continue;
    if (typeof cell !== 'string' || type === 'string') {
      if (cell !== '') fields[field] = cell as Value;
      continue;
    }
    if (cell.trim() === '') continue; // An empty cell means that the field is absent.
    const value = cellOf(cell, type);
    if (value === undefined) problems.push(`${column}: ${JSON.stringify(cell.slice(0, 40))} is not of type ${type}`);
    else fields[field] = value;
  }
  const checked = checkDocument(schema, fields).filter(({field}) => !problems.some(one => one.startsWith(`${field}:`)));
  return {line, fields, problems: [...problems, ...checked.map(({field, message}) => `${field ?? 'row'}: ${message}`)]};
}

function cellOf(cell: string, type: FieldType): Value | undefined {
  let value: Value;
  try {
    value = JSON.parse(cell) as Value;
  } catch {
    return type === 'any' ? cell : undefined;
  }
  if (type === 'any') return value;
  const isOf =
    type === 'array' ? Array.isArray(value) : typeof value === type && value !== null && !Array.isArray(value);
  return isOf ? value : undefined;
}

export type ImportRequest = {
  /** JSON lines. */
  readonly body: string;
  readonly rows: number;
  /** Number of the first of these lines among those that are sent, from 1. */
  readonly firstLine: number;
  /** The line of the file that each of these lines comes from. */
  readonly fileLines: readonly number[];
  /** Rows left out since the request before. */
  readonly refused: readonly MappedRow[];
};

/** The requests of an import. Reads no more rows than the next request holds. */
export async function* importRequests(
  rows: AsyncIterable<FileRow>,
  mapping: readonly ColumnMapping[],
  schema: StoredTableSchema | null,
): AsyncGenerator<ImportRequest, void, void> {
  let lines: string[] = [];
  let fileLines: number[] = [];
  let chars = 0;
  let firstLine = 1;
  let refused: MappedRow[] = [];
  const request = () => {
    const made = {body: `${lines.join('\n')}\n`, rows: lines.length, firstLine, fileLines, refused};
    firstLine += lines.length;
    [lines, fileLines, chars, refused] = [[], [], 0, []];
    return made;
  };
  for await (const row of rows) {
    const mapped = mappedRow(row, mapping, schema);
    if (mapped.problems.length > 0) {
      refused.push(mapped);
      if (refused.length >= IMPORT_LINES_PER_REQUEST) yield request();
      continue;
    }
    const line = JSON.stringify(mapped.fields);
    if (chars + line.length > IMPORT_CHARS_PER_REQUEST && lines.length > 0) yield request();
    lines.push(line);
    fileLines.push(row.line);
    chars += line.length + 1;
    if (lines.length >= IMPORT_LINES_PER_REQUEST) yield request();
  }
  if (lines.length > 0 || refused.length > 0) yield request();
}
