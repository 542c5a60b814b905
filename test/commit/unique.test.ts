/** Unique indexes against a naive model, while one is built over documents that are there, on a real file. */
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {BackgroundWrites} from '../../engine/commit/background.ts';
import {CommitGroups} from '../../engine/commit/group.ts';
import {deleteEffect, insertEffect, patchEffect, upsertByEffect} from '../../engine/commit/mutation.ts';
import {Writer} from '../../engine/commit/writer.ts';
import {BackFill} from '../../engine/schema/back-fill.ts';
import {addIndexes} from '../../engine/schema/install.ts';
import {Catalog, type CatalogIndex} from '../../engine/storage/catalog.ts';
import {openWriter} from '../../engine/storage/database.ts';
import {NO_CONDITION} from '../../engine/storage/document.ts';
import {smallTablesFinding} from '../../engine/storage/row-sums.ts';
import {ServiceError} from '../../shared/errors.ts';
import {createLogger} from '../../shared/log.ts';
import {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {makeMemoryDirectory} from '../harness/memory-directory.ts';
import {rounds} from '../harness/nightly.ts';
import {makeOlder} from '../harness/older-file.ts';
import {promptSync} from '../harness/prompt-sync.ts';

type Fields = {a?: unknown; b?: unknown};
/** Position in the list of ids that were given, so that most of them are there. */
type Step =
  | {type: 'insert'; fields: Fields}
  | {type: 'patch'; nth: number; fields: Fields}
  | {type: 'delete'; nth: number}
  | {type: 'upsert'; fields: Fields}
  | {type: 'reopen'};

const value = fc.constantFrom<unknown>(undefined, null, 0, 1, 2, '1', [1], {x: 1});
const fields = fc.record({a: value, b: fc.constantFrom<unknown>(1, 2, null)}).map(dropUndefined);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({type: fc.constant('insert' as const), fields}),
  fc.record({type: fc.constant('patch' as const), nth: fc.nat(300), fields}),
  fc.record({type: fc.constant('delete' as const), nth: fc.nat(300)}),
  fc.record({type: fc.constant('upsert' as const), fields}),
  fc.record({type: fc.constant('reopen' as const)}),
);

function dropUndefined(record: Record<string, unknown>): Fields {
  return Object.fromEntries(Object.entries(record).filter(([, held]) => held !== undefined));
}

/** What tells two documents apart in the index on a and b; null: the document does not count. */
function keyOf({a = null, b = null}: Fields): string | null {
  return a === null || b === null ? null : JSON.stringify([a, b]);
}

/** A tenant's file with what writes to it and builds its indexes, opened as often as one likes. */
class Opened {
  readonly db;
  readonly writer;
  readonly groups;
  readonly backFill;

  constructor(path: string) {
    this.db = openWriter(path);
    this.writer = new Writer(this.db, Catalog.read(this.db), Date.now);
    const log = createLogger({});
    this.groups = new CommitGroups({
      writer: this.writer,
      metrics: new WorkerMetrics(),
      log,
      stages: [],
      sync: promptSync,
    });
    const background = new BackgroundWrites(this.groups, log, (_, error) => {
      throw error;
    });
    this.backFill = new BackFill(this.writer.catalog, background);
  }

  get index(): CatalogIndex {
    return this.writer.catalog.table('t')!.indexes[0]!;
  }

  /** As far as the file is concerned like a kill: what was not committed is gone. */
  async close(): Promise<void> {
    this.backFill.stop();
    await this.groups.close();
    this.db.close();
  }
}

