/** The counts that the writer keeps, against counting: whatever is written, taken back, and counted meanwhile. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import fc from 'fast-check';
import {afterAll, expect, test} from 'vitest';
import {Writer} from '../../engine/commit/writer.ts';
import {Catalog} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-counts-'));
let files = 0;
afterAll(() => rmSync(directory, {recursive: true}));

type Step = {do: 'insert' | 'delete' | 'update' | 'count'; at: number};
const step = fc.record<Step>({do: fc.constantFrom('insert', 'delete', 'update', 'count'), at: fc.nat({max: 20})});
const write = fc.record({steps: fc.array(step, {minLength: 1, maxLength: 4}), fails: fc.boolean()});
const group = fc.record({writes: fc.array(write, {minLength: 1, maxLength: 5}), fails: fc.boolean()});

test('a count is that of the documents up to where the table is counted', () => {
  fc.assert(
    fc.property(fc.array(group, {minLength: 1, maxLength: 8}), groups => {
      const db = openWriter(join(directory, `${++files}.sqlite`));
      const writer = new Writer(db, Catalog.read(db), () => 1_000);
      writer.statements.begin.run();
      for (const name of ['before', 't', 'behind']) writer.insert(writer.table(name), {}, '{}');
      const table = writer.table('t');
      for (let n = 0; n < 10; n++) writer.insert(table, {}, '{}');
      writer.statements.commit.run();
      writer.endGroup();
      // As it was before counts were kept.
      table.documents = 0;
      table.countedTo = 0;
      for (const {writes, fails: groupFails} of groups) {
        const start = writer.mark();
        writer.statements.begin.run();
        for (const {steps, fails} of writes) {
          const mark = writer.mark();
          writer.statements.savepoint.run();
          for (const {do: what, at} of steps) {
            const rows = writer.statements.documentsFrom.all(table.info.lowDoc, table.info.highDoc, 100);
            const row = rows[at % Math.max(1, rows.length)];
            if (what === 'insert') writer.insert(table, {}, '{}');
            else if (what === 'count') writer.counters.countSome(table, 1 + (at % 7));
            else if (row !== undefined && what === 'delete') writer.delete(table, row);
            else if (row !== undefined) writer.update(table, row, {}, {}, '{}');
          }
          if (fails) writer.statements.rollbackTo.run();
          writer.statements.release.run();
          if (fails) writer.returnTo(mark);
          else writer.appendRecord();
        }
        if (!groupFails) writer.counters.write();
        (groupFails ? writer.statements.rollback : writer.statements.commit).run();
        if (groupFails) writer.returnTo(start);
        writer.endGroup();
        const count = db.prepare('SELECT count(*) FROM documents WHERE doc BETWEEN ? AND ?').pluck();
        expect(table.documents).toBe(count.get(table.info.lowDoc, table.countedTo));
        if (groupFails) continue;
        const stored = Catalog.read(db).table('t')!;
        expect([stored.documents, stored.countedTo]).toEqual([table.documents, table.countedTo]);
      }
      db.close();
    }),
    {numRuns: 40},
  );
});
