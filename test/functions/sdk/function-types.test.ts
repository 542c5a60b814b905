/** The types of registrars, references and the API, held by `tsc`. */
import {describe, expect, expectTypeOf, test} from 'vitest';
import * as server from '../../../sdk/server/index.ts';
import {
  type ApiFromModules,
  anyApi,
  type FilterApi,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type GenericActionCtx,
  httpActionGeneric,
  internalMutationGeneric,
  makeFunctionReference,
  type OptionalRestArgs,
  type PaginationOptions,
  type PaginationResult,
} from '../../../sdk/server/index.ts';
import * as values from '../../../sdk/values/index.ts';
import {type GenericId, type Infer, v} from '../../../sdk/values/index.ts';
import {api as calling} from './calling-app/api.ts';
import {action, type DataModel, mutation, paginatedQuery, query} from './sample-app.ts';

const messages = {
  list: query({
    args: {author: v.id('users'), limit: v.optional(v.number())},
    handler: (ctx, args) => {
      expectTypeOf(args).toEqualTypeOf<{author: GenericId<'users'>; limit?: number}>();
      return ctx.db
        .query('messages')
        .withIndex('by_author', q => q.eq('author', args.author))
        .take(args.limit ?? 10);
    },
  }),
  count: query({args: {}, returns: v.number(), handler: async () => 5}),
  send: mutation({
    args: v.object({body: v.string()}),
    returns: v.null(),
    handler: async (ctx, {body}) => {
      expectTypeOf(body).toEqualTypeOf<string>();
      await ctx.scheduler.runAfter(0, makeFunctionReference<'mutation'>('messages:send'), {body});
    },
  }),
  bare: query((_ctx, args: {x: number}) => args.x),
  none: query(() => 'text'),
  ping: action({args: {}, handler: async () => undefined}),
  page: paginatedQuery({
    args: {author: v.id('users')},
    handler: async (ctx, args) => {
      expectTypeOf(args).toEqualTypeOf<{author: GenericId<'users'>; paginationOpts: PaginationOptions}>();
      const result = await ctx.db.query('messages').paginate(args.paginationOpts);
      return {...result, page: result.page.map(message => message.body)};
    },
  }),
  barePage: paginatedQuery((ctx, args) => ctx.db.query('messages').paginate(args.paginationOpts)),
  hidden: internalMutationGeneric({args: {}, handler: async () => 1}),
  helper: () => 1,
  CONSTANT: 5,
};
const router = {default: server.httpRouter()};

type Api = ApiFromModules<{
  messages: typeof messages;
  'a/b/deep': {default: typeof messages.count};
  a: {top: typeof messages.none};
  http: typeof router;
}>;
type Public = FilterApi<Api, FunctionReference<'query' | 'paginatedQuery' | 'mutation' | 'action', 'public'>>;
type Internal = FilterApi<Api, FunctionReference<'query' | 'paginatedQuery' | 'mutation' | 'action', 'internal'>>;

