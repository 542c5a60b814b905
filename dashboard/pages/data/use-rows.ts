/** The rows of a table as React state, and the figures around them: first and last creation time, and the count. */
import {keepPreviousData, useQuery} from '@tanstack/react-query';
import {useEffect, useMemo, useSyncExternalStore} from 'react';
import type {Explained, FilterClause} from '../../../shared/protocol/queries.ts';
import {call} from '../../api/client.ts';
import {onReconnect} from '../../api/connection.ts';
import {liveClient} from './live-client.ts';
import {BY_CREATION, type Doc, type RowOrder} from './row-order.ts';
import {RowSource, type RowState} from './row-source.ts';

export function useRows(
  tenant: string,
  table: string,
  filters: readonly FilterClause[],
  order: RowOrder,
  onLiveError: (error: unknown) => void,
): {source: RowSource; state: RowState} {
  const source = useMemo(
    () =>
      new RowSource(
        {table, filters, order},
        {
          read: async (body, signal) => {
            const {data, explain = null} = await call('query.run', {tenant, body}, {signal});
            return {data: data as unknown as Doc[], explain: explain as Explained | null};
          },
          live: ({table: name, ...query}, onResult) =>
            liveClient(tenant).live(name, query as never, docs => onResult(docs as unknown as Doc[]), {
              onError: onLiveError,
            }),
        },
      ),
    [tenant, table, filters, order, onLiveError],
  );
  useEffect(() => {
    source.jumpTo(null);
    const forget = onReconnect(() => source.retry());
    return () => {
      forget();
      source.stop();
    };
  }, [source]);
  return {source, state: useSyncExternalStore(source.subscribe, source.state)};
}

export type Bounds = {readonly first: number; readonly last: number} | null;

/** Creation times of the oldest and the newest document that match; null: there is none. */
export function useBounds(tenant: string, table: string, filters: readonly FilterClause[]): Bounds | undefined {
  const {data} = useQuery({
    queryKey: ['query.batch', {tenant}, 'bounds', table, filters],
    queryFn: async ({signal}) => {
      const one = (direction: 'asc' | 'desc') => ({
        table,
        filters: [...filters],
        order: {field: BY_CREATION, direction},
        limit: 1,
        select: [BY_CREATION],
      });
      const {results} = await call('query.batch', {tenant, body: {queries: [one('asc'), one('desc')]}}, {signal});
      const [first, last] = results.map(result => ('data' in result ? result.data[0]?._creationTime : undefined));
      return first === undefined || last === undefined ? null : {first, last};
    },
    refetchInterval: BOUNDS_MS,
    placeholderData: keepPreviousData,
  });
  return data;
}

const BOUNDS_MS = 10_000;

/** Number of documents that match; undefined while it is counted. */
export function useCount(tenant: string, table: string, filters: readonly FilterClause[]) {
  return useQuery({
    queryKey: ['query.count', {tenant}, table, filters],
    queryFn: async ({signal}) =>
      (await call('query.count', {tenant, body: {table, filters: [...filters]}}, {signal})).count,
    refetchInterval: BOUNDS_MS,
  });
}
