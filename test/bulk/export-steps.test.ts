/** What one step of an export reads and keeps: other requests of the tenant are served between two of them. */
import {afterEach, beforeEach, expect, test} from 'vitest';
import {insertEffect} from '../../engine/commit/mutation.ts';
import {CHUNK_CHARS} from '../../engine/journal/chunks.ts';
import {exportChunks} from '../../worker/api/bulk/export/export.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const LENGTH = 10_000;

let parts: TenantParts;
beforeEach(() => {
  parts = new TenantParts();
});
afterEach(() => parts.close());

const insertAll = (documents: object[]) =>
  parts.write(writer => {
    for (const fields of documents) insertEffect('t', {...fields})(writer);
  });
const csv = (columns: string[] | null) => [
  ...exportChunks(parts.path, {format: 'csv', table: 't', filters: [], columns}, () => undefined),
];

test('a step of CSV looks at a piece of text, however little of it is in its records', () => {
  const documents = Array.from({length: 200}, (_, n) => ({n, text: 'x'.repeat(LENGTH)}));
  insertAll(documents);
  const chunks = csv(['n']);
  expect(chunks.join('')).toBe(`n\r\n${documents.map(({n}) => `${n}\r\n`).join('')}`);
  expect(chunks.length).toBeGreaterThan((documents.length * LENGTH) / (2 * CHUNK_CHARS));
});

test('names of fields that no header of an import may have end it, before they fill the memory', () => {
  insertAll(Array.from({length: 5}, (_, n) => ({[`${'a'.repeat(1_000_000)}${n}`]: n})));
  expect(() => csv(null)).toThrow(/the names of all fields are longer than 4194304 bytes: name the columns/);
  expect(csv(['_id'])).not.toEqual([]);
});