describe('the api', () => {
  test('has the public functions', () => {
    expectTypeOf<keyof Public & string>().toEqualTypeOf<'messages' | 'a' | 'http'>();
    expectTypeOf<keyof Public['http']>().toEqualTypeOf<never>();
    expectTypeOf<keyof Public['messages']>().toEqualTypeOf<
      'list' | 'count' | 'send' | 'bare' | 'none' | 'ping' | 'page' | 'barePage'
    >();
    expectTypeOf<keyof Internal['messages']>().toEqualTypeOf<'hidden'>();
    expectTypeOf<keyof Internal['a']['b']['deep']>().toEqualTypeOf<never>();
  });
  test('has no HTTP actions: those are reached through routes', () => {
    expectTypeOf<keyof typeof calling.numbers>().toEqualTypeOf<'one'>();
    (ctx: GenericActionCtx<DataModel>) => {
      // @ts-expect-error
      ctx.runQuery(calling.numbers.page, {});
      // @ts-expect-error
      ctx.scheduler.runAfter(0, calling.numbers.page, {});
    };
  });
  test('of part of it can be filtered, too', () => {
    type Queries = FilterApi<Public['messages'], FunctionReference<'query'>>;
    expectTypeOf<keyof Queries>().toEqualTypeOf<'list' | 'count' | 'bare' | 'none'>();
    expectTypeOf<keyof FilterApi<Public, FunctionReference<'action'>>['messages']>().toEqualTypeOf<'ping'>();
    expectTypeOf<keyof FilterApi<Public['a'], FunctionReference<'query'>>>().toEqualTypeOf<'top' | 'b'>();
  });
  test('lets functions of different modules call each other with the return types that the compiler finds', () => {
    expectTypeOf<FunctionReturnType<typeof calling.callers.sum>>().toEqualTypeOf<number>();
    expectTypeOf<FunctionReturnType<typeof calling.callers.text>>().toEqualTypeOf<string>();
    expectTypeOf<FunctionReturnType<typeof calling.own.sum>>().toEqualTypeOf<number>();
    expectTypeOf<keyof typeof calling.helpers>().toEqualTypeOf<never>();
  });
  test('has folders, and modules of the same name', () => {
    expectTypeOf<Public['a']['top']>().toExtend<FunctionReference<'query'>>();
    expectTypeOf<Public['a']['b']['deep']['default']>().toExtend<FunctionReference<'query'>>();
  });
  test('knows arguments and results', () => {
    type List = Public['messages']['list'];
    expectTypeOf<FunctionArgs<List>>().toEqualTypeOf<{author: GenericId<'users'>; limit?: number}>();
    expectTypeOf<FunctionReturnType<List>[number]['body']>().toEqualTypeOf<string>();
    expectTypeOf<FunctionReturnType<Public['messages']['count']>>().toEqualTypeOf<number>();
    expectTypeOf<FunctionReturnType<Public['messages']['send']>>().toEqualTypeOf<null>();
    expectTypeOf<FunctionReturnType<Public['messages']['ping']>>().toEqualTypeOf<null>();
    expectTypeOf<FunctionArgs<Public['messages']['bare']>>().toEqualTypeOf<{x: number}>();
    expectTypeOf<FunctionReturnType<Public['messages']['page']>>().toExtend<PaginationResult<string>>();
    expectTypeOf<FunctionArgs<Public['messages']['page']>>().toEqualTypeOf<{
      author: GenericId<'users'>;
      paginationOpts: PaginationOptions;
    }>();
    expectTypeOf<Public['messages']['page']['_type']>().toEqualTypeOf<'paginatedQuery'>();
  });
  test('arguments may be left out when there are none', () => {
    expectTypeOf<OptionalRestArgs<Public['messages']['count']>>().toEqualTypeOf<[args?: Record<string, never>]>();
    expectTypeOf<OptionalRestArgs<Public['messages']['none']>>().toEqualTypeOf<[args?: Record<string, never>]>();
    expectTypeOf<OptionalRestArgs<Public['messages']['bare']>>().toEqualTypeOf<[args: {x: number}]>();
  });
});

