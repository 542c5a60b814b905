/** The types of `svc/react`, held by `tsc`. Nothing here runs: hooks are for components. */
import {describe, expectTypeOf, test} from 'vitest';
import {
  type LoadedPages,
  type OptimisticLocalStore,
  type PaginatedQueryArgs,
  type PaginatedQueryItem,
  type ReactAction,
  type ReactMutation,
  SvcReactClient,
  type UsePaginatedQueryResult,
  type UsePaginatedQueryReturnType,
  useAction,
  useMutation,
  usePaginatedQuery,
  useQueries,
  useQuery,
  useSvc,
} from '../../sdk/react/index.ts';
import type {ApiFromModules, FilterApi, FunctionReference} from '../../sdk/server/index.ts';
import {anyApi} from '../../sdk/server/index.ts';
import {type GenericId, v} from '../../sdk/values/index.ts';
import {action, mutation, paginatedQuery, query} from '../functions/sdk/sample-app.ts';

const messages = {
  list: query({
    args: {author: v.id('users'), limit: v.optional(v.number())},
    returns: v.array(v.string()),
    handler: () => [''],
  }),
  count: query({args: {}, returns: v.number(), handler: () => 5}),
  send: mutation({args: {body: v.string()}, returns: v.null(), handler: () => null}),
  clear: mutation({args: {}, returns: v.number(), handler: () => 1}),
  ask: action({args: {question: v.string()}, returns: v.string(), handler: async () => ''}),
  page: paginatedQuery({
    args: {author: v.id('users')},
    handler: async (ctx, args) => {
      const result = await ctx.db.query('messages').paginate(args.paginationOpts);
      return {...result, page: result.page.map(message => message.body)};
    },
  }),
  all: paginatedQuery({args: {}, handler: (ctx, args) => ctx.db.query('messages').paginate(args.paginationOpts)}),
};
type Api = FilterApi<ApiFromModules<{messages: typeof messages}>, FunctionReference<'query', 'public'>> &
  ApiFromModules<{messages: typeof messages}>;
declare const api: Api;
declare const author: GenericId<'users'>;

/** Type-checked, never run. */
const held = (_component: () => unknown) => {};

describe('useQuery', () => {
  test('infers the result, and that it may not be there', () => {
    held(() => {
      expectTypeOf(useQuery(api.messages.list, {author})).toEqualTypeOf<string[] | undefined>();
      expectTypeOf(useQuery(api.messages.list, {author, limit: 3})).toEqualTypeOf<string[] | undefined>();
      expectTypeOf(useQuery(api.messages.count)).toEqualTypeOf<number | undefined>();
      expectTypeOf(useQuery(api.messages.count, {})).toEqualTypeOf<number | undefined>();
      expectTypeOf(useQuery(api.messages.list, 'skip')).toEqualTypeOf<string[] | undefined>();
      expectTypeOf(useQuery(api.messages.count, 'skip')).toEqualTypeOf<number | undefined>();
      expectTypeOf(useQuery(api.messages.list, Math.random() < 1 ? {author} : 'skip')).toEqualTypeOf<
        string[] | undefined
      >();
      useQuery(anyApi.messages!.list!, {anything: 1});
    });
  });
  test('wants the arguments', () => {
    held(() => {
      // @ts-expect-error they are missing
      useQuery(api.messages.list);
      // @ts-expect-error of another type
      useQuery(api.messages.list, {author: 5});
      // @ts-expect-error one too many
      useQuery(api.messages.count, {more: 1});
      // @ts-expect-error no such word
      useQuery(api.messages.count, 'skipped');
    });
  });
  test('wants a query', () => {
    held(() => {
      // @ts-expect-error a mutation
      useQuery(api.messages.send, {body: ''});
      // @ts-expect-error a paginated query
      useQuery(api.messages.page, {author, paginationOpts: {numItems: 1, cursor: null}});
      // @ts-expect-error a registered function is no reference
      useQuery(messages.count);
    });
  });
});

test('useQueries has a value, nothing yet, or an error for each key', () => {
  held(() => {
    const results = useQueries({
      list: {query: api.messages.list, args: {author}},
      count: {query: api.messages.count, args: {}},
    });
    expectTypeOf(results.list).toEqualTypeOf<string[] | undefined | Error>();
    expectTypeOf(results.count).toEqualTypeOf<number | undefined | Error>();
    const requests = Object.fromEntries([author].map(id => [id, {query: api.messages.list, args: {author: id}}]));
    expectTypeOf(useQueries(requests)[author]).toEqualTypeOf<string[] | undefined | Error>();
  });
});

