/** Operations as queries and mutations of TanStack Query: one cache for all pages, keyed by operation and input. */
import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import type {SuccessOf} from '../../shared/operation-types.ts';
import {CACHE_MS_MAX, FRESH_MS} from '../limits.ts';
import {type AnyOperation, type CallOptions, call, type Input} from './client.ts';
import {onReconnect} from './connection.ts';
import {ApiFailure} from './failure.ts';
import {SESSION_KEY} from './session.ts';

/** Requests are not repeated by themselves: a refusal stays one, and a lost connection is tried in one place. */
export function makeQueryClient(): QueryClient {
  const client = new QueryClient({
    queryCache: new QueryCache({onError: endSession}),
    mutationCache: new MutationCache({onError: endSession}),
    defaultOptions: {
      queries: {staleTime: FRESH_MS, gcTime: CACHE_MS_MAX, retry: false, networkMode: 'always'},
      mutations: {retry: false, networkMode: 'always'},
    },
  });
  function endSession(error: Error): void {
    if (error instanceof ApiFailure && error.code === 'auth.unauthorized') client.setQueryData(SESSION_KEY, null);
  }
  onReconnect(() => void client.invalidateQueries());
  return client;
}

export type OperationOptions = {
  /** Milliseconds between requests while the page is visible; absent: only when the page opens or something changes. */
  readonly every?: number;
  readonly enabled?: boolean;
  /** While the input changes, the answer before it is shown. */
  readonly keep?: boolean;
  /** Its answer is of use only to the view that requested it: the next one requests it again. */
  readonly isOnce?: boolean;
};

/** Its own type does not fit an answer whose type depends on the operation. */
const keepPrevious: object = {placeholderData: keepPreviousData};

export function useOperation<O extends AnyOperation>(
  operation: O,
  input: Input<O>,
  {every, enabled = true, keep = false, isOnce = false}: OperationOptions = {},
): UseQueryResult<SuccessOf<O>> {
  return useQuery<SuccessOf<O>>({
    queryKey: [operation, input],
    queryFn: ({signal}) => call(operation, input, {signal}),
    enabled,
    ...(every === undefined ? {} : {refetchInterval: every}),
    ...(keep ? keepPrevious : {}),
    ...(isOnce ? {gcTime: 0} : {}),
  });
}

/** A change. Afterwards the answers of the operations in `refresh` are requested again. */
export function useChange<O extends AnyOperation>(
  operation: O,
  refresh: readonly AnyOperation[],
  options: Pick<CallOptions, 'timeoutMs'> = {},
) {
  const client = useQueryClient();
  return useMutation<SuccessOf<O>, Error, Input<O>>({
    mutationFn: input => call(operation, input, options),
    onSettled: () =>
      client.invalidateQueries({predicate: ({queryKey}) => refresh.includes(queryKey[0] as AnyOperation)}),
  });
}
