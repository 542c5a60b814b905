/** Rows that are kept in memory: what is found there is what the file holds, whichever way a row was found before. */
import fc from 'fast-check';
import {afterAll, describe, expect, test} from 'vitest';
import {deleteEffect, insertEffect, patchEffect} from '../../engine/commit/mutation.ts';
import {
  ROW_CACHE_CHARS_MAX,
  ROW_CACHE_MISSES_MAX,
  ROW_CACHE_ROW_CHARS_MAX,
  ROW_CACHE_TRY_EACH,
} from '../../engine/limits.ts';
import {RowCache} from '../../engine/storage/row-cache.ts';
import type {DocumentRow} from '../../engine/storage/rows.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

const tenant = new TenantParts();
afterAll(() => tenant.close());
const {reader} = tenant;

describe('a reader that keeps rows', () => {
  test('finds a document that was read once in memory, by its id, its number and an index', () => {
    const {name, info} = tenant.newTable([['n']]);
    const id = tenant.write(insertEffect(name, {n: 1}));
    const row = reader.documentById(id)!;
    expect(reader.documentById(id)).toBe(row);
    expect(reader.documents(info.lowDoc, info.highDoc, false, 2)[0]).toBe(row);
    expect(reader.indexEntries(info.indexes[0]!.number, Buffer.alloc(0), null, false, null, 2)[0]).toBe(row);
  });

  test('shows each commit from then on, whichever way the document was read before', () => {
    const action = fc.record({
      kind: fc.constantFrom('insert', 'patch', 'delete', 'get', 'index', 'range'),
      at: fc.nat({max: 7}),
      n: fc.nat({max: 99}),
    });
    fc.assert(
      fc.property(fc.array(action, {maxLength: 60}), actions => {
        const {name, info} = tenant.newTable([['n']]);
        const model = new Map<string, number>();
        const all: string[] = [];
        const body = (row: DocumentRow | undefined) =>
          row === undefined ? undefined : (JSON.parse(row.body) as {n: number}).n;
        for (const {kind, at, n} of actions) {
          const id = all[at % Math.max(all.length, 1)] ?? '';
          if (kind === 'insert') {
            const inserted = tenant.write(insertEffect(name, {n}));
            all.push(inserted);
            model.set(inserted, n);
          } else if (kind === 'patch' && model.has(id)) {
            tenant.write(patchEffect(name, id, {patch: {n}}));
            model.set(id, n);
          } else if (kind === 'delete' && model.has(id)) {
            tenant.write(deleteEffect(name, id));
            model.delete(id);
          } else if (kind === 'get') expect(body(reader.documentById(id))).toBe(model.get(id));
          else {
            const rows =
              kind === 'index'
                ? reader.indexEntries(info.indexes[0]!.number, Buffer.alloc(0), null, false, null, 32)
                : reader.documents(info.lowDoc, info.highDoc, false, 32);
            const found = new Map(rows.map(row => [row.id, body(row)!]));
            if (model.size <= 32) expect(found).toEqual(model);
          }
        }
        for (const id of all) expect(body(reader.documentById(id))).toBe(model.get(id));
      }),
      {numRuns: 60},
    );
  });

  test('refuses a row whose number became that of a cached one', () => {
    const {name, info} = tenant.newTable();
    const [first, second] = [1, 2].map(n => tenant.write(insertEffect(name, {n})));
    for (const id of [first!, second!]) reader.documentById(id);
    reader.endSnapshot();
    const {doc} = reader.documentById(second!)!;
    reader.endSnapshot();
    tenant.writerDb.prepare('DELETE FROM documents WHERE doc = ?').run(doc);
    tenant.writerDb.prepare('UPDATE documents SET doc = ? WHERE id = ?').run(doc, first);
    expect(() => reader.documents(info.lowDoc, info.highDoc, false, 2)).toThrow(/damaged/);
    reader.endSnapshot();
  });
});

describe('the rows that are kept', () => {
  const row = (doc: number, chars: number): DocumentRow => ({
    doc,
    id: `id-${doc}`,
    created: 1,
    updated: 1,
    body: 'x'.repeat(chars),
    flags: 0,
  });

  test('are bounded: those that were not used lately leave, under their number and their id', () => {
    const cache = new RowCache();
    const half = ROW_CACHE_CHARS_MAX / 2 / ROW_CACHE_ROW_CHARS_MAX;
    for (let doc = 0; doc < 3 * half; doc++) {
      cache.add(row(doc, ROW_CACHE_ROW_CHARS_MAX));
      expect(cache.withId('id-0')).toBe(cache.get(0)); // used again and again
    }
    expect(cache.get(0)).toBeDefined();
    expect(cache.get(1)).toBeUndefined();
    expect(cache.withId('id-1')).toBeUndefined();
  });

  test('are not asked for by most reads while these miss, until one finds all of its rows', () => {
    const cache = new RowCache();
    cache.add(row(1, 1));
    for (let i = 0; i < ROW_CACHE_MISSES_MAX; i++) {
      expect(cache.isTried()).toBe(true);
      expect(cache.all([1, 2])).toBe(null);
    }
    const tried = Array.from({length: 3 * ROW_CACHE_TRY_EACH}, () => cache.isTried());
    expect(tried.filter(isTried => isTried)).toHaveLength(3);
    expect(cache.all([1])).toEqual([row(1, 1)]);
    expect(cache.isTried()).toBe(true);
  });

  test('are none that are long', () => {
    const cache = new RowCache();
    cache.add(row(1, ROW_CACHE_ROW_CHARS_MAX + 1));
    expect(cache.get(1) ?? cache.withId('id-1')).toBeUndefined();
  });
});
