import {setImmediate as nextTurn} from 'node:timers/promises';
import {describe, expect, test} from 'vitest';
import {allSchemasText} from '../../../engine/schema/read.ts';
import type {SchemaDefinition, SchemaTable} from '../../../shared/protocol/functions.ts';
import type {ValidatorJson} from '../../../shared/values/validator.ts';
import {EMPTY_UPLOAD, errorsOf, refusalOf, TenantDeployments} from './tenant-deployments.ts';

const NUMBER: ValidatorJson = {type: 'number'};
const STRING: ValidatorJson = {type: 'string'};
const MANY = 20_000;

function table(name: string, fields: Record<string, ValidatorJson>, ...indexes: string[][]): SchemaTable {
  const value = Object.fromEntries(
    Object.entries(fields).map(([field, fieldType]) => [field, {fieldType, optional: false}]),
  );
  return {
    name,
    document: {type: 'object', value},
    indexes: indexes.map(list => ({name: `by_${list.join('_')}`, fields: list})),
  };
}

function schema(...tables: SchemaTable[]): SchemaDefinition {
  return {tables, schemaValidation: true};
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}

function numbered(count: number): {n: number}[] {
  return Array.from({length: count}, (_, n) => ({n}));
}

describe('the schema of a deployment', () => {
  test('is kept by every write from then on, native ones too', async () => {
    const tenant = new TenantDeployments();
    await tenant.deploySchema(schema(table('items', {n: NUMBER})));
    const refused = await refusalOf(tenant.insert('items', {n: 'text'}));
    expect(refused).toMatchObject({
      code: 'op.schema_violation',
      detail: {
        table: 'items',
        message: expect.stringContaining('Value does not match validator.\n\nPath: .n\nValue: "text"'),
      },
    });
    expect(await tenant.insert('items', {n: 1})).toEqual(expect.any(String));
  });

  test('refuses existing documents by id and path, one line for every table, and changes nothing', async () => {
    const tenant = new TenantDeployments();
    const one = await tenant.insert('one', {n: 'text'});
    const two = await tenant.insert('two', {n: null});
    await tenant.insert('three', {n: 1});
    const wanted = ['one', 'two', 'three'].map(name => table(name, {n: NUMBER}, ['n']));
    const errors = await errorsOf(tenant.deploySchema(schema(...wanted)));
    expect(errors.map(({message}) => message)).toEqual([
      expect.stringContaining(`Document with ID "${one}" in table "one" does not match the schema: `),
      expect.stringContaining(`Document with ID "${two}" in table "two" does not match the schema: `),
    ]);
    expect(allSchemasText(tenant.catalog)).toBe('{"tables":{}}');
    expect(tenant.indexes('three')).toEqual([]);
    expect(tenant.events()).toEqual([]);
    expect(tenant.list()).toEqual([]);
    expect(await tenant.insert('one', {n: 'more text'})).toEqual(expect.any(String));
  });

  test('is checked by a dry run, which installs nothing', async () => {
    const tenant = new TenantDeployments();
    await tenant.insert('items', {n: 1});
    const dryRun = (wanted: ValidatorJson) => {
      tenant.manifest = {
        functions: [],
        routes: null,
        schema: schema(table('items', {n: wanted}, ['n']), table('new', {})),
        authProviders: [],
      };
      return tenant.upload({...EMPTY_UPLOAD, dryRun: true});
    };
    expect(await dryRun(NUMBER)).toEqual({
      dry_run: true,
      functions: [],
      changes: {
        tables: {declared: ['items', 'new'], undeclared: []},
        indexes: {added: ['items.by_n (n)'], dropped: []},
      },
    });
    expect(await errorsOf(dryRun(STRING))).toMatchObject([{message: expect.stringContaining('in table "items"')}]);
    expect(tenant.indexes('items')).toEqual([]);
    expect(tenant.catalog.table('new')).toBeUndefined();
    expect(tenant.events()).toEqual([]);
  });

  test('that is not to be checked has its indexes and types and lets every document in', async () => {
    const tenant = new TenantDeployments();
    await tenant.insert('items', {n: 'text'});
    await tenant.deploySchema({...schema(table('items', {n: NUMBER}, ['n'])), schemaValidation: false});
    await tenant.insert('items', {n: null});
    expect(tenant.indexes('items')).toEqual(['by_n: n (enabled)']);
    expect(tenant.entries('items', 'by_n')).toBe(2);
    const [refused] = await errorsOf(tenant.deploySchema(schema(table('items', {n: NUMBER}, ['n']))));
    expect(refused!.message).toContain('does not match the schema');
  });

  test('takes a table from the native schema, and gives it up with validator and indexes but without data', async () => {
    const tenant = new TenantDeployments();
    const native = {
      table: 'items',
      fields: [{name: 's', field_type: 'string' as const, required: true}],
      indexes: [{name: 'native', fields: ['s']}],
    };
    await tenant.insert('items', {n: 1, s: 'x'});
    await tenant.schemas.put('items', native);
    await tenant.deploySchema(schema(table('items', {n: NUMBER, s: STRING}, ['n'])));
    expect(tenant.indexes('items')).toEqual(['by_n: n (enabled)']);
    await expect(tenant.schemas.put('items', native)).rejects.toMatchObject({code: 'op.conflict'});
    await expect(tenant.schemas.delete('items')).rejects.toMatchObject({code: 'op.conflict'});

    await tenant.deploySchema(schema());
    expect(tenant.indexes('items')).toEqual([]);
    await tenant.insert('items', {anything: true});
    expect(tenant.count('SELECT count(*) FROM documents')).toBe(2);
    await tenant.schemas.put('other', {...native, table: 'other'});
  });

  test('shows natively as fields, any where no native type says it', async () => {
    const tenant = new TenantDeployments();
    const fields: Record<string, ValidatorJson> = {
      a: {type: 'id', tableName: 'items'},
      b: {type: 'union', value: [NUMBER, {type: 'null'}]},
      c: {type: 'array', value: NUMBER},
      d: {type: 'literal', value: 'x'},
    };
    await tenant.deploySchema(schema(table('items', fields)));
    const {tables} = JSON.parse(allSchemasText(tenant.catalog)) as {tables: Record<string, {fields: object[]}>};
    expect(tables.items!.fields).toEqual([
      {name: 'a', field_type: 'string', required: true},
      {name: 'b', field_type: 'any', required: true},
      {name: 'c', field_type: 'array', required: true},
      {name: 'd', field_type: 'any', required: true},
    ]);
  });
});