describe('handlers', () => {
  test('must return what was declared', () => {
    query({args: {}, returns: v.union(v.string(), v.null()), handler: async () => {}});
    // @ts-expect-error
    query({args: {}, returns: v.number(), handler: () => 'text'});
    // @ts-expect-error
    query({args: {}, returns: {a: v.number()}, handler: () => ({a: 'text'})});
    // @ts-expect-error an array is not a page
    paginatedQuery({args: {}, handler: ctx => ctx.db.query('messages').collect()});
  });
  test('an action has no database', () => {
    action(async ctx => {
      // @ts-expect-error
      ctx.db;
      // @ts-expect-error
      ctx.storage;
      // @ts-expect-error
      ctx.vectorSearch;
    });
  });
  test('cross-calls take references of their kind', () => {
    ((_body: (ctx: GenericActionCtx<DataModel>, api: Public) => unknown) => {})(async (ctx, api) => {
      expectTypeOf(await ctx.runQuery(api.messages.count)).toEqualTypeOf<number>();
      expectTypeOf(await ctx.runMutation(api.messages.send, {body: 'x'})).toEqualTypeOf<null>();
      ctx.runQuery(anyApi.messages!.list!, {anything: 1});
      ctx.scheduler.runAfter(5, api.messages.send, {body: 'x'});
      // @ts-expect-error a mutation
      ctx.runQuery(api.messages.send, {body: 'x'});
      // @ts-expect-error arguments are missing
      ctx.runMutation(api.messages.send);
      // @ts-expect-error only mutations can be scheduled
      ctx.scheduler.runAfter(5, api.messages.ping);
      // @ts-expect-error a registered function is not a reference
      ctx.runQuery(messages.count);
    });
  });
  test('HTTP actions get a Request and return a Response', () => {
    httpActionGeneric(async (_ctx, request) => {
      expectTypeOf(request).toEqualTypeOf<Request>();
      return new Response(null);
    });
    // @ts-expect-error
    httpActionGeneric(async () => 'text');
  });
});

describe('the auth config', () => {
  test('has the two kinds of provider', () => {
    const config: server.AuthConfig = {
      providers: [
        {domain: 'https://issuer', applicationID: 'app'},
        {type: 'customJwt', issuer: 'i', jwks: 'https://j', algorithm: 'ES256'},
        // @ts-expect-error another algorithm
        {type: 'customJwt', issuer: 'i', jwks: 'https://j', algorithm: 'HS256'},
      ],
    };
    expect(config.providers.length).toBe(3);
  });
});

describe('validators', () => {
  test('infer exactly', () => {
    const all = v.object({
      a: v.string(),
      b: v.optional(v.number()),
      c: v.array(v.union(v.literal('x'), v.literal(5), v.null())),
      d: v.id('users'),
      e: v.optional(v.object({f: v.boolean()})),
    });
    expectTypeOf<Infer<typeof all>>().toEqualTypeOf<{
      a: string;
      b?: number;
      c: ('x' | 5 | null)[];
      d: GenericId<'users'>;
      e?: {f: boolean};
    }>();
    const picked = all.pick('a', 'b');
    expectTypeOf<Infer<typeof picked>>().toEqualTypeOf<{a: string; b?: number}>();
    const rest = all.omit('c', 'd', 'e').extend({a: v.number()});
    expectTypeOf<Infer<typeof rest>>().toEqualTypeOf<{a: number; b?: number}>();
    const partial = all.pick('a').partial();
    expectTypeOf<Infer<typeof partial>>().toEqualTypeOf<{a?: string}>();
    expectTypeOf<Infer<typeof server.paginationOptsValidator>>().toExtend<PaginationOptions>();
    expectTypeOf<PaginationOptions>().toExtend<Infer<typeof server.paginationOptsValidator>>();
  });
  test('optional is for fields', () => {
    // @ts-expect-error
    expect(() => v.array(v.optional(v.string()))).toThrow('optional');
    // @ts-expect-error
    expect(() => v.union(v.optional(v.string()))).toThrow('optional');
  });
  test('what is not supported does not exist', () => {
    const types = [
      // @ts-expect-error
      v.int64,
      // @ts-expect-error
      v.bigint,
      // @ts-expect-error
      v.bytes,
      // @ts-expect-error
      v.record,
      // @ts-expect-error
      v.float64,
      // @ts-expect-error
      v.nullable,
      // @ts-expect-error
      v.commitTs,
      // @ts-expect-error
      values.SvcError,
      // @ts-expect-error
      server.defineTable({}).searchIndex,
      // @ts-expect-error
      server.defineTable({}).vectorIndex,
    ];
    expect(types.length).toBe(10);
  });
});
