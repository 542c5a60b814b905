/**
 * The types of `db.query(table)`, which chooses an index range, an order and filters, then reads. Each step consumes
 * the query it is called on.
 */
import type {DocumentByInfo, GenericTableInfo, IndexNames, NamedIndex} from './data-model.ts';
import type {ExpressionOrValue, FilterBuilder} from './filter.ts';
import type {IndexRange, IndexRangeBuilder} from './index-range.ts';
import type {PaginationOptions, PaginationResult} from './pagination.ts';

/** A query with nothing chosen yet. It can be used several times; each use starts a new scan. */
export interface QueryInitializer<TableInfo extends GenericTableInfo> extends Query<TableInfo> {
  /** Chooses an index and a range in it. Default: the whole table by creation time. */
  withIndex<IndexName extends IndexNames<TableInfo>>(
    indexName: IndexName,
    indexRange?: (q: IndexRangeBuilder<DocumentByInfo<TableInfo>, NamedIndex<TableInfo, IndexName>>) => IndexRange,
  ): Query<TableInfo>;
}

export interface Query<TableInfo extends GenericTableInfo> extends OrderedQuery<TableInfo> {
  /** Sorts by the index's fields, then by creation time. Default: `'asc'`. */
  order(order: 'asc' | 'desc'): OrderedQuery<TableInfo>;
  filter(predicate: (q: FilterBuilder<TableInfo>) => ExpressionOrValue<boolean>): this;
}

export interface OrderedQuery<TableInfo extends GenericTableInfo> extends AsyncIterable<DocumentByInfo<TableInfo>> {
  filter(predicate: (q: FilterBuilder<TableInfo>) => ExpressionOrValue<boolean>): this;
  paginate(paginationOpts: PaginationOptions): Promise<PaginationResult<DocumentByInfo<TableInfo>>>;
  collect(): Promise<DocumentByInfo<TableInfo>[]>;
  take(n: number): Promise<DocumentByInfo<TableInfo>[]>;
  first(): Promise<DocumentByInfo<TableInfo> | null>;
  /** Resolves with null if there is no document. @throws Error when there is more than one */
  unique(): Promise<DocumentByInfo<TableInfo> | null>;
}
