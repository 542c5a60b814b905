/**
 * Reads the rows of a file as it is streamed: CSV (RFC 4180) or JSON lines. Only the row that is being read is in memory.
 */
import {IMPORT_ROW_CHARS_MAX} from '../limits.ts';

export type FileFormat = 'csv' | 'jsonl';

export type FileRow = {
  /** The line on which the row ends, from 1. */
  readonly line: number;
  /** Cells by column, or the members of the line's object. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Why the row cannot be read; null: it was read. */
  readonly problem: string | null;
};

export function formatOf(name: string): FileFormat {
  return /\.csv$/i.test(name) ? 'csv' : 'jsonl';
}

/** @param chunks the text of the file, cut anywhere @throws Error if a row is too long or a quote has no end */
export async function* rowsOf(chunks: AsyncIterable<string>, format: FileFormat): AsyncGenerator<FileRow, void, void> {
  if (format === 'jsonl') {
    for await (const {text, line} of linesOf(chunks)) {
      if (text.trim() !== '') yield jsonRow(text, line);
    }
    return;
  }
  let header: string[] | null = null;
  for await (const {cells, line} of recordsOf(chunks)) {
    if (cells.length === 1 && cells[0] === '') continue;
    if (header === null) {
      header = cells.map((name, i) => (i === 0 ? name.replace(/^\uFEFF/, '') : name));
      continue;
    }
    const names = header;
    const values = Object.fromEntries(cells.slice(0, names.length).map((cell, i) => [names[i]!, cell]));
    const problem =
      cells.length === names.length ? null : `has ${cells.length} cells, and the header has ${names.length}`;
    yield {line, values, problem};
  }
}

function jsonRow(text: string, line: number): FileRow {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return {line, values: value as Record<string, unknown>, problem: null};
    return {line, values: {}, problem: 'is not a JSON object'};
  } catch (caught) {
    return {line, values: {}, problem: (caught as Error).message};
  }
}

async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<{text: string; line: number}, void, void> {
  let rest = '';
  let line = 0;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    checkLength(rest, line + lines.length + 1);
    for (const text of lines) yield {text, line: ++line};
  }
  if (rest !== '') yield {text: rest, line: ++line};
}

/** The records of a CSV file. A quote inside a quoted cell is doubled; line ends inside quotes are part of the cell. */
async function* recordsOf(chunks: AsyncIterable<string>): AsyncGenerator<{cells: string[]; line: number}, void, void> {
  let cells: string[] = [];
  let cell = '';
  let line = 1;
  let state: 'start' | 'plain' | 'quoted' | 'quote' = 'start';
  let chars = 0;
  let isReturn = false;
  for await (const chunk of chunks) {
    for (const char of chunk) {
      if (isReturn && char !== '\n') cell += '\r';
      isReturn = char === '\r' && state !== 'quoted';
      if (isReturn) continue;
      if (state === 'quoted') {
        if (char === '"') state = 'quote';
        else {
          cell += char;
          if (char === '\n') line++;
        }
      } else if (char === '"' && state !== 'plain') {
        if (state === 'quote') cell += '"';
        state = 'quoted';
      } else if (char === ',') {
        cells.push(cell);
        cell = '';
        state = 'start';
      } else if (char === '\n') {
        cells.push(cell);
        yield {cells, line: line++};
        cells = [];
        cell = '';
        state = 'start';
        chars = 0;
      } else {
        cell += char;
        state = 'plain';
      }
      if (++chars > IMPORT_ROW_CHARS_MAX) checkLength(' '.repeat(chars), line);
    }
  }
  if (state === 'quoted') throw new Error(`line ${line}: a quote has no end`);
  if (cell !== '' || cells.length > 0) yield {cells: [...cells, cell], line};
}

function checkLength(text: string, line: number): void {
  if (text.length > IMPORT_ROW_CHARS_MAX)
    throw new Error(`line ${line} has more than ${IMPORT_ROW_CHARS_MAX} characters`);
}
