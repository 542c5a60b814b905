/** Wire types of the list of live queries. GET /api/tenants/{tenant_id}/live-queries… */
import Type, {type Static} from 'typebox';
import {LiveQueryObject} from './queries.ts';
import {NextCursor} from './schedule.ts';

const closed = {additionalProperties: false} as const;
const EpochMs = Type.Number({description: 'epoch milliseconds'});
const Count = Type.Integer({minimum: 0});
const nullable = <T extends typeof EpochMs | ReturnType<typeof Type.String>>(type: T, description: string) =>
  Type.Union([type, Type.Null()], {description});

/** Of GET …/live-queries */
export const LiveListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({minimum: 1, maximum: 100, description: 'default 20'})),
    after: Type.Optional(Type.String({description: "a previous page's next_cursor"})),
  },
  closed,
);

export const LiveEvaluationCounts = Type.Object({
  changed: Type.Integer({minimum: 0, description: 'evaluations whose result differs from the one before'}),
  equal: Type.Integer({minimum: 0, description: 'evaluations with the same result'}),
  unmatched: Type.Integer({
    minimum: 0,
    description: 'a write was in the watched key ranges, but the other filters leave its document out',
  }),
  skipped: Type.Integer({minimum: 0, description: 'commits that wrote nothing in the watched key ranges'}),
});

export const ListedLiveQuery = Type.Object({
  id: Type.String({description: 'valid while the query is subscribed and the tenant stays awake'}),
  type: Type.Enum(['query', 'function']),
  query: Type.Union([LiveQueryObject, Type.Null()], {
    description: 'of a native query; null for a function, and in a list if its JSON is long',
  }),
  function: nullable(Type.String(), 'path of the function; null for a native query'),
  args: Type.Unknown({
    description: 'arguments of the function, as wire JSON; null for a native query, and in a list if they are long',
  }),
  kind: Type.Union([Type.Enum(['query', 'paginatedQuery']), Type.Null()], {
    description: 'of the function; null for a native query',
  }),
  holders: Type.Integer({minimum: 0, description: 'subscriptions of clients that share it'}),
  identities: Type.Union([Type.Integer({minimum: 0}), Type.Null()], {
    description: 'of a function that depends on its caller: callers with a result of their own; null: all share one',
  }),
  result_bytes: Type.Integer({minimum: 0, description: 'of its results, approximately'}),
  current: Type.Boolean({description: 'false while an evaluation is under way'}),
  since: EpochMs,
  last_evaluated_at: nullable(EpochMs, 'null: it has no result yet'),
  time_ms: Type.Number({minimum: 0, description: 'of all its evaluations'}),
  evaluations: LiveEvaluationCounts,
});
export type ListedLiveQuery = Static<typeof ListedLiveQuery>;

export const LiveEvaluation = Type.Object({
  at: EpochMs,
  time_ms: Type.Number({minimum: 0}),
  result: Type.Enum(['changed', 'equal', 'unmatched']),
  cause: Type.Enum(['added', 'written', 'identity', 'deployment', 'environment', 'schema', 'unknown']),
  sequence: nullable(EpochMs, 'of the record whose write caused it; null for other causes'),
  table: nullable(Type.String(), 'of the document written'),
  document: nullable(Type.String(), 'its id'),
  index: nullable(Type.String(), 'whose key range was hit; null: an order that no index has, or not known'),
  range: nullable(Type.String(), 'the key range that was hit, as text; null: not known, or long'),
});
export type LiveEvaluation = Static<typeof LiveEvaluation>;

export const LiveQueryPage = Type.Object({
  queries: Type.Array(ListedLiveQuery, {description: 'by time spent, the most expensive first'}),
  total: Count,
  next_cursor: NextCursor,
});
export type LiveQueryPage = Static<typeof LiveQueryPage>;

export const FoundLiveQuery = Type.Object({
  query: ListedLiveQuery,
  recent: Type.Array(LiveEvaluation, {description: 'up to 20 evaluations, the newest first'}),
});
export type FoundLiveQuery = Static<typeof FoundLiveQuery>;
