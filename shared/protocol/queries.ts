/** Wire types of the query routes and of svc.v2 `subscribe`. */
import Type, {type Static} from 'typebox';
import {FILTERS_MAX} from '../limits.ts';
import {Document} from './documents.ts';

export const FILTER_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];

export const FilterClause = Type.Object({
  field: Type.String({description: 'a path; a dot separates steps; _id, _creationTime and _updateTime are fields too'}),
  op: Type.Enum([...FILTER_OPERATORS]),
  value: Type.Unknown({description: 'any JSON value, compared by the total order of all values'}),
});

export const QueryOrder = Type.Object({
  field: Type.String(),
  direction: Type.Enum(['asc', 'desc']),
});

export const QueryObject = Type.Object({
  table: Type.String(),
  filters: Type.Array(FilterClause, {maxItems: FILTERS_MAX, description: 'all must hold; [] matches every document'}),
  order: Type.Optional(QueryOrder),
  limit: Type.Optional(Type.Integer({minimum: 1, description: 'of the whole walk when paginated'})),
});
export type QueryObject = Static<typeof QueryObject>;

/** POST …/query/paginated */
export const PaginatedQueryBody = Type.Object({
  query: QueryObject,
  page_size: Type.Integer({minimum: 1, description: 'above 1,000 is 1,000'}),
  after: Type.Optional(Type.String({description: "a previous page's next_cursor"})),
});
export type PaginatedQueryBody = Static<typeof PaginatedQueryBody>;

export const QueryResult = Type.Object({data: Type.Array(Document, {description: 'in the order of the query'})});
export const QueryPage = Type.Object({
  data: Type.Array(Document, {description: 'in the order of the query'}),
  next_cursor: Type.Union([Type.String(), Type.Null()], {description: "the next page's after; null: this is the last"}),
  has_more: Type.Boolean({description: 'next_cursor is not null'}),
});