describe('useMutation and useAction', () => {
  test('infer arguments and result', () => {
    held(() => {
      const send = useMutation(api.messages.send);
      expectTypeOf(send).toEqualTypeOf<ReactMutation<typeof api.messages.send>>();
      expectTypeOf(send({body: ''})).toEqualTypeOf<Promise<null>>();
      expectTypeOf(useMutation(api.messages.clear)()).toEqualTypeOf<Promise<number>>();
      const ask = useAction(api.messages.ask);
      expectTypeOf(ask).toEqualTypeOf<ReactAction<typeof api.messages.ask>>();
      expectTypeOf(ask({question: ''})).toEqualTypeOf<Promise<string>>();
      // @ts-expect-error they are missing
      send();
      // @ts-expect-error of another type
      send({body: 5});
      // @ts-expect-error an action
      useMutation(api.messages.ask);
      // @ts-expect-error a mutation
      useAction(api.messages.send);
    });
  });
  test('an optimistic update knows its arguments and what queries hold, and is synchronous', () => {
    held(() => {
      const send = useMutation(api.messages.send);
      const optimistic = send.withOptimisticUpdate((store, args) => {
        expectTypeOf(store).toEqualTypeOf<OptimisticLocalStore>();
        expectTypeOf(args).toEqualTypeOf<{body: string}>();
        expectTypeOf(store.getQuery(api.messages.list, {author})).toEqualTypeOf<string[] | undefined>();
        store.setQuery(api.messages.count, {}, 6);
        // @ts-expect-error of another type
        store.setQuery(api.messages.count, {}, 'six');
      });
      expectTypeOf(optimistic({body: ''})).toEqualTypeOf<Promise<null>>();
      // @ts-expect-error it would be dropped before it does anything
      send.withOptimisticUpdate(async () => {});
    });
  });
});

describe('usePaginatedQuery', () => {
  test('infers what is in the pages, and takes no paginationOpts', () => {
    held(() => {
      const list = usePaginatedQuery(api.messages.page, {author}, {initialNumItems: 5});
      expectTypeOf(list).toEqualTypeOf<UsePaginatedQueryReturnType<typeof api.messages.page>>();
      expectTypeOf(list).toEqualTypeOf<UsePaginatedQueryResult<string>>();
      expectTypeOf(list.results).toEqualTypeOf<string[]>();
      expectTypeOf<PaginatedQueryArgs<typeof api.messages.page>>().toEqualTypeOf<{author: GenericId<'users'>}>();
      expectTypeOf<PaginatedQueryItem<typeof api.messages.page>>().toEqualTypeOf<string>();
      expectTypeOf(
        usePaginatedQuery(api.messages.all, {}, {initialNumItems: 5}).results[0]!.body,
      ).toEqualTypeOf<string>();
      usePaginatedQuery(api.messages.page, 'skip', {initialNumItems: 5});
      if (list.isLoading) expectTypeOf(list.status).toEqualTypeOf<'LoadingFirstPage' | 'LoadingMore'>();
      // @ts-expect-error they are missing
      usePaginatedQuery(api.messages.page, {}, {initialNumItems: 5});
      // @ts-expect-error how many?
      usePaginatedQuery(api.messages.page, {author});
      // @ts-expect-error the hook fills them in
      usePaginatedQuery(api.messages.page, {author, paginationOpts: {numItems: 1, cursor: null}}, {initialNumItems: 5});
    });
  });
  test('is for functions registered with paginatedQuery', () => {
    held(() => {
      // @ts-expect-error a plain query
      usePaginatedQuery(api.messages.list, {author}, {initialNumItems: 5});
    });
  });
});

test('SvcReactClient infers as the hooks do', () => {
  held(async () => {
    const client = useSvc();
    expectTypeOf(client).toEqualTypeOf<SvcReactClient>();
    expectTypeOf(client.query(api.messages.list, {author})).toEqualTypeOf<Promise<string[]>>();
    expectTypeOf(client.query(api.messages.count)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(client.watchQuery(api.messages.count).localQueryResult()).toEqualTypeOf<number | undefined>();
    const watched = client.watchPaginatedQuery(api.messages.page, {author}, {initialNumItems: 5});
    expectTypeOf(watched.localQueryResult()).toEqualTypeOf<LoadedPages<string> | undefined>();
    // @ts-expect-error they are missing
    client.watchPaginatedQuery(api.messages.page, {}, {initialNumItems: 5});
    client.mutation(
      api.messages.send,
      {body: ''},
      {optimisticUpdate: (store, {body}) => store.setQuery(api.messages.count, {}, body.length)},
    );
    expectTypeOf(client.action(api.messages.ask, {question: ''})).toEqualTypeOf<Promise<string>>();
    // @ts-expect-error it is fetched anew when it ends
    client.setAuth('token');
    // @ts-expect-error an address is a text
    new SvcReactClient(5);
  });
});
