/** Handlers of the list of live queries. */
import {wireType} from '../../../engine/wire-type.ts';
import type {Operation} from '../../../shared/operations.ts';
import {LiveListQuery} from '../../../shared/protocol/live-list.ts';
import {type Handlers, json} from './answer.ts';
import {decodeQuery} from './query-string.ts';

const listQuery = wireType(LiveListQuery);

export const live: Handlers<Extract<Operation, `live_queries.${string}`>> = {
  'live_queries.list': async ({query}, {liveList}) =>
    json<'live_queries.list'>(await liveList.page(decodeQuery(listQuery, query))),
  'live_queries.get': async ({params}, {liveList}) =>
    json<'live_queries.get'>(await liveList.find(params.live_query_id)),
};