test('what is enabled is unique: each write is let through or refused as the model says, however the build went', async () => {
  const outcomes = new Set<string>();
  const steps = fc.array(step, {minLength: 20, maxLength: 60});
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.integer({min: 0, max: 320}), steps, async (hasSame, before, list) => {
      const directory = makeMemoryDirectory('svc-unique-');
      const path = join(directory, 'tenant.sqlite');
      let opened = new Opened(path);
      const model = new Map<string, Fields>();
      try {
        const perform = <T>(effect: (writer: Writer) => T) => opened.groups.perform(effect);
        for (let n = 0; n < before; n++) {
          // The same ones lie far apart: in different slices of the build.
          const held = {a: hasSame && n === before - 1 ? 'first' : n === 0 ? 'first' : `a${n}`, b: 1};
          model.set(await perform(insertEffect('t', held)), held);
        }
        await perform(writer => {
          addIndexes(writer, writer.table('t'), [{name: 'u', fields: ['a', 'b'], unique: true}]);
        });
        opened.backFill.wake();
        const ids = [...model.keys()];
        let wasEverSame = hasSame && before > 1;
        for (const each of list) {
          if (each.type === 'reopen') {
            await opened.close();
            opened = new Opened(path);
            opened.backFill.wake();
            continue;
          }
          const {state} = opened.index;
          const id = 'nth' in each ? (ids[each.nth % Math.max(1, ids.length)] ?? 'none') : null;
          const held = id === null ? undefined : model.get(id);
          const wanted =
            each.type === 'delete' ? null : each.type === 'patch' ? {...held, ...each.fields} : each.fields;
          const key = wanted === null || (each.type === 'patch' && held === undefined) ? null : keyOf(wanted);
          const same = [...model].filter(([other, at]) => other !== id && key !== null && keyOf(at) === key);
          const made = await opened.groups.perform(effectOf(each, id)).catch((caught: unknown) => {
            if (caught instanceof ServiceError) return caught;
            throw caught;
          });
          if (made instanceof ServiceError) {
            if (made.code === 'op.unique_violation') {
              expect(same.map(([other]) => other)).toContain(made.detail!.id);
              continue;
            }
            const isUpsert = each.type === 'upsert' && (key === null || state !== 'enabled');
            expect([each.type, made.code]).toEqual([
              each.type,
              isUpsert ? expect.stringMatching(/^op\.(conflict|invalid_input)$/) : 'op.not_found',
            ]);
            continue;
          }
          if (each.type === 'delete') model.delete(made);
          else model.set(made, wanted!);
          if (!ids.includes(made)) ids.push(made);
          if (each.type === 'upsert') expect(made).toBe(same[0]?.[0] ?? made);
          else if (same.length > 0) {
            const unmoved = held !== undefined && keyOf(held) === key;
            if (!unmoved) expect(state).not.toBe('enabled');
            wasEverSame = true;
          }
        }
        await opened.backFill.done('t');
        while (opened.index.state === 'building') await nextTurn();
        const keys = [...model.values()].map(keyOf).filter(key => key !== null);
        const {state, duplicates} = opened.index;
        outcomes.add(state);
        if (state === 'enabled') expect(new Set(keys).size).toBe(keys.length);
        else expect([state, wasEverSame, duplicates.length > 0]).toEqual(['failed', true, true]);
        if (!wasEverSame) expect(state).toBe('enabled');
      } finally {
        await opened.close();
        rmSync(directory, {recursive: true});
      }
    }),
    {numRuns: rounds({commit: 15, nightly: 40}), examples: [[true, 250, []]]},
  );
  expect([...outcomes].sort()).toEqual(['enabled', 'failed']);
});

test('an index of a file from before there were unique ones is none', async () => {
  const directory = makeMemoryDirectory('svc-unique-');
  const path = join(directory, 'tenant.sqlite');
  const before = new Opened(path);
  await before.groups.perform(writer => {
    addIndexes(writer, writer.table('t'), [{name: 'u', fields: ['a']}]);
    insertEffect('t', {a: 1})(writer);
  });
  const {number} = before.index;
  makeOlder(before.db, 13);
  await before.close();
  const opened = new Opened(path);
  expect(opened.index).toMatchObject({number, name: 'u', state: 'enabled', isUnique: false, duplicates: []});
  expect(smallTablesFinding(opened.db, 1_000)).toBeNull();
  await opened.groups.perform(insertEffect('t', {a: 1}));
  await opened.close();
  rmSync(directory, {recursive: true});
});

function effectOf(step: Exclude<Step, {type: 'reopen'}>, id: string | null): (writer: Writer) => string {
  switch (step.type) {
    case 'insert':
      return insertEffect('t', step.fields);
    case 'patch': {
      const patch = patchEffect('t', id!, {patch: step.fields});
      return writer => patch(writer).id;
    }
    case 'delete':
      return deleteEffect('t', id!);
    case 'upsert': {
      const upsert = upsertByEffect('t', 'u', step.fields, null, NO_CONDITION);
      return writer => upsert(writer).row.id;
    }
  }
}
