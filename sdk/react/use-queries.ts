/** `useQueries`: any number of queries in one hook. */
import {useMemo} from 'react';
import type {DefaultFunctionArgs, FunctionReference, FunctionReturnType} from '../server/function-reference.ts';
import {useClient} from './context.ts';
import {useResults} from './use-results.ts';

export type RequestForQueries = Record<string, {query: FunctionReference<'query'>; args: DefaultFunctionArgs}>;

/** By the same keys. An error is returned, and not thrown as by `useQuery`; undefined: not there yet. */
export type ResultsOfQueries<Requests extends RequestForQueries> = {
  [Key in keyof Requests]: FunctionReturnType<Requests[Key]['query']> | undefined | Error;
};

/**
 * Shows queries whose number is not known when the component is written; all their results are of one moment.
 *
 *     const byId = useQueries(Object.fromEntries(ids.map(id => [id, {query: api.users.get, args: {id}}])));
 *
 * @returns the same object until one of the results, or one of the keys, is another one
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
