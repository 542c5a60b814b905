/** Entry point `svc/server`, the API for the code in an app's `svc/` directory and for its generated code. */
export type {BetterOmit, Expand, GenericId, Value} from '../values/value.ts';
export {type ApiFromModules, type FilterApi, filterApi} from './api.ts';
export type {AuthConfig, AuthProvider} from './auth-config.ts';
export type {
  ActionBuilder,
  ArgsArray,
  ArgsArrayToObject,
  ArgsDeclared as ArgsArrayForOptionalValidator,
  DefaultArgs as DefaultArgsForOptionalValidator,
  HttpActionBuilder,
  MutationBuilder,
  PaginatedQueryBuilder,
  QueryBuilder,
  ReturnsDeclared as ReturnValueForOptionalValidator,
} from './builders.ts';
export type {
  Auth,
  GenericActionCtx,
  GenericMutationCtx,
  GenericQueryCtx,
  SchedulableFunctionReference,
  Scheduler,
  UserIdentity,
  UserIdentityAttributes,
} from './context.ts';
export type {
  AnyDataModel,
  DocumentByInfo,
  DocumentByName,
  FieldPaths,
  FieldTypeFromFieldPath,
  GenericDataModel,
  GenericDocument,
  GenericFieldPaths,
  GenericIndexFields,
  GenericTableIndexes,
  GenericTableInfo,
  IdField,
  Indexes,
  IndexNames,
  IndexTiebreakerField,
  NamedIndex,
  NamedTableInfo,
  PatchValue,
  SystemFields,
  SystemIndexes,
  TableNamesInDataModel,
  WithOptionalSystemFields,
  WithoutSystemFields,
} from './data-model.ts';
export type {
  GenericDatabaseReader,
  GenericDatabaseReader as DatabaseReader,
  GenericDatabaseWriter,
  GenericDatabaseWriter as DatabaseWriter,
} from './database.ts';
export type {Expression, ExpressionOrValue, FilterBuilder} from './filter.ts';
export {
  type AnyApi,
  anyApi,
  type DefaultFunctionArgs,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type FunctionType,
  type FunctionVisibility,
  getFunctionName,
  makeFunctionReference,
  type OptionalRestArgs,
} from './function-reference.ts';
export type {IndexRange, IndexRangeBuilder} from './index-range.ts';
export {
  type Cursor,
  type PaginationOptions,
  type PaginationResult,
  paginationOptsValidator,
  paginationResultValidator,
} from './pagination.ts';
export type {OrderedQuery, Query, QueryInitializer} from './query.ts';
export type {
  PublicHttpAction,
  RegisteredAction,
  RegisteredMutation,
  RegisteredPaginatedQuery,
  RegisteredQuery,
} from './registered.ts';
export {
  actionGeneric,
  httpActionGeneric,
  internalActionGeneric,
  internalMutationGeneric,
  internalPaginatedQueryGeneric,
  internalQueryGeneric,
  mutationGeneric,
  paginatedQueryGeneric,
  queryGeneric,
} from './registrars.ts';
export {
  HttpRouter,
  httpRouter,
  ROUTABLE_HTTP_METHODS,
  type RoutableMethod,
  type RouteSpec,
  type RouteSpecWithPath,
  type RouteSpecWithPathPrefix,
} from './router.ts';
export {
  type DataModelFromSchemaDefinition,
  type DefineSchemaOptions,
  defineSchema,
  defineTable,
  type GenericSchema,
  type SchemaDefinition,
  type TableDefinition,
} from './schema.ts';
export type {ServiceContext, ServiceLog} from './service.ts';
/** @internal */
export {cronJobs} from './unsupported.ts';
