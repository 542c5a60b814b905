/** A live query as operators see it: native ones and those of functions. */
import type {LiveQueryObject} from '../../shared/protocol/queries.ts';
import type {LiveFigures} from './live-figures.ts';

export interface ListedQuery {
  /** Valid while the query is subscribed. */
  readonly id: string;
  readonly figures: LiveFigures;
  /** Subscriptions of clients that share it. */
  holders(): number | Promise<number>;
  /** Callers with results of their own; null: all holders share one result. */
  readonly identities: number | null;
  /** Bytes of its results, approximately. */
  readonly resultBytes: number;
  /** Its result is that of the newest commit. */
  readonly isCurrent: boolean;
  readonly subject:
    | {readonly type: 'query'; readonly query: LiveQueryObject}
    /** `args`: wire JSON. */
    | {
        readonly type: 'function';
        readonly kind: 'query' | 'paginatedQuery';
        readonly path: string;
        readonly args: string;
      };
}

/** Live queries of one kind. */
export interface ListedQueries {
  listed(): Iterable<ListedQuery>;
  /** Commits so far. */
  readonly commits: number;
}
