/**
 * Parses CSV (RFC 4180) as it arrives: the first record names the fields, and each further one is a document. A cell is
 * text unless the table's schema gives its field another type, or cells are declared to be JSON. An empty cell means
 * that the field is missing. A record's line number is that of its last line.
 */
import type {Buffer} from 'node:buffer';
import {Readable} from 'node:stream';
import {CsvError, parse} from 'csv-parse';
import type {CatalogTable} from '../../../../engine/storage/catalog.ts';
import {invalid, type ServiceError, tooLarge} from '../../../../shared/errors.ts';
import {IMPORT_LINE_BYTES_MAX} from '../../../../shared/limits.ts';
import type {ValidatorJson} from '../../../../shared/values/validator.ts';
import {CSV_COLUMNS_MAX} from '../../limits.ts';
import {type ImportLine, type LineTarget, lineOf, refusedLine} from './import-line.ts';

type CsvRecord = {record: string[]; info: {lines: number}};
/** Type that a cell is parsed as. json: arrays, objects, and fields of several types. */
type CellType = 'string' | 'number' | 'boolean' | 'json';
type Schema = Pick<CatalogTable, 'fields' | 'deployed'>;

/** System fields that mode=restore reads. */
const TIMES = ['_creationTime', '_updateTime'];
/** A number in JSON syntax. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * @param schema null: the table has none; json: a cell that parses as JSON has that value, in every column.
 * @throws op.invalid_input 400: the rest of the body cannot be parsed
 */
export async function* csvRows(
  chunks: AsyncIterable<Buffer>,
  target: LineTarget,
  schema: Schema | 'json' | null,
  from: number,
): AsyncGenerator<Iterable<ImportLine>, void, void> {
  const parser = parse({
    info: true,
    // Each record can have its own line ending: a header written by hand may precede the rows of another program.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: IMPORT_LINE_BYTES_MAX,
    bom: true,
  });
  const source = Readable.from(checkedText(chunks));
  source.on('error', error => parser.destroy(error));
  source.pipe(parser);
  let columns: string[] | null = null;
  let types: CellType[] = [];
  try {
    for await (const {record, info} of parser as AsyncIterable<CsvRecord>) {
      const line = info.lines;
      if (columns === null) {
        columns = checkedHeader(record);
        types = columns.map(column => (schema === 'json' ? 'json' : cellType(schema, column)));
      } else if (line >= from) {
        yield [rowOf(line, record, columns, types, target)];
      }
    }
  } catch (caught) {
    throw caught instanceof CsvError ? csvFault(caught) : caught;
  } finally {
    source.destroy();
    parser.destroy();
  }
  if (columns === null) throw invalid('the body has no header: its first record names the fields');
}

function rowOf(
  line: number,
  cells: readonly string[],
  columns: readonly string[],
  types: readonly CellType[],
  target: LineTarget,
): ImportLine {
  const chars = cells.reduce((sum, cell) => sum + cell.length + 1, 0);
  if (cells.length !== columns.length) {
    const message = `the record has ${cells.length} cells, the header has ${columns.length}`;
    return refusedLine(line, chars, invalid(message));
  }
  const document: Record<string, unknown> = {};
  for (const [i, cell] of cells.entries()) {
    if (cell === '') continue;
    // `__proto__` is an ordinary field name here.
    Object.defineProperty(document, columns[i]!, {
      value: readAs(cell, types[i]!),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return lineOf(line, chars, target, document);
}

/** A cell that does not parse stays text; the schema check then reports the expected type. */
function readAs(cell: string, type: CellType): unknown {
  switch (type) {
    case 'number':
      return NUMBER.test(cell) ? Number(cell) : cell;
    case 'boolean':
      return cell === 'true' ? true : cell === 'false' ? false : cell;
    case 'json':
      try {
        return JSON.parse(cell);
      } catch {
        return cell; // not JSON: text
      }
    default:
      return cell;
  }
}

function cellType(schema: Schema | null, column: string): CellType {
  if (TIMES.includes(column)) return 'number';
  const declared = schema?.fields?.find(field => field.name === column)?.field_type;
  if (declared !== undefined) {
    return declared === 'array' || declared === 'object' ? 'json' : declared === 'any' ? 'string' : declared;
  }
  const document = schema?.deployed?.document;
  return document?.type === 'object' ? typeOf(document.value[column]?.fieldType) : 'string';
}

function typeOf(validator: ValidatorJson | undefined): CellType {
  switch (validator?.type) {
    case 'number':
    case 'boolean':
      return validator.type;
    case 'literal':
      return typeof validator.value as CellType;
    case 'array':
    case 'object':
    case 'null':
      return 'json';
    case 'union': {
      const types = new Set(validator.value.map(typeOf));
      return types.size === 1 ? [...types][0]! : types.has('string') ? 'string' : 'json';
    }
    default:
      return 'string';
  }
}

function checkedHeader(names: string[]): string[] {
  if (names.length > CSV_COLUMNS_MAX)
    throw invalid(`the header has ${names.length} columns; the limit is ${CSV_COLUMNS_MAX}`);
  for (const [i, name] of names.entries()) {
    if (name === '') throw invalid(`column ${i + 1} of the header has no name`);
    if (names.indexOf(name) < i) throw invalid(`the header has ${JSON.stringify(name.slice(0, 60))} twice`);
  }
  return names;
}

async function* checkedText(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', {fatal: true});
  const decoded = (chunk?: Buffer) => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, {stream: true});
    } catch {
      throw invalid('the body is not valid UTF-8');
    }
  };
  for await (const chunk of chunks) yield decoded(chunk);
  yield decoded();
}

function csvFault({code, message}: CsvError): ServiceError {
  if (code !== 'CSV_MAX_RECORD_SIZE') return invalid(`the body is not CSV: ${message.slice(0, 200)}`);
  return tooLarge(`a record is longer than ${IMPORT_LINE_BYTES_MAX} bytes`);
}
