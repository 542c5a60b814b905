import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {afterEach, beforeEach, describe, expect, onTestFinished, test, vi} from 'vitest';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {deletedDirectoryName, parseDirectoryName, tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import {Registry, readRegistry} from '../../supervisor/files/registry.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
  path = join(directory, 'registry.sqlite');
});
afterEach(() => rmSync(directory, {recursive: true}));

describe('the registry of tenants', () => {
  const acme = {id: 'acme', generation: 1, awake: 1, next_due_ms: null, created_ms: 5, file_ms: null, isSound: true};

  test('of an older svc, on a full disk: it opens, and says of no tenant that it has no code', () => {
    const older = new Registry(path);
    older.create('acme', 1, 5);
    older.close();
    const db = new Database(path);
    db.exec('DROP TABLE without_code');
    db.close();
    const exec = vi.spyOn(Database.prototype, 'exec').mockImplementation(function (this: Database.Database, sql) {
      if (/CREATE TABLE IF NOT EXISTS without_code/.test(sql)) throw new Database.SqliteError('full', 'SQLITE_FULL');
      this.prepare(sql).run();
      return this;
    });
    onTestFinished(() => exec.mockRestore());
    const registry = new Registry(path);
    expect(registry.hasCode('acme', 1)).toBe(true);
    registry.setHasCode('acme', 1, false);
    expect(registry.hasCode('acme', 1)).toBe(false);
    registry.close();
    exec.mockRestore();
    expect(new Registry(path).hasCode('acme', 1)).toBe(true);
  });

  test('a change is there after it is opened again', () => {
    const first = new Registry(path);
    first.create('acme', 1, 5);
    first.create('beta', 2, 5);
    first.create('gone', 3, 5);
    first.markAwake('acme');
    first.markAsleep('beta', 70, 60);
    first.remove('gone', 3);
    const rows = first.rows();
    first.close();
    const second = new Registry(path);
    expect(second.rows()).toEqual([acme, {...acme, id: 'beta', generation: 2, awake: 0, next_due_ms: 70, file_ms: 60}]);
    expect(second.rows()).toEqual(rows);
    second.close();
    expect(readRegistry(path)).toEqual({version: 2, rows, lastGeneration: 3});
  });

  test('a new tenant has no code; one that got some has, and so has what is unknown or damaged', () => {
    const first = new Registry(path);
    for (const [at, id] of ['none', 'some', 'damaged'].entries()) first.create(id, at + 1, 5);
    first.setHasCode('some', 2, true);
    expect(first.tenantsWithCode).toBe(1);
    first.close();
    const db = new Database(path);
    db.prepare("UPDATE without_code SET checksum = checksum + 1 WHERE id = 'damaged'").run();
    db.close();
    const second = new Registry(path);
    expect(['none', 'some', 'damaged'].map((id, at) => second.hasCode(id, at + 1))).toEqual([false, true, true]);
    expect(second.hasCode('none', 9)).toBe(true);
    expect(second.tenantsWithCode).toBe(2);
    second.setHasCode('some', 2, false);
    second.remove('none', 1);
    second.close();
    const third = new Registry(path);
    expect([third.hasCode('some', 2), third.hasCode('none', 1)]).toEqual([false, true]);
    third.close();
  });

  test('a generation is not forgotten with its tenant', () => {
    const registry = new Registry(path);
    registry.create('acme', 7, 5);
    registry.remove('acme', 7);
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

  test('a deletion that is finished late leaves the tenant that has the id by then', () => {
    const registry = new Registry(path);
    registry.create('acme', 1, 5);
    registry.create('acme', 2, 5);
    registry.remove('acme', 1);
    expect(registry.rows().map(({generation}) => generation)).toEqual([2]);
    registry.close();
  });

  test('due are tenants that sleep and have a time that has come', () => {
    const registry = new Registry(path);
    for (const [i, id] of ['due', 'later', 'never', 'awake'].entries()) registry.create(id, i + 1, 0);
    registry.markAsleep('due', 100, null);
    registry.markAsleep('later', 200, null);
    registry.markAsleep('never', null, null);
    registry.markAsleep('awake', 50, null);
    registry.markAwake('awake');
    expect(registry.nextDueMs()).toBe(100);
    expect(registry.due(99)).toEqual([]);
    expect(registry.due(100)).toEqual(['due']);
    expect(registry.due(200).sort()).toEqual(['due', 'later']);
    registry.close();
  });

  test.each([
    ['id', "'acmd'"],
    ['generation', '3'],
    ['awake', '0'],
    ['next_due_ms', '9'],
    ['created_ms', '4'],
    ['file_ms', '1'],
  ])('a row whose %s was changed by another program is not sound', (column, value) => {
    const registry = new Registry(path);
    registry.create('acme', 1, 5);
    registry.markAwake('acme');
    registry.close();
    const db = new Database(path);
    db.exec(`UPDATE tenants SET ${column} = ${value}`);
    db.close();
    const again = new Registry(path);
    expect(again.rows().map(row => row.isSound)).toEqual([false]);
    again.close();
  });

  test.each<[string, string, string]>([
    ['of a newer version', 'PRAGMA user_version = 99', 'written by a newer svc'],
    ['of something else', 'PRAGMA application_id = 5', 'is not a registry of tenants'],
    ['whose columns changed', 'ALTER TABLE generations RENAME COLUMN last TO lasu', 'is damaged: no such column'],
    ['whose tables changed', 'ALTER TABLE tenants RENAME COLUMN awake TO awakf', 'is damaged: no such column'],
    ['with an impossible generation', 'UPDATE generations SET last = -1', 'is damaged: its last generation is -1'],
  ])('a file %s is refused', (_, sql, says) => {
    new Registry(path).close();
    const db = new Database(path);
    db.exec(sql);
    db.close();
    expect(() => new Registry(path).lastGeneration()).toThrow(says);
    expect(() => readRegistry(path)).toThrow(says);
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['text', () => Buffer.from('something else\n'.repeat(1_000))],
    ['cut', bytes => bytes.subarray(0, bytes.length / 2)],
    ['overwritten in part', bytes => bytes.fill(0xa5, 4096, 4200)],
  ])('a file that is %s is refused in one sentence', (_, damage) => {
    const registry = new Registry(path);
    for (let n = 1; n <= 200; n++) registry.create(`tenant-${n}`, n, 0);
    registry.close();
    writeFileSync(path, damage(readFileSync(path)));
    expect(() => new Registry(path)).toThrow(/^is damaged: [^\n]+$/);
    expect(() => readRegistry(path)).toThrow(/^is damaged: [^\n]+$/);
  });

  test('of version 1: its tenants are there, and who asks hears of them before; a deletion is not finished', () => {
    const db = new Database(path);
    db.exec(`
      CREATE TABLE tenants (
        id TEXT PRIMARY KEY, generation INTEGER NOT NULL UNIQUE,
        state TEXT NOT NULL CHECK (state IN ('ready', 'deleting')),
        awake INTEGER NOT NULL CHECK (awake IN (0, 1)), next_due_ms INTEGER, created_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX tenants_due ON tenants (next_due_ms) WHERE next_due_ms IS NOT NULL AND awake = 0;
      CREATE TABLE generations (last INTEGER NOT NULL) STRICT;
      INSERT INTO generations VALUES (2);
      INSERT INTO tenants VALUES ('acme', 1, 'ready', 1, NULL, 5), ('beta', 2, 'deleting', 0, NULL, 5);
      PRAGMA application_id = ${0x73766352};
      PRAGMA user_version = 1;
    `);
    db.close();
    const {isSound: _, ...row} = acme;
    const heard: unknown[] = [];
    const registry = new Registry(path, (from, rows) => heard.push(from, rows));
    expect(heard).toEqual([1, [row]]);
    expect(registry.rows()).toEqual([acme]);
    expect(registry.lastGeneration()).toBe(2);
    registry.close();
    new Registry(path, () => expect.unreachable('it is upgraded once')).close();
  });
});

describe("the name of a tenant's directory", () => {
  test.each([
    ['acme', 1, 't_acme_1'],
    ['Acme', 2, 't_=acme_2'],
    ['a_B-9', 3, 't_a=_=b-9_3'],
  ])('%s, generation %i → %s', (id, generation, name) => {
    expect(tenantDirectoryName(id, generation)).toBe(name);
    expect(parseDirectoryName(name)).toEqual({kind: 'tenant', id, generation});
    expect(parseDirectoryName(deletedDirectoryName(id, generation))).toEqual({kind: 'deleted', id, generation});
  });

  test.each([
    't_acme',
    't_acme_0',
    't_acme_01',
    't_Acme_1',
    't_a_b_1',
    'x_acme_1',
    't_acme_1.bak',
    't_-a_1',
    'lost+found',
  ])('is none of ours: %s', name => expect(parseDirectoryName(name)).toBeNull());

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

test('pauses of a release that knew one kind of them go on, and can be of the other kind afterwards', () => {
  const first = new Registry(path);
  first.create('a', 1, 5);
  first.paused.add('a', 1, 'nothing');
  first.close();
  const db = new Database(path);
  db.exec('ALTER TABLE paused DROP COLUMN serves');
  db.close();
  const second = new Registry(path);
  expect(second.paused.modeOf('a', 1)).toBe('nothing');
  second.paused.add('a', 1, 'reads');
  second.close();
  const third = new Registry(path);
  expect([third.paused.modeOf('a', 1), third.paused.modeOf('a', 2)]).toEqual(['reads', null]);
  third.close();
});
