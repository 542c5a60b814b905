/** What a query may cost: how much it reads, holds and answers. The storage is an array that counts what is read of it. */
import {describe, expect, test} from 'vitest';
import {ORDER_KEYS_BYTES_MAX, QUERY_RANGES_MAX, SCAN_CHARS_MAX, SCAN_ROWS_CHARS} from '../../engine/limits.ts';
import {compileFilters} from '../../engine/reads/filter.ts';
import {orderOf} from '../../engine/reads/order.ts';
import {planQuery} from '../../engine/reads/plan.ts';
import {listTable, runPage, runQuery} from '../../engine/reads/run.ts';
import type {DocumentRow, QueryReader, TableInfo} from '../../engine/storage/rows.ts';
import {DOCUMENT_BYTES_MAX, RESULT_BYTES_MAX} from '../../shared/limits.ts';
import {nightly} from '../harness/nightly.ts';

const DOCS = 2 ** 37;

class ArrayReader implements QueryReader {
  readonly timeline = 'a';
  readonly rows: DocumentRow[];
  calls = 0;
  rowsRead = 0;
  /** Text of the longest piece. */
  mostChars = 0;
  readonly #low: number;

  constructor(bodies: string[], tableNumber = 1) {
    this.#low = tableNumber * DOCS;
    this.rows = bodies.map((body, i) => ({
      doc: this.#low + 1 + i,
      id: `id${i}`,
      created: 1000 + i,
      updated: 1000 + i,
      body,
      flags: 0,
    }));
  }

