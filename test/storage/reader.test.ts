/** The reader on a real file: what a caller who says how much text it takes at once is given. */
import {afterAll, describe, expect, test} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {SCAN_ROW_BYTES, SCAN_ROWS_CHARS} from '../../engine/limits.ts';
import type {DocumentRow} from '../../engine/storage/rows.ts';
import {DOCUMENT_BYTES_MAX} from '../../shared/limits.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const tenant = new TenantParts();
afterAll(() => tenant.close());
const {reader} = tenant;

/** A table with an index by `n`, and one document for each length of a text. */
function filled(lengths: number[]) {
  const {name, info} = tenant.newTable([['n']]);
  for (const [n, length] of lengths.entries()) tenant.write(insertEffect(name, {n, text: 'x'.repeat(length)}));
  return info;
}

describe('rows up to so much text', () => {
  const LARGE = DOCUMENT_BYTES_MAX / 2;
  const lengths = Array.from({length: 40}, (_, n) => [10, SCAN_ROW_BYTES + 1, LARGE][n % 3]!);
  const info = filled(lengths);
  const number = (row: DocumentRow) => (JSON.parse(row.body) as {n: number}).n;
  const chars = (rows: DocumentRow[]) => rows.reduce((sum, {body}) => sum + body.length, 0);
  const lower = Buffer.alloc(0);

  test.each([false, true])('are whole, in order, and end with the one that reaches it (reverse: %s)', reverse => {
    const all = lengths.map((_, n) => n);
    if (reverse) all.reverse();
    for (const rows of [
      reader.documents(info.lowDoc, info.highDoc, reverse, 128, SCAN_ROWS_CHARS),
      reader.indexEntries(info.indexes[0]!.number, lower, null, reverse, null, 128, SCAN_ROWS_CHARS),
    ]) {
      expect(rows.map(number)).toEqual(all.slice(0, rows.length));
      expect(rows.every(row => (JSON.parse(row.body) as {text: string}).text.length === lengths[number(row)])).toBe(
        true,
      );
      expect(chars(rows)).toBeGreaterThanOrEqual(SCAN_ROWS_CHARS);
      expect(chars(rows.slice(0, -1))).toBeLessThan(SCAN_ROWS_CHARS);
    }
  });

  test('are all of them when nothing is said', () => {
    expect(reader.documents(info.lowDoc, info.highDoc, false, 128).length).toBe(lengths.length);
  });
});
