/** `db.query(table)`: choose an index range, an order, filters, then read. Each step uses its query up. */
import type {DocumentByInfo, GenericTableInfo, IndexNames, NamedIndex} from './data-model.ts';
import type {ExpressionOrValue, FilterBuilder} from './filter.ts';
import type {IndexRange, IndexRangeBuilder} from './index-range.ts';
import type {PaginationOptions, PaginationResult} from './pagination.ts';

/** Nothing is chosen yet. It may be used more than once: each use starts a new scan. */
export interface QueryInitializer<TableInfo extends GenericTableInfo> extends Query<TableInfo> {
  /** Without it: the whole table by creation time. */
  withIndex<IndexName extends IndexNames<TableInfo>>(
    indexName: IndexName,
    indexRange?: (q: IndexRangeBuilder<DocumentByInfo<TableInfo>, NamedIndex<TableInfo, IndexName>>) => IndexRange,
  ): Query<TableInfo>;
}

export interface Query<TableInfo extends GenericTableInfo> extends OrderedQuery<TableInfo> {
  /** Of the index's fields, then of the creation time. Ascending unless chosen. */
  order(order: 'asc' | 'desc'): OrderedQuery<TableInfo>;
  filter(predicate: (q: FilterBuilder<TableInfo>) => ExpressionOrValue<boolean>): this;
}

export interface OrderedQuery<TableInfo extends GenericTableInfo> extends AsyncIterable<DocumentByInfo<TableInfo>> {
  filter(predicate: (q: FilterBuilder<TableInfo>) => ExpressionOrValue<boolean>): this;
  paginate(paginationOpts: PaginationOptions): Promise<PaginationResult<DocumentByInfo<TableInfo>>>;
  collect(): Promise<DocumentByInfo<TableInfo>[]>;
  take(n: number): Promise<DocumentByInfo<TableInfo>[]>;
  first(): Promise<DocumentByInfo<TableInfo> | null>;
  /** Throws if there is more than one. */
  unique(): Promise<DocumentByInfo<TableInfo> | null>;
}
