/**
 * The types of the registrars (`query`, `mutation`, …). They derive the handler's arguments and possible results from
 * the validators, if there are any.
 */
import type {Any} from '../values/any.ts';
import type {GenericValidator, Infer, ObjectType, PropertyValidators} from '../values/validators.ts';
import type {Expand} from '../values/value.ts';
import type {GenericActionCtx, GenericMutationCtx, GenericQueryCtx} from './context.ts';
import type {GenericDataModel} from './data-model.ts';
import type {DefaultFunctionArgs, EmptyObject, FunctionVisibility} from './function-reference.ts';
import type {PaginationOptions, PaginationResult} from './pagination.ts';
import type {
  PublicHttpAction,
  RegisteredAction,
  RegisteredMutation,
  RegisteredPaginatedQuery,
  RegisteredQuery,
} from './registered.ts';

/** The type of `args` and `returns`: fields, one validator, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: what a type parameter is that nothing was given for.
type Declared = PropertyValidators | GenericValidator | void;

/** The handler's second parameter. Without a validator: an object or none. */
export type ArgsArray = OneArgs | [];
type OneArgs<Args extends DefaultFunctionArgs = DefaultFunctionArgs> = [args: Args];

export type ArgsDeclared<Args extends Declared> = [Args] extends [GenericValidator]
  ? OneArgs<Infer<Args>>
  : [Args] extends [PropertyValidators]
    ? OneArgs<ObjectType<Args>>
    : ArgsArray;
export type DefaultArgs<Args extends Declared> = [Args] extends [GenericValidator]
  ? OneArgs<Infer<Args>>
  : [Args] extends [PropertyValidators]
    ? OneArgs<ObjectType<Args>>
    : OneArgs;

/** The arguments that a caller passes. */
export type ArgsArrayToObject<Args extends ArgsArray> = Args extends OneArgs<infer Only> ? Only : EmptyObject;

export type ReturnsDeclared<Returns extends Declared> = [Returns] extends [GenericValidator]
  ? Returnable<Infer<Returns>>
  : [Returns] extends [PropertyValidators]
    ? Returnable<ObjectType<Returns>>
    : Any;
type Returnable<T> = Promise<NothingForNull<T>> | NothingForNull<T>;
/** Returning nothing is the same as returning null. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this type.
type NothingForNull<T> = T extends null ? T | undefined | void : T;

type Definition<Context, Args, Returns, Parameters extends ArgsArray, Returned> =
  | {args?: Args; returns?: Returns; handler: (ctx: Context, ...args: Parameters) => Returned}
  | ((ctx: Context, ...args: Parameters) => Returned);

export type QueryBuilder<DataModel extends GenericDataModel, Visibility extends FunctionVisibility> = <
  Args extends Declared,
  Returns extends Declared,
  Returned extends ReturnsDeclared<Returns> = Any,
  Parameters extends ArgsDeclared<Args> = DefaultArgs<Args>,
>(
  query: Definition<GenericQueryCtx<DataModel>, Args, Returns, Parameters, Returned>,
) => RegisteredQuery<Visibility, ArgsArrayToObject<Parameters>, Returned>;

export type MutationBuilder<DataModel extends GenericDataModel, Visibility extends FunctionVisibility> = <
  Args extends Declared,
  Returns extends Declared,
  Returned extends ReturnsDeclared<Returns> = Any,
  Parameters extends ArgsDeclared<Args> = DefaultArgs<Args>,
>(
  mutation: Definition<GenericMutationCtx<DataModel>, Args, Returns, Parameters, Returned>,
) => RegisteredMutation<Visibility, ArgsArrayToObject<Parameters>, Returned>;

export type ActionBuilder<DataModel extends GenericDataModel, Visibility extends FunctionVisibility> = <
  Args extends Declared,
  Returns extends Declared,
  Returned extends ReturnsDeclared<Returns> = Any,
  Parameters extends ArgsDeclared<Args> = DefaultArgs<Args>,
>(
  action: Definition<GenericActionCtx<DataModel>, Args, Returns, Parameters, Returned>,
) => RegisteredAction<Visibility, ArgsArrayToObject<Parameters>, Returned>;

export type HttpActionBuilder<DataModel extends GenericDataModel = Any> = (
  handler: (ctx: GenericActionCtx<DataModel>, request: Request) => Promise<Response>,
) => PublicHttpAction;

/** Adds `paginationOpts` to the declared arguments. */
type PagedArgs<Args extends Declared> = [Args] extends [GenericValidator]
  ? Expand<Infer<Args> & {paginationOpts: PaginationOptions}>
  : [Args] extends [PropertyValidators]
    ? Expand<ObjectType<Args> & {paginationOpts: PaginationOptions}>
    : DefaultFunctionArgs & {paginationOpts: PaginationOptions};

type PagedReturns<Returns extends Declared> = [Returns] extends [GenericValidator | PropertyValidators]
  ? ReturnsDeclared<Returns>
  : Returnable<PaginationResult<Any>>;

export type PaginatedQueryBuilder<DataModel extends GenericDataModel, Visibility extends FunctionVisibility> = <
  Args extends Declared,
  Returns extends Declared,
  Returned extends PagedReturns<Returns>,
  Arguments extends PagedArgs<Args> = PagedArgs<Args>,
>(
  query: Definition<GenericQueryCtx<DataModel>, Args, Returns, [args: Arguments], Returned>,
) => RegisteredPaginatedQuery<Visibility, Arguments, Returned>;
