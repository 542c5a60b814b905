/** The result of a registrar, which is a function with its kind, its visibility and its validators. */
import type {Any} from '../values/any.ts';
import type {GenericActionCtx, GenericMutationCtx, GenericQueryCtx} from './context.ts';
import type {DefaultFunctionArgs, FunctionVisibility} from './function-reference.ts';

type Registered<Kind extends string, Visibility extends FunctionVisibility, Context, Args, Returned> = {
  /**
   * @deprecated Calling it runs the handler without checks, in its caller's transaction. Share a plain function.
   */
  (ctx: Context, args: Args): Returned;
  readonly isSvcFunction: true;
  readonly kind: Kind;
  readonly visibility: Visibility;
  /** JSON of the arguments' validator, or `null`. */
  exportArgs(): string;
  /** JSON of the result's validator, or `null`. */
  exportReturns(): string;
  readonly _handler: (ctx: Context, args: Args) => Returned;
};

export type RegisteredQuery<
  Visibility extends FunctionVisibility,
  Args extends DefaultFunctionArgs,
  Returned,
> = Registered<'query', Visibility, GenericQueryCtx<Any>, Args, Returned>;
export type RegisteredPaginatedQuery<
  Visibility extends FunctionVisibility,
  Args extends DefaultFunctionArgs,
  Returned,
> = Registered<'paginatedQuery', Visibility, GenericQueryCtx<Any>, Args, Returned>;
export type RegisteredMutation<
  Visibility extends FunctionVisibility,
  Args extends DefaultFunctionArgs,
  Returned,
> = Registered<'mutation', Visibility, GenericMutationCtx<Any>, Args, Returned>;
export type RegisteredAction<
  Visibility extends FunctionVisibility,
  Args extends DefaultFunctionArgs,
  Returned,
> = Registered<'action', Visibility, GenericActionCtx<Any>, Args, Returned>;
/** An HTTP action, for a router. */
export type PublicHttpAction = Registered<'httpAction', 'public', GenericActionCtx<Any>, Request, Promise<Response>>;
