/** The context that svc passes to the default export of a service's module, in addition to an `AbortSignal`. */
import type {GenericActionCtx} from './context.ts';
import type {GenericDataModel} from './data-model.ts';
import type {FunctionReference, FunctionReturnType, FunctionVisibility} from './function-reference.ts';

/** Calls public and internal functions of its tenant, without a user. */
export interface ServiceContext
  extends Pick<GenericActionCtx<GenericDataModel>, 'runQuery' | 'runMutation' | 'runAction' | 'scheduler'> {
  /**
   * Calls `listener` with the query's result now and with each new one, never concurrently. While a listener runs, only
   * the newest result waits; intermediate results are skipped.
   * @param onError called when the query fails. Default: the error is logged
   * @returns a function that unsubscribes
   */
  onChange<Query extends FunctionReference<'query' | 'paginatedQuery', FunctionVisibility>>(
    query: Query,
    args: Query['_args'],
    listener: (value: FunctionReturnType<Query>) => unknown,
    onError?: (error: Error) => unknown,
  ): () => void;
}

/** Writes lines to the service's log. */
export interface ServiceLog {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}
