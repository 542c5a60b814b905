import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {deletedDirectoryName, tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import type {StoredRow} from '../../supervisor/files/registry.ts';
import type {FoundDirectory} from '../../supervisor/files/tenant-files.ts';
import {planStart, type StartPlan} from '../../supervisor/start/start-plan.ts';

function row(id: string, generation: number): StoredRow {
  return {id, generation, awake: 0, next_due_ms: null, created_ms: 5, file_ms: null, isSound: true};
}

function directory(id: string, generation: number, content: FoundDirectory['content']): FoundDirectory {
  const createdMs = content === 'new' ? 5 : null;
  return {name: tenantDirectoryName(id, generation), kind: 'tenant', id, generation, content, createdMs, adopted: null};
}

/** One that came as a file. */
function adopted(id: string, generation: number, replaces: number | null = null): FoundDirectory {
  const note = {tenant: id, generation, created_ms: 5, timeline: '', origin: null, replaces, serve: 'reads'} as const;
  return {...directory(id, generation, 'used'), adopted: note};
}

function deleted(id: string, generation: number, content: FoundDirectory['content'] = 'used'): FoundDirectory {
  return {...directory(id, generation, content), name: deletedDirectoryName(id, generation), kind: 'deleted'};
}

/** `part: id/generation` of everything in the plan. */
function shown(plan: StartPlan): string {
  const name = ({id, generation}: {id: string; generation: number}) => `${id}/${generation}`;
  return [
    ...plan.tenants.map(({row: its, isMissing}) => `${isMissing ? 'missing' : 'tenant'} ${name(its)}`),
    ...plan.created.map(it => `created ${name(it)}`),
    ...plan.adopted.map(it => `adopted ${it.tenant}/${it.generation}`),
    ...plan.interrupted.map(it => `interrupted ${name(it)}`),
    ...plan.odd.map(it => `odd ${name(it)}`),
    ...plan.deleted.map(it => `deleted ${name(it)}`),
    ...plan.impossible.map(it => `impossible ${name(it)}`),
    ...plan.unknown.map(it => `unknown ${name(it)}`),
  ].join(', ');
}

describe('what a start makes of rows and directories', () => {
  const foreign: FoundDirectory = {
    ...directory('a', 1, 'used'),
    name: 'lost+found',
    kind: 'foreign',
    id: null,
    generation: null,
  };
  test.each<[string, StoredRow[], FoundDirectory[], string]>([
    ['nothing', [], [], ''],
    ['a tenant', [row('a', 1)], [directory('a', 1, 'used')], 'tenant a/1'],
    ['one that was not used yet', [row('a', 1)], [directory('a', 1, 'new')], 'tenant a/1'],
    ['its files are gone', [row('a', 1)], [directory('a', 1, 'empty')], 'missing a/1'],
    ['its directory is gone', [row('a', 1)], [], 'missing a/1'],
    ['a creation stopped after mkdir', [], [directory('a', 1, 'empty')], 'interrupted a/1'],
    ['… while the note was written', [], [directory('a', 1, 'torn')], 'interrupted a/1'],
    ['… before its row', [], [directory('a', 1, 'new')], 'created a/1'],
    ['a deletion stopped after its mark', [row('a', 1)], [deleted('a', 1)], 'deleted a/1'],
    ['… before its row was gone', [row('a', 1)], [deleted('a', 1, 'empty')], 'deleted a/1'],
    ['… before its mark was gone', [], [deleted('a', 1, 'empty')], 'deleted a/1'],
    [
      'deleted and created again',
      [row('a', 2)],
      [deleted('a', 1), directory('a', 2, 'used')],
      'tenant a/2, deleted a/1',
    ],
    ['… before its row', [row('a', 1)], [deleted('a', 1), directory('a', 2, 'new')], 'created a/2, deleted a/1'],
    ['… with a row of before', [row('a', 1)], [directory('a', 2, 'new')], 'created a/2'],
    [
      'a note that is no file',
      [row('a', 1)],
      [directory('a', 1, 'odd'), directory('b', 2, 'odd')],
      'missing a/1, odd b/2',
    ],
    ['a file that was taken in, not opened yet', [row('a', 1)], [adopted('a', 1)], 'tenant a/1'],
    ['… before its row', [], [adopted('a', 1)], 'adopted a/1'],
    ['one that replaces a tenant', [row('a', 1)], [directory('a', 1, 'used'), adopted('a', 2, 1)], 'adopted a/2'],
    ['… which is set aside', [row('a', 1)], [adopted('a', 2, 1)], 'adopted a/2'],
    ['… and both have gone on', [row('a', 2)], [adopted('a', 2, 1)], 'tenant a/2'],
    [
      'one that does not replace the tenant that is here',
      [row('a', 3)],
      [directory('a', 3, 'used'), adopted('a', 2, 1)],
      'tenant a/3, unknown a/2',
    ],
    ['a lost registry', [], [directory('a', 1, 'used'), directory('b', 2, 'used')], 'unknown a/1, unknown b/2'],
    ['an older one', [row('a', 1)], [directory('a', 1, 'used'), directory('b', 2, 'used')], 'tenant a/1, unknown b/2'],
    ['one from before it was created again', [row('a', 1)], [directory('a', 2, 'used')], 'missing a/1, unknown a/2'],
    [
      'two of one tenant',
      [row('a', 1)],
      [directory('a', 1, 'used'), directory('a', 2, 'new')],
      'tenant a/1, unknown a/2',
    ],
    ['a flipped generation', [row('a', 3)], [directory('a', 1, 'used')], 'missing a/3, unknown a/1'],
    ['an impossible id', [row('a/', 1)], [directory('a', 1, 'used')], 'impossible a//1, unknown a/1'],
    ['an impossible generation', [row('a', 0)], [], 'impossible a/0'],
    [
      'a directory that came back after its deletion',
      [row('a', 1)],
      [directory('a', 1, 'used'), deleted('a', 1)],
      'tenant a/1',
    ],
    ['what is not ours', [], [foreign], ''],
  ])('%s', (_, rows, found, plan) => {
    expect(shown(planStart(rows, found))).toBe(plan);
  });

  test('whatever is found: what holds a file is served, refused, or was marked as deleted', () => {
    const id = fc.constantFrom('a', 'b', 'A');
    const generation = fc.integer({min: 1, max: 3});
    const content = fc.constantFrom<FoundDirectory['content']>('empty', 'torn', 'odd', 'new', 'used');
    const found = fc.uniqueArray(
      fc
        .tuple(fc.boolean(), id, generation, content)
        .map(([isDeleted, ...it]) => (isDeleted ? deleted(...it) : directory(...it))),
      {selector: it => it.name},
    );
    const rows = fc.uniqueArray(fc.tuple(id, generation), {selector: ([its]) => its});
    fc.assert(
      fc.property(rows, found, (given, directories) => {
        const plan = planStart(
          given.map(it => row(...it)),
          directories,
        );
        const removed = [...plan.interrupted, ...plan.deleted];
        for (const it of removed)
          expect(it.kind === 'deleted' || it.content === 'empty' || it.content === 'torn').toBe(true);
        for (const it of directories.filter(({kind, content: its}) => kind === 'tenant' && its === 'used')) {
          const isServed = plan.tenants.some(
            ({row: its, isMissing}) => !isMissing && its.id === it.id && its.generation === it.generation,
          );
          expect(isServed || plan.unknown.includes(it as never)).toBe(true);
        }
        const ids = [...plan.tenants.map(its => its.row.id), ...plan.created.map(its => its.id)];
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });
});