describe('the indexes of a deployment', () => {
  test('are complete when it goes live, with what was written meanwhile', async () => {
    const tenant = new TenantDeployments();
    await tenant.insertAll('items', numbered(MANY));
    const deployed = tenant.deploySchema(schema(table('items', {n: NUMBER}, ['n'])));
    await until(() => tenant.indexes('items').includes('by_n: n (building)'));
    expect(tenant.deployments.active).toBeNull();
    await tenant.insert('items', {n: -1});
    expect(await deployed).toMatchObject({active: true});
    expect(tenant.indexes('items')).toEqual(['by_n: n (enabled)']);
    expect(tenant.entries('items', 'by_n')).toBe(MANY + 1);
  });

  test('go again when a document written meanwhile violates the schema', async () => {
    const tenant = new TenantDeployments();
    await tenant.insertAll('items', numbered(MANY));
    const deployed = errorsOf(tenant.deploySchema(schema(table('items', {n: NUMBER}, ['n']))));
    await until(() => tenant.indexes('items').length > 0);
    await tenant.insert('items', {n: 'text'});
    const [refused] = await deployed;
    expect(refused!.message).toContain('New document in table "items" does not match the schema: ');
    expect(tenant.indexes('items')).toEqual([]);
    expect(tenant.deployments.active).toBeNull();
    await until(() => tenant.count('SELECT count(*) FROM index_entries') === 0);
  });

  test('go again when the process ends before they are complete', async () => {
    const tenant = new TenantDeployments();
    await tenant.insertAll('items', numbered(MANY));
    const deployed = tenant.deploySchema(schema(table('items', {n: NUMBER}, ['n'])));
    await until(() => tenant.indexes('items').length > 0);
    const next = await tenant.killed();
    expect(next.indexes('items')).toEqual([]);
    await until(() => next.count('SELECT count(*) FROM index_entries') === 0);
    await deployed;

    const afterwards = await tenant.killed();
    expect(afterwards.indexes('items')).toEqual(['by_n: n (enabled)']);
    expect(afterwards.entries('items', 'by_n')).toBe(MANY);
  });

  test('of one name and other fields replace each other in the write that activates', async () => {
    const tenant = new TenantDeployments();
    await tenant.insertAll('items', [{a: 1, b: 2}]);
    const withIndex = (field: string) =>
      schema({...table('items', {a: NUMBER, b: NUMBER}), indexes: [{name: 'mine', fields: [field]}]});
    await tenant.deploySchema(withIndex('a'));
    await tenant.deploySchema(withIndex('b'));
    expect(tenant.indexes('items')).toEqual(['mine: b (enabled)']);
    await tenant.deployments.activate('1');
    expect(tenant.indexes('items')).toEqual(['mine: a (enabled)']);
  });

  test('cannot be made when a value is too long for one', async () => {
    const tenant = new TenantDeployments();
    const id = await tenant.insert('items', {s: 'x'.repeat(10_000)});
    const [refused] = await errorsOf(tenant.deploySchema(schema(table('items', {s: STRING}, ['s']))));
    expect(refused!.message).toContain(`Document with ID "${id}"`);
    expect(refused!.message).toContain('by_s');
  });
});

describe('documents are not checked again', () => {
  test('when the validator of their table is the one they fitted', async () => {
    const tenant = new TenantDeployments();
    await tenant.deploySchema(schema(table('items', {n: NUMBER})));
    await tenant.insert('items', {n: 1});
    // A document no write would have let in shows whether anybody looks.
    await tenant.groups.perform(writer =>
      writer.db.exec(`UPDATE documents SET body = '{"n":"text"}', checksum = NULL`),
    );
    expect(await tenant.deploySchema(schema(table('items', {n: NUMBER})))).toMatchObject({active: true});
    const [refused] = await errorsOf(tenant.deploySchema(schema(table('items', {n: STRING, m: NUMBER}))));
    expect(refused!.message).toContain('does not match the schema');
  });
});
