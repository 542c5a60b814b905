/** Rows of a file as it is streamed, their mapping to fields, and the requests of an import. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {IMPORT_CHARS_PER_REQUEST} from '../../../dashboard/pages/data/limits.ts';
import {type FileFormat, type FileRow, formatOf, rowsOf} from '../../../dashboard/pages/data/transfer/file-rows.ts';
import {importRequests, mappedRow, suggestedMapping} from '../../../dashboard/pages/data/transfer/import-mapping.ts';
import type {StoredTableSchema} from '../../../shared/protocol/schema.ts';

async function* cut(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function read(text: string, format: FileFormat, size = 7): Promise<FileRow[]> {
  const rows: FileRow[] = [];
  for await (const row of rowsOf(cut(text, size), format)) rows.push(row);
  return rows;
}

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;

describe('a file', () => {
  test('of CSV is read as it was written, wherever its chunks are cut', async () => {
    const cell = fc.string({unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é', ' '), maxLength: 5});
    const record = fc.tuple(cell, cell, cell);
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, {minLength: 1, maxLength: 6}),
        fc.integer({min: 1, max: 9}),
        async (rows, size) => {
          const text = ['x,y,z', ...rows.map(row => row.map(quoted).join(','))].join('\r\n');
          const found = await read(`${text}\n`, 'csv', size);
          expect(found.map(({values}) => [values.x, values.y, values.z])).toEqual(rows);
        },
      ),
    );
  });

  test('names the line and what is wrong with it', async () => {
    expect(await read('\uFEFFa,b\n1,2\n\n3\n4,5,6\n', 'csv')).toEqual([
      {line: 2, values: {a: '1', b: '2'}, problem: null},
      {line: 4, values: {a: '3'}, problem: 'has 1 cells, and the header has 2'},
      {line: 5, values: {a: '4', b: '5'}, problem: 'has 3 cells, and the header has 2'},
    ]);
    const lines = await read('{"a":1}\n\n[1]\nx\n{"a":2}', 'jsonl');
    expect(lines.map(({line, problem}) => [line, problem === null])).toEqual([
      [1, true],
      [3, false],
      [4, false],
      [5, true],
    ]);
    await expect(read('a\n"b', 'csv')).rejects.toThrow('line 2: a quote has no end');
    expect(['x.CSV', 'x.jsonl', 'x.ndjson'].map(formatOf)).toEqual(['csv', 'jsonl', 'jsonl']);
  });
});

describe('an import', () => {
  const schema: StoredTableSchema = {
    table: 't',
    fields: [{name: 'stars', field_type: 'number', required: true}],
    indexes: [],
  };

  test('suggests a field of its name and type for each column', async () => {
    const rows = await read('_id,stars,zip,open,note\nx,5,00123,true,\ny,4,99,false,hm\n', 'csv');
    expect(suggestedMapping(rows, schema).map(({field, type}) => [field, type])).toEqual([
      [null, 'string'],
      ['stars', 'number'],
      ['zip', 'string'],
      ['open', 'boolean'],
      ['note', 'string'],
    ]);
  });

  test('describes the rows that do not fit before anything is sent', async () => {
    const rows = await read('stars,name\n5,a\nfive,b\n,c\n', 'csv');
    const mapping = [
      {column: 'stars', field: 'stars', type: 'number'},
      {column: 'name', field: 'title', type: 'string'},
    ] as const;
    expect(rows.map(row => mappedRow(row, mapping, schema))).toEqual([
      {line: 2, fields: {stars: 5, title: 'a'}, problems: []},
      {line: 3, fields: {title: 'b'}, problems: ['stars: "five" is not of type number']},
      {line: 4, fields: {title: 'c'}, problems: ['stars: is required']},
    ]);
  });

  test('sends each good row once, in order, in requests of bounded size', async () => {
    const note = 'x'.repeat(1_000);
    const text = Array.from({length: 5_000}, (_, i) => `${i % 10 === 9 ? 'bad' : i},${note}`).join('\n');
    const rows = rowsOf(cut(`n,note\n${text}`, 60_000), 'csv');
    const mapping = [
      {column: 'n', field: 'n', type: 'number'},
      {column: 'note', field: 'note', type: 'string'},
    ] as const;
    const sent: number[] = [];
    let refused = 0;
    for await (const request of importRequests(rows, mapping, null)) {
      expect(request.firstLine).toBe(sent.length + 1);
      expect(request.body.length).toBeLessThanOrEqual(IMPORT_CHARS_PER_REQUEST + 1);
      const lines = request.body.trim().split('\n');
      expect(lines.length).toBe(request.rows);
      sent.push(...lines.map(line => (JSON.parse(line) as {n: number}).n));
      refused += request.refused.length;
    }
    expect(sent).toEqual(Array.from({length: 5_000}, (_, i) => i).filter(i => i % 10 !== 9));
    expect(refused).toBe(500);
  });
});
