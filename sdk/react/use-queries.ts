/** The hook `useQueries`, for any number of queries at once. */
import {useMemo} from 'react';
import type {DefaultFunctionArgs, FunctionReference, FunctionReturnType} from '../server/function-reference.ts';
import {useClient} from './context.ts';
import {useResults} from './use-results.ts';

export type RequestForQueries = Record<string, {query: FunctionReference<'query'>; args: DefaultFunctionArgs}>;

/** Results by the same keys. Undefined: not loaded yet. An error is returned, not thrown as by `useQuery`. */
export type ResultsOfQueries<Requests extends RequestForQueries> = {
  [Key in keyof Requests]: FunctionReturnType<Requests[Key]['query']> | undefined | Error;
};

/**
 * Shows a variable number of queries. All their results are of one version of the data.
 *
 *     const byId = useQueries(Object.fromEntries(ids.map(id => [id, {query: api.users.get, args: {id}}])));
 *
 * @returns the same object until one of the results or keys changes
 */
export function useQueries<Requests extends RequestForQueries>(queries: Requests): ResultsOfQueries<Requests> {
  const {store} = useClient('useQueries');
  const keys = Object.keys(queries);
  const results = useResults(
    store,
    keys.map(key => store.query(queries[key]!.query, queries[key]!.args)),
  );
  const named = JSON.stringify(keys);
  // biome-ignore lint/correctness/useExhaustiveDependencies: equal names are equal keys.
  return useMemo(() => {
    const values = keys.map((key, index) => {
      const result = results[index];
      return [key, result?.ok === false ? result.error : result?.value];
    });
    return Object.fromEntries(values) as ResultsOfQueries<Requests>;
  }, [named, results]);
}
