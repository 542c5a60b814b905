/** Documents that are written many at once are what they would be one by one: rows, entries, counts, changes, records. */
import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {insertEffect, newDocument} from '../../engine/commit/mutation.ts';
import {NewDocuments} from '../../engine/commit/new-documents.ts';
import {recordDigest} from '../../engine/commit/record.ts';
import {INSERT_ROWS_AT_ONCE} from '../../engine/limits.ts';
import {catalogIndex, refreshInfo} from '../../engine/storage/catalog.ts';
import {isSound, type StoredRow} from '../../engine/storage/checksum.ts';
import {compileSchema} from '../../engine/storage/table-check.ts';
import {ServiceError} from '../../shared/errors.ts';
import {storedText} from '../../shared/values/json.ts';
import {TenantParts} from '../harness/tenant-parts.ts';

type Fields = {k?: number | string; v?: string};
type Step = {table: string; many: number; fields: Fields; isSingle: boolean};

const LONG = 'x'.repeat(5_000); // no key of an index may be as long
const fields = fc.record(
  {k: fc.oneof(fc.nat(30), fc.constantFrom('ä', LONG)), v: fc.constantFrom('', 'é€😀', 'plain')},
  {requiredKeys: []},
);
const step = fc.record<Step>({
  table: fc.constantFrom('plain', 'indexed', 'unique', 'strict', 'new'),
  many: fc.oneof(fc.constantFrom(1, 2, INSERT_ROWS_AT_ONCE - 1, INSERT_ROWS_AT_ONCE, INSERT_ROWS_AT_ONCE + 3)),
  fields,
  isSingle: fc.boolean(),
});

class Side {
  readonly parts = new TenantParts();

  constructor() {
    this.parts.newTable([], 'enabled', 'plain');
    this.parts.newTable([['v'], ['k', 'v']], 'enabled', 'indexed');
    const {catalog} = this.parts;
    const unique = this.parts.newTable([['v']], 'enabled', 'unique');
    unique.indexes.push(catalogIndex(catalog.nextIndexNumber(), 'k', ['k'], 'enabled', 0, true));
    refreshInfo(unique);
    const strict = this.parts.newTable([], 'enabled', 'strict');
    strict.fields = [{name: 'k', field_type: 'number', required: true}];
    strict.compiled = compileSchema({fields: strict.fields});
  }

  /** @returns what each step was refused for. Taken back: as if the write had failed. */
  write(steps: readonly Step[], areMany: boolean, isTakenBack: boolean): string[] {
    const {writer} = this.parts;
    const refusals: string[] = [];
    const attempt = (make: () => void) => {
      try {
        make();
      } catch (caught) {
        if (!(caught instanceof ServiceError)) throw caught;
        refusals.push(`${caught.code} ${masked(caught.message)}`);
      }
    };
    this.parts.write(() => {
      const mark = writer.mark();
      writer.statements.savepoint.run();
      const documents = new NewDocuments(writer);
      for (const {table, many, fields: given, isSingle} of steps) {
        for (let i = 0; i < many; i++) {
          const of = typeof given.k === 'number' ? {...given, k: given.k + i} : given;
          attempt(() => {
            if (areMany && !isSingle) {
              documents.add(newDocument(table, of));
              return;
            }
            documents.flush();
            insertEffect(table, of)(writer);
          });
        }
      }
      documents.flush();
      if (isTakenBack) writer.statements.rollbackTo.run();
      writer.statements.release.run();
      if (isTakenBack) writer.returnTo(mark);
    });
    return refusals;
  }

  /** All that is there, with ids masked, which are random. */
  get stored() {
    const {writerDb, catalog} = this.parts;
    const rows = writerDb.prepare('SELECT * FROM documents ORDER BY doc').all() as StoredRow[];
    for (const row of rows) expect(isSound(row)).toBe(true);
    const journal = writerDb.prepare('SELECT record, digest FROM journal ORDER BY sequence').all() as {
      record: string;
      digest: string;
    }[];
    for (const [i, {record, digest}] of journal.entries()) {
      if (i > 0) expect(digest).toBe(recordDigest(journal[i - 1]!.digest, record));
      const {writes} = JSON.parse(record) as {writes: {id: string; document: {_id: string} & Fields}[]};
      for (const {id, document} of writes) {
        const {_id, _creationTime, _updateTime, ...of} = document as Record<string, unknown>;
        expect(_id).toBe(id);
        expect(rows.find(row => row.id === id)?.body).toBe(storedText(of));
      }
    }
    return {
      rows: rows.map(({doc, created, updated, body, flags}) => ({doc, created, updated, body, flags})),
      entries: writerDb.prepare('SELECT * FROM index_entries').all(),
      journal: journal.map(({record}) => masked(record)),
      counts: [...catalog.tables()].map(({name, lastN, lastCreated, documents}) => ({
        name,
        lastN,
        lastCreated,
        documents,
      })),
      tables: writerDb.prepare('SELECT name, last_n, last_created, documents FROM tables ORDER BY number').all(),
    };
  }

  close(): void {
    this.parts.close();
  }
}

function masked(text: string): string {
  return text.replaceAll(/[0-9a-hjkmnp-tv-z]{32}/g, 'ID');
}

test('whatever is added, refused, taken back or written in between', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({steps: fc.array(step, {minLength: 1, maxLength: 5}), isTakenBack: fc.boolean()}), {
        maxLength: 3,
      }),
      writes => {
        const [many, single] = [new Side(), new Side()];
        for (const {steps, isTakenBack} of writes) {
          expect(many.write(steps, true, isTakenBack)).toEqual(single.write(steps, false, isTakenBack));
        }
        expect(many.stored).toEqual(single.stored);
        many.close();
        single.close();
      },
    ),
    {numRuns: 20},
  );
});

test('a commit has their changes, and its records are those of the journal', () => {
  const {parts} = new Side();
  const {writer} = parts;
  writer.statements.begin.run();
  const documents = new NewDocuments(writer);
  for (let v = 0; v < INSERT_ROWS_AT_ONCE + 1; v++) documents.add(newDocument('indexed', {k: v, v: 'ä'}));
  documents.flush();
  writer.appendRecord();
  const {changes, records} = writer.commit();
  writer.statements.commit.run();
  writer.endGroup();
  expect(changes.map(({before, after}) => [before, after!.document.k])).toEqual(
    Array.from({length: INSERT_ROWS_AT_ONCE + 1}, (_, v) => [null, v]),
  );
  expect(changes.every(({indexes, after}) => indexes.length === 2 && Buffer.isBuffer(after!.keys[1]))).toBe(true);
  const record = JSON.parse(records.at(-1)!) as {writes: {id: string; document: Fields}[]};
  expect(record.writes.map(({id, document}) => [id, document.k])).toEqual(changes.map(({id}, v) => [id, v]));
  parts.close();
});
