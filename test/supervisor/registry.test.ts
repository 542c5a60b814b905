import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {Registry} from '../../router/supervisor/registry.ts';
import {tenantDirectoryName} from '../../router/supervisor/tenant-files.ts';
import {TENANT_ID} from '../../shared/protocol/tenants.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  path = join(directory, 'registry.sqlite');
});
afterEach(() => rmSync(directory, {recursive: true}));

describe('the registry of tenants', () => {
  test('a change is there after it is opened again', () => {
    const first = new Registry(path);
    first.create('acme', 1, 5);
    first.create('beta', 2, 5);
    first.markAwake('acme');
    first.markDeleting('beta');
    first.close();
    const second = new Registry(path);
    expect(second.rows()).toEqual([
      {id: 'acme', generation: 1, state: 'ready', awake: 1, next_due_ms: null, created_ms: 5},
      {id: 'beta', generation: 2, state: 'deleting', awake: 0, next_due_ms: null, created_ms: 5},
    ]);
    second.close();
  });

  test('a generation is not forgotten with its tenant', () => {
    const registry = new Registry(path);
    registry.create('acme', 7, 5);
    registry.remove('acme');
    expect(registry.lastGeneration()).toBe(7);
    registry.close();
  });

  test('the highest generation counts when creations overlap', () => {
    const registry = new Registry(path);
    registry.create('second', 2, 5);
    registry.create('first', 1, 5);
    expect(registry.lastGeneration()).toBe(2);
    registry.close();
  });

  test('due are tenants that sleep, exist and have a time that has come', () => {
    const registry = new Registry(path);
    for (const [i, id] of ['due', 'later', 'never', 'awake', 'deleted'].entries()) registry.create(id, i + 1, 0);
    registry.markAsleep('due', 100);
    registry.markAsleep('later', 200);
    registry.markAsleep('never', null);
    registry.markAsleep('awake', 50);
    registry.markAwake('awake');
    registry.markAsleep('deleted', 50);
    registry.markDeleting('deleted');
    expect(registry.nextDueMs()).toBe(100);
    expect(registry.due(99)).toEqual([]);
    expect(registry.due(100)).toEqual(['due']);
    expect(registry.due(200).sort()).toEqual(['due', 'later']);
    registry.close();
  });

  test('a file of a newer version is refused', () => {
    new Registry(path).close();
    const db = new Database(path);
    db.pragma('user_version = 99');
    db.close();
    expect(() => new Registry(path)).toThrow('written by a newer svc');
  });
});

describe("the name of a tenant's directory", () => {
  test.each([
    ['acme', 1, 't_acme_1'],
    ['Acme', 2, 't_=acme_2'],
    ['a_B-9', 3, 't_a=_=b-9_3'],
  ])('%s, generation %i → %s', (id, generation, name) => {
    expect(tenantDirectoryName(id, generation)).toBe(name);
  });

  test('differs for different tenants even where case does not', () => {
    const id = fc.stringMatching(TENANT_ID);
    const generation = fc.integer({min: 1, max: 30});
    fc.assert(
      fc.property(id, generation, id, generation, (a, aGeneration, b, bGeneration) => {
        const same = a === b && aGeneration === bGeneration;
        const [aName, bName] = [tenantDirectoryName(a, aGeneration), tenantDirectoryName(b, bGeneration)];
        expect(aName.toLowerCase() === bName.toLowerCase()).toBe(same);
      }),
    );
  });
});
