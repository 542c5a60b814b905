/** Wire types of the query routes and of svc.v2 `subscribe`. */
import Type, {type Static, type TSchema} from 'typebox';
import {FILTERS_MAX, ORDER_FIELDS_MAX} from '../limits.ts';
import {Document} from './documents.ts';

/** By the total order of all values. */
export const COMPARISON_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;
export type ComparisonOperator = (typeof COMPARISON_OPERATORS)[number];

export const FILTER_OPERATORS = [...COMPARISON_OPERATORS, 'in', 'not_in', 'prefix', 'contains', 'exists'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

export type FilterTest = {field: string; op: FilterOperator; value: unknown};
/** Holds when one of them does; of a list, when all in it do. */
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

/** Closed objects instead of a union: what is wrong with a filter is said of its member. Each level of `or` is written out. */
const InnermostFilter = Type.Object(test, {...closed, required: TEST_MEMBERS});
const filterWith = (inner: TSchema) =>
  Type.Object(
    {
      ...test,
      or: Type.Optional(
        Type.Array(Type.Union([inner, Type.Array(inner, {minItems: 1})]), {
          minItems: 1,
          maxItems: FILTERS_MAX,
          description:
            'in the place of field, op and value: one of these must hold; all of those that are in a list together',
        }),
      ),
    },
    {...closed, anyOf: [{required: TEST_MEMBERS}, {required: ['or']}]},
  );
const Filter = Type.Unsafe<FilterClause>(filterWith(filterWith(InnermostFilter)));

const QueryOrder = Type.Object({field: Type.String(), direction: Type.Enum(['asc', 'desc'])}, closed);
export type QueryOrder = Static<typeof QueryOrder>;

export const QueryObject = Type.Object(
  {
    table: Type.String(),
    filters: Type.Array(Filter, {maxItems: FILTERS_MAX, description: 'all must hold; [] matches every document'}),
    order: Type.Optional(
      Type.Union([QueryOrder, Type.Array(QueryOrder, {minItems: 1, maxItems: ORDER_FIELDS_MAX})], {
        description: 'by one field, or by several, the first one first',
      }),
    ),
    limit: Type.Optional(Type.Integer({minimum: 1, description: 'of the whole walk when paginated'})),
  },
  closed,
);
export type QueryObject = Static<typeof QueryObject>;

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

export const QueryResult = Type.Object({data: Type.Array(Document, {description: 'in the order of the query'})});
export const QueryPage = Type.Object({
  data: Type.Array(Document, {description: 'in the order of the query'}),
  next_cursor: Type.Union([Type.String(), Type.Null()], {description: "the next page's after; null: this is the last"}),
  has_more: Type.Boolean({description: 'next_cursor is not null'}),
});
