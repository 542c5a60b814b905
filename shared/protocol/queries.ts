/** Wire types of the query routes and of svc.v2 `subscribe`. */
import Type, {type Static, type TSchema} from 'typebox';
import {BATCH_QUERIES_MAX, FILTERS_MAX, ORDER_FIELDS_MAX, SELECT_PATHS_MAX} from '../limits.ts';

/** Compare by the total order of all values. */
export const COMPARISON_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;
export type ComparisonOperator = (typeof COMPARISON_OPERATORS)[number];

export const FILTER_OPERATORS = [...COMPARISON_OPERATORS, 'in', 'not_in', 'prefix', 'contains', 'exists'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

export type FilterTest = {field: string; op: FilterOperator; value: unknown};
/** Matches if at least one member matches; a list matches if all its filters match. */
export type FilterChoice = {or: (FilterClause | FilterClause[])[]};
export type FilterClause = FilterTest | FilterChoice;

const closed = {additionalProperties: false} as const;
const test = {
  field: Type.Optional(
    Type.String({description: 'a path; a dot separates steps; _id, _creationTime and _updateTime are fields too'}),
  ),
  op: Type.Optional(Type.Enum([...FILTER_OPERATORS])),
  value: Type.Optional(
    Type.Unknown({description: 'any JSON value; of in and not_in a list, of prefix a string, of exists a boolean'}),
  ),
};
const TEST_MEMBERS = ['field', 'op', 'value'];

/** Closed objects instead of a union, so that an error names the filter's member. Each level of `or` is written out. */
export const InnermostFilter = Type.Object(test, {...closed, required: TEST_MEMBERS});
const filterWith = (inner: TSchema) =>
  Type.Object(
    {
      ...test,
      or: Type.Optional(
        Type.Array(Type.Union([inner, Type.Array(inner, {minItems: 1})]), {
          minItems: 1,
          maxItems: FILTERS_MAX,
          description:
            'instead of field, op and value: one of these must hold; the tests of an inner list must all hold',
        }),
      ),
    },
    {...closed, anyOf: [{required: TEST_MEMBERS}, {required: ['or']}]},
  );
export const FilterInOr = filterWith(InnermostFilter);
export const Filter = Type.Unsafe<FilterClause>(filterWith(FilterInOr));

const QueryOrder = Type.Object({field: Type.String(), direction: Type.Enum(['asc', 'desc'])}, closed);
export type QueryOrder = Static<typeof QueryOrder>;

const query = {
  table: Type.String(),
  filters: Type.Array(Filter, {maxItems: FILTERS_MAX, description: 'all must hold; [] matches every document'}),
  order: Type.Optional(
    Type.Union([QueryOrder, Type.Array(QueryOrder, {minItems: 1, maxItems: ORDER_FIELDS_MAX})], {
      description: 'by one field, or by several, the first one first',
    }),
  ),
  limit: Type.Optional(Type.Integer({minimum: 1, description: 'of the whole walk when paginated'})),
  select: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: SELECT_PATHS_MAX,
      description: 'paths of the returned fields, in addition to _id',
    }),
  ),
};
const explain = Type.Optional(Type.Boolean({description: 'true: the result includes how the query was read'}));
const count = Type.Optional(Type.Boolean({description: 'true: how many there are instead of the documents'}));

/** POST …/query, and of POST …/query/count */
export const QueryObject = Type.Object({...query, explain}, closed);
export type QueryObject = Static<typeof QueryObject>;

/** POST …/query/batch */
export const QueryBatch = Type.Object(
  {
    queries: Type.Array(Type.Object({...query, explain, count}, closed), {
      minItems: 1,
      maxItems: BATCH_QUERIES_MAX,
      description: 'all answered from one snapshot',
    }),
  },
  closed,
);
export type QueryBatch = Static<typeof QueryBatch>;

/** Of svc.v2 `subscribe`, and POST …/query/stream */
export const LiveQueryObject = Type.Object({...query, count}, closed);
export type LiveQueryObject = Static<typeof LiveQueryObject>;

/** POST …/query/paginated */
export const PaginatedQueryBody = Type.Object(
  {
    query: QueryObject,
    page_size: Type.Integer({minimum: 1, description: 'above 1,000 is 1,000'}),
    after: Type.Optional(Type.String({description: "a previous page's next_cursor"})),
  },
  closed,
);
export type PaginatedQueryBody = Static<typeof PaginatedQueryBody>;

const ResultLimit = Type.Optional(
  Type.Integer({minimum: 1, description: 'results after which the stream ends; absent: it does not'}),
);
/** POST …/query/stream */
export const QueryStreamQuery = Type.Object({limit: ResultLimit});
/** GET …/query/stream */
export const QueryFollowQuery = Type.Object({
  query: Type.String({description: 'a query object as JSON'}),
  limit: ResultLimit,
});

/** Documents of a result, or the selected paths of each. */
const Shown = Type.Object(
  {
    _id: Type.String(),
    _creationTime: Type.Optional(Type.Number()),
    _updateTime: Type.Optional(Type.Number()),
  },
  {additionalProperties: Type.Unknown({description: 'its own fields, keys sorted'})},
);
const Explained = Type.Object({
  reads: Type.Array(
    Type.Object({
      by: Type.Enum(['index', 'ids', 'table']),
      index: Type.Union([Type.String(), Type.Null()], {description: 'its name'}),
      fields: Type.Array(Type.String(), {description: 'of the index'}),
      range: Type.Array(Type.Unknown(), {description: 'the filters that bound the range that is read'}),
      stretches: Type.Integer({minimum: 0}),
      is_filtered: Type.Boolean({description: 'each document is held against further filters'}),
    }),
  ),
  is_sorted: Type.Boolean({description: 'all were read and sorted, because nothing gives their order'}),
  read: Type.Integer({minimum: 0, description: 'documents'}),
  returned: Type.Integer({minimum: 0}),
  time_ms: Type.Number({minimum: 0}),
});
export type Explained = Static<typeof Explained>;
const explained = {explain: Type.Optional(Explained)};

export const QueryResult = Type.Object({
  data: Type.Array(Shown, {description: 'in the order of the query'}),
  ...explained,
});
export const QueryPage = Type.Object({
  data: Type.Array(Shown, {description: 'in the order of the query'}),
  next_cursor: Type.Union([Type.String(), Type.Null()], {description: "the next page's after; null: this is the last"}),
  has_more: Type.Boolean({description: 'next_cursor is not null'}),
  ...explained,
});
export const QueryCount = Type.Object({
  count: Type.Integer({minimum: 0, description: 'up to the limit of the query'}),
  ...explained,
});
/** An event of …/query/stream. */
export const LiveResult = Type.Object({
  data: Type.Union([Type.Array(Shown), Type.Object({count: Type.Integer({minimum: 0})})], {
    description: 'in the order of the query; of one with count: true how many there are',
  }),
});
export const QueryBatchResult = Type.Object({
  results: Type.Array(Type.Union([QueryResult, QueryCount]), {description: 'in the order of the queries'}),
});
