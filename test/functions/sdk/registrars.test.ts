import {afterEach, describe, expect, test, vi} from 'vitest';
import * as server from '../../../sdk/server/index.ts';
import {
  actionGeneric,
  anyApi,
  defineSchema,
  defineTable,
  getFunctionName,
  httpActionGeneric,
  internalMutationGeneric,
  internalPaginatedQueryGeneric,
  makeFunctionReference,
  mutationGeneric,
  paginatedQueryGeneric,
  paginationOptsValidator,
  queryGeneric,
} from '../../../sdk/server/index.ts';
import {v} from '../../../sdk/values/index.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('a registered function', () => {
  test('carries its kind, its visibility and its validators', () => {
    const list = queryGeneric({args: {a: v.string()}, returns: v.null(), handler: () => null});
    expect([list.isSvcFunction, list.kind, list.visibility]).toEqual([true, 'query', 'public']);
    expect(JSON.parse(list.exportArgs())).toEqual(v.object({a: v.string()}).json);
    expect(JSON.parse(list.exportReturns())).toEqual({type: 'null'});
  });
  test('without validators has none', () => {
    const bare = mutationGeneric(() => 1);
    expect([bare.exportArgs(), bare.exportReturns()]).toEqual(['null', 'null']);
  });
  test.each([
    [mutationGeneric(() => 1), 'mutation', 'public'],
    [internalMutationGeneric(() => 1), 'mutation', 'internal'],
    [actionGeneric(() => 1), 'action', 'public'],
    [httpActionGeneric(async () => new Response()), 'httpAction', 'public'],
    [internalPaginatedQueryGeneric(() => ({page: [], isDone: true, continueCursor: ''})), 'paginatedQuery', 'internal'],
  ])('%#: kind and visibility', (registered, kind, visibility) =>
    expect([registered.kind, registered.visibility]).toEqual([kind, visibility]),
  );

  test('called directly works and warns', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const double = queryGeneric((_ctx, {x}: {x: number}) => x * 2);
    expect(double({} as never, {x: 4})).toBe(8);
    expect(warn.mock.calls[0]![0]).toContain('should not directly call');
  });
  test('in a browser complains and works', () => {
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => {});
    vi.stubGlobal('window', {});
    expect(queryGeneric(() => 1).kind).toBe('query');
    expect(complaint.mock.calls[0]![0]).toContain('should not be imported in the browser');
  });

  const register = queryGeneric as unknown as (definition: unknown) => unknown;
  test.each<[string, unknown, RegExp]>([
    ['no definition', undefined, /handler is required/],
    ['no handler', {args: {}}, /handler is required/],
    ['arguments that are no object', {args: v.string(), handler: () => 1}, /Args validator must be an object or any/],
    ['arguments in an array', {args: [], handler: () => 1}, /Args validator must be an object or any/],
    ['a result in an array', {returns: [], handler: () => 1}, /Returns validator must be a validator/],
    ['arguments of no validator', {args: 5, handler: () => 1}, /Args validator/],
    ['a field of no validator', {args: {a: 1}, handler: () => 1}, /field 'a' is not a validator/],
  ])('%s: refused where it is made', (_, definition, message) => expect(() => register(definition)).toThrow(message));

  test('any is allowed for arguments', () =>
    expect(JSON.parse(queryGeneric({args: v.any(), handler: () => 1}).exportArgs())).toEqual({type: 'any'}));
});

describe('a paginated query', () => {
  const empty = {page: [], isDone: true, continueCursor: ''};
  test('has paginationOpts beside its own arguments', () => {
    const page = paginatedQueryGeneric({args: {a: v.string()}, handler: () => empty});
    expect(JSON.parse(page.exportArgs())).toEqual(
      v.object({a: v.string(), paginationOpts: paginationOptsValidator}).json,
    );
  });
  test("keeps the author's own paginationOpts, if it is an object", () => {
    const own = v.object({numItems: v.number(), cursor: v.any()});
    const page = paginatedQueryGeneric({args: {paginationOpts: own}, handler: () => empty});
    expect(JSON.parse(page.exportArgs())).toEqual(v.object({paginationOpts: own}).json);
    expect(() => paginatedQueryGeneric({args: {paginationOpts: v.string()}, handler: () => empty} as never)).toThrow(
      'paginationOpts must have an object validator',
    );
  });
  test('declares nothing where its author did not; the platform looks at its paginationOpts', () => {
    expect(paginatedQueryGeneric(() => empty).exportArgs()).toBe('null');
  });
});

describe('references', () => {
  test('name their function', () => {
    expect(getFunctionName(anyApi.messages!.list!)).toBe('messages:list');
    expect(getFunctionName(anyApi.a!.b!.c!)).toBe('a/b:c');
    expect(getFunctionName(anyApi.a!.b!.default!)).toBe('a/b');
    expect(getFunctionName(makeFunctionReference<'query'>('a/b:c'))).toBe('a/b:c');
    expect(getFunctionName('a:b')).toBe('a:b');
    expect((anyApi.a!.b as unknown as {[name: symbol]: unknown})[Symbol.for('svc.functionName')]).toBe('a:b');
  });
  test('of one part are none', () =>
    expect(() => getFunctionName(anyApi.a as never)).toThrow(
      'API path is expected to be of the form api.moduleName.functionName',
    ));
  test.each([[queryGeneric(() => 1)], [{}], [undefined], [null], [5]])('%o is not one', thing =>
    expect(() => getFunctionName(thing as never)).toThrow('is not a functionReference'),
  );
});

describe('a schema', () => {
  test('is data: tables with validators and indexes', () => {
    const schema = defineSchema(
      {t: defineTable({a: v.string(), b: v.number()}).index('by_a', ['a']).index('by_b_a', ['b', 'a'])},
      {schemaValidation: false},
    );
    expect(schema.isSvcSchema).toBe(true);
    expect(JSON.parse(schema.export())).toEqual({
      tables: [
        {
          name: 't',
          document: v.object({a: v.string(), b: v.number()}).json,
          indexes: [
            {name: 'by_a', fields: ['a']},
            {name: 'by_b_a', fields: ['b', 'a']},
          ],
        },
      ],
      schemaValidation: false,
    });
    expect(JSON.parse(defineSchema({}).export())).toEqual({tables: [], schemaValidation: true});
  });

  const define = defineTable as unknown as (fields: unknown) => Record<string, (...args: unknown[]) => unknown>;
  test.each<[string, () => unknown, string]>([
    ['a union', () => define(v.union(v.object({}))), 'defineTable(v.union(…)) is not supported'],
    ['any', () => define(v.any()), 'defineTable(v.any(…)) is not supported'],
    ['a declared system field', () => define({_updateTime: v.number()}), "'_updateTime' is a system field"],
    ['a search index', () => define({}).searchIndex!('s', {}), 'searchIndex is not supported'],
    ['a vector index', () => define({}).vectorIndex!('s', {}), 'vectorIndex is not supported'],
    ['an index without fields', () => define({}).index!('s'), 'array of strings'],
    ['an index without a name', () => define({}).index!(5, ['a']), 'name must be a string'],
    ['a table of something else', () => defineSchema({t: {} as never}), "table 't' must be made with defineTable"],
    ['[12] v.int64', () => define({a: (v as unknown as {int64(): unknown}).int64()}), 'v.int64() is not supported'],
    ['crons', () => server.cronJobs(), 'cronJobs is not supported'],
  ])('%s fails by name', (_, make, message) => expect(make).toThrow(message));
});
