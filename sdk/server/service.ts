/** What the default export of a service's module is called with, beside its `AbortSignal`. */
import type {GenericActionCtx} from './context.ts';
import type {GenericDataModel} from './data-model.ts';
import type {FunctionReference, FunctionReturnType, FunctionVisibility} from './function-reference.ts';

/** Calls public and internal functions of its tenant; nobody is asking. */
export interface ServiceContext
  extends Pick<GenericActionCtx<GenericDataModel>, 'runQuery' | 'runMutation' | 'runAction' | 'scheduler'> {
  /**
   * Calls `listener` with the query's result now and with each one that is new, one after another: while a listener works the newest
   * result waits, and those between are not seen.
   * @param onError told of a query that fails; without it that is a line in the log
   * @returns how to stop
   */
  onChange<Query extends FunctionReference<'query' | 'paginatedQuery', FunctionVisibility>>(
    query: Query,
    args: Query['_args'],
    listener: (value: FunctionReturnType<Query>) => unknown,
    onError?: (error: Error) => unknown,
  ): () => void;
}

/** Lines of the service's log. */
export interface ServiceLog {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}
