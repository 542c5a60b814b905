/** What registrars make of a handler: a function that carries its kind, its visibility and its validators. */
import type {Any} from '../values/any.ts';
import type {GenericActionCtx, GenericMutationCtx, GenericQueryCtx} from './context.ts';
import type {DefaultFunctionArgs, FunctionVisibility} from './function-reference.ts';

type Registered<Kind extends string, Visibility extends FunctionVisibility, Context, Args, Returned> = {
  /** @deprecated Calling it runs the handler without checks or a transaction of its own: share a plain function instead. */
  (ctx: Context, args: Args): Returned;
  readonly isSvcFunction: true;
  readonly kind: Kind;
  readonly visibility: Visibility;
  /** JSON of the validator of the arguments, or `null`. */
  exportArgs(): string;
  /** JSON of the validator of the result, or `null`. */
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
