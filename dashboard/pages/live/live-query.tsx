/** A live query in words: what it is, and who holds it. */
import type {AnswerOf} from '../../../shared/operation-types.ts';
import {countText, plural} from '../../parts/values.tsx';
import {filterText} from '../data/filter-text.ts';

export type LiveQuery = AnswerOf<'live_queries.list'>['queries'][number];

export function kindOf({type, kind}: LiveQuery): string {
  if (type === 'query') return 'native';
  return kind === 'paginatedQuery' ? 'paginated' : 'function';
}

export function Holders({of: {holders, identities}}: {of: LiveQuery}) {
  if (identities === null) return countText(holders);
  return `${countText(holders)} of ${plural(identities, 'identity', 'identities')}`;
}

/** A function with its arguments, or a query object with its filters as the page Data takes them. */
export function textOf({function: path, args, query}: LiveQuery): string {
  if (path !== null) return `${path}(${args === null ? '…' : JSON.stringify(args)})`;
  return query === null ? 'a long query object' : queryText(query);
}

function queryText({table, filters, order, limit, count}: NonNullable<LiveQuery['query']>): string {
  const orders = order === undefined ? [] : [order].flat();
  const parts = [
    count === true ? `count of ${table}` : table,
    ...(filters.length === 0 ? [] : [`where ${filterText(filters)}`]),
    ...(orders.length === 0 ? [] : [`by ${orders.map(({field, direction}) => `${field} ${direction}`).join(', ')}`]),
    ...(limit === undefined ? [] : [`limit ${limit}`]),
  ];
  return parts.join(' ');
}