  table(): TableInfo {
    return {number: this.#low / DOCS, lowDoc: this.#low, highDoc: this.#low + DOCS - 1, indexes: []};
  }

  documentCount() {
    return null;
  }

  countEntries() {
    return {count: 0, last: null};
  }

  documentNumbers() {
    return [];
  }

  entryNumbers() {
    return {docs: [], last: null};
  }

  documentById(id: string) {
    return this.rows.find(row => row.id === id);
  }

  documents(low: number, high: number, reverse: boolean, limit: number, most = Infinity): DocumentRow[] {
    const first = Math.max(0, low - this.#low - 1);
    const found = this.rows.slice(first, Math.max(first, high - this.#low));
    const rows: DocumentRow[] = [];
    let chars = 0;
    for (const row of reverse ? found.reverse() : found) {
      if (rows.length === limit || chars >= most) break;
      rows.push(row);
      chars += row.body.length;
    }
    this.calls++;
    this.rowsRead += rows.length;
    this.mostChars = Math.max(this.mostChars, chars);
    return rows;
  }

  indexEntries(): DocumentRow[] {
    return [];
  }

  documentsByIds(): DocumentRow[] {
    return [];
  }
}

const numbered = (count: number) => Array.from({length: count}, (_, i) => `{"n":${i}}`);
/** A document of exactly so many characters. */
const sized = (chars: number) => `{"s":"${'x'.repeat(chars - 8)}"}`;

describe('what a query reads', () => {
  test('the first of an order without an index reads the table once, in large pieces', () => {
    const reader = new ArrayReader(numbered(5000));
    const text = runQuery(reader, {table: 't', filters: [], order: {field: 'n', direction: 'desc'}, limit: 1});
    expect(JSON.parse(text)).toMatchObject({data: [{n: 4999}]});
    expect(reader.rowsRead).toBe(5000);
    expect(reader.calls).toBeLessThan(30);
  });

  test('a page in creation order reads the page and one document more', () => {
    const reader = new ArrayReader(numbered(5000));
    runPage(reader, {query: {table: 't', filters: []}, page_size: 20});
    expect(reader.rowsRead).toBe(21);
  });

  test('large documents are read a few at a time', () => {
    const reader = new ArrayReader(Array.from({length: 1000}, () => sized(DOCUMENT_BYTES_MAX)));
    expect(() => listTable(reader, 't')).toThrow('takes more than');
    expect(reader.rowsRead).toBeLessThan(160);
  });

  test('large documents behind small ones: a piece holds what it may and one document more, and none is passed over', () => {
    const bodies = Array.from({length: 600}, (_, n) => (n % 300 < 200 ? `{"n":${n}}` : sized(SCAN_ROWS_CHARS / 4)));
    for (const direction of ['asc', 'desc'] as const) {
      const reader = new ArrayReader(bodies);
      const query = {
        table: 't',
        filters: [{field: 'n', op: 'gte' as const, value: 0}],
        order: {field: '_creationTime', direction},
      };
      const {data} = JSON.parse(runQuery(reader, query)) as {data: {n: number}[]};
      const expected = Array.from({length: 600}, (_, n) => n).filter(n => n % 300 < 200);
      expect(data.map(({n}) => n)).toEqual(direction === 'asc' ? expected : expected.reverse());
      expect(reader.mostChars).toBeLessThan(SCAN_ROWS_CHARS + SCAN_ROWS_CHARS / 4);
    }
  });

  test('a scan of more text than SCAN_CHARS_MAX is refused, naming an index', () => {
    const body = sized(DOCUMENT_BYTES_MAX);
    const bodies = (count: number) => Array.from({length: count}, () => body);
    const query = {table: 't', filters: [{field: '_id', op: 'lt' as const, value: ''}]};
    const fitting = SCAN_CHARS_MAX / DOCUMENT_BYTES_MAX;
    expect(runQuery(new ArrayReader(bodies(fitting)), query)).toBe('{"data":[]}');
    expect(() => runQuery(new ArrayReader(bodies(fitting + 1)), query)).toThrow('add an index');
  }, 30_000);

  test.each([1, 32_768, 65_535])('ranges on _creationTime end in table number %i', tableNumber => {
    const reader = new ArrayReader(numbered(100), tableNumber);
    for (const [op, value, count] of [
      ['gte', 1050, 50],
      ['gt', 1050, 49],
      ['lt', 1050, 50],
      ['lte', 1050, 51],
      ['eq', 1050, 1],
      ['eq', 1050.5, 0],
    ] as const) {
      const text = runQuery(reader, {table: 't', filters: [{field: '_creationTime', op, value}]});
      expect((JSON.parse(text) as {data: unknown[]}).data.length, `${op} ${value}`).toBe(count);
    }
  });
});

describe('what a query answers is at most RESULT_BYTES_MAX', () => {
  const ORDERS = [undefined, {field: 's', direction: 'asc' as const}];
  // Sixteen documents of which each takes a sixteenth of what is allowed, with system fields, commas and brackets.
  const room = RESULT_BYTES_MAX / 16 - 100;

  test.each(ORDERS)('a page is what fits, however much more was asked for and is there (order %o)', order => {
    const bodies = Array.from({length: 17}, () => sized(room));
    const query = {table: 't', filters: [], ...(order === undefined ? {} : {order})};
    for (const page_size of [16, 17, 1_000]) {
      const text = runPage(new ArrayReader(bodies), {query, page_size});
      const {data, has_more, next_cursor} = JSON.parse(text) as {
        data: unknown[];
        has_more: boolean;
        next_cursor: string;
      };
      expect([data.length, has_more]).toEqual([16, true]);
      const rest = runPage(new ArrayReader(bodies), {query, page_size, after: next_cursor});
      expect(JSON.parse(rest)).toMatchObject({data: [{}], has_more: false, next_cursor: null});
    }
    expect(() => runQuery(new ArrayReader(bodies), query)).toThrow('query/paginated');
    expect(() => runQuery(new ArrayReader(bodies), {...query, limit: 1_000_000})).toThrow('query/paginated');
  });

  test('a page stops reading when it is full', () => {
    const reader = new ArrayReader(Array.from({length: 300}, () => sized(DOCUMENT_BYTES_MAX)));
    runPage(reader, {query: {table: 't', filters: []}, page_size: 1_000});
    expect(reader.rowsRead).toBeLessThan(150);
  });

  nightly.test('many small documents are refused before all of them are read', () => {
    const reader = new ArrayReader(Array.from({length: 600_000}, () => '{}'));
    expect(() => listTable(reader, 't')).toThrow('query/paginated');
    expect(reader.rowsRead).toBeLessThan(450_000);
  });
});

test('an order by long values without an index holds at most ORDER_KEYS_BYTES_MAX of them', () => {
  const count = Math.ceil(ORDER_KEYS_BYTES_MAX / DOCUMENT_BYTES_MAX) + 1;
  const reader = new ArrayReader(Array.from({length: count}, () => sized(DOCUMENT_BYTES_MAX)));
  const query = {table: 't', filters: [], order: {field: 's', direction: 'asc' as const}};
  expect(() => runPage(reader, {query, page_size: 1000})).toThrow('values to order by');
  const {data} = JSON.parse(runPage(reader, {query, page_size: 2})) as {data: unknown[]};
  expect(data.length).toBe(2);
});

describe('a query is read from QUERY_STRETCHES_MAX stretches at most, all branches together', () => {
  class Indexed extends ArrayReader {
    override table(): TableInfo {
      return {...super.table(), indexes: [{number: 1, name: 'by_a_b', fields: ['a', 'b']}]};
    }
  }

  const values = Array.from({length: 1_000}, (_, i) => i);
  const inAll = (field: string) => ({field, op: 'in' as const, value: values});
  const eq = (field: string, value: number) => ({field, op: 'eq' as const, value});
  test.each([
    ['two lists', [inAll('a'), inAll('b')], 1_000],
    ['a list in each branch', [{or: values.slice(0, 60).map(() => [inAll('a')])}], 1],
    ['a list beside the branches', [{or: values.slice(0, 60).map(n => [eq('a', n)])}, inAll('b')], 1_059],
    ['ids in each branch', [{or: values.slice(0, 60).map(() => [{...inAll('_id'), value: values.map(String)}])}], 1],
    ['one value, or a list', [{or: [[eq('a', 1)], [inAll('a')]]}], 1_001],
  ])('%s', (_, clauses, stretches) => {
    const filters = compileFilters(clauses);
    const order = orderOf({table: 't', filters: clauses}, filters);
    const {paths} = planQuery(new Indexed(['{}']), 't', filters, order);
    const count = paths.reduce((sum, {path}) => sum + path.rangeScans.length, 0);
    expect(count).toBe(stretches);
    expect(count).toBeLessThanOrEqual(QUERY_RANGES_MAX);
  });
});
