/** The hook `useQuery`, which returns the result of one query and keeps it current. */
import type {EmptyObject, FunctionReference, FunctionReturnType} from '../server/function-reference.ts';
import {useClient} from './context.ts';
import {useResults} from './use-results.ts';

/** A query's arguments in a hook; `"skip"` sends nothing. They can be omitted when the function requires none. */
export type OptionalRestArgsOrSkip<Query extends FunctionReference<'query' | 'paginatedQuery'>> =
  Query['_args'] extends EmptyObject ? [args?: EmptyObject | 'skip'] : [args: Query['_args'] | 'skip'];

/**
 * Shows a query and renders again whenever its result changes.
 *
 *     const messages = useQuery(api.messages.list, {channel});
 *     if (messages === undefined) return <Loading />;
 *
 * @returns the result, or undefined while it is not loaded or with `"skip"`. The same object until the result changes
 * @throws Error while rendering, when the query failed; an error boundary can show it
 */
export function useQuery<Query extends FunctionReference<'query'>>(
  query: Query,
  ...args: OptionalRestArgsOrSkip<Query>
): FunctionReturnType<Query> | undefined {
  const {store} = useClient('useQuery');
  const [given] = args;
  const [result] = useResults(store, given === 'skip' ? [] : [store.query(query, given)]);
  if (result === undefined) return undefined;
  if (!result.ok) throw result.error;
  return result.value as FunctionReturnType<Query>;
}
