/**
 * `query`, `mutation`, …: they make a handler into a registered function. The generic ones here know no data model; an
 * app's generated code gives them its own types. What they attach is read by the platform when it analyses a deployment
 * and when it runs a function.
 */
import type {Any} from '../values/any.ts';
import {isValidator} from '../values/construction.ts';
import {asObjectValidator} from '../values/v.ts';
import type {GenericValidator, PropertyValidators} from '../values/validators.ts';
import type {
  ActionBuilder,
  HttpActionBuilder,
  MutationBuilder,
  PaginatedQueryBuilder,
  QueryBuilder,
} from './builders.ts';
import type {FunctionVisibility} from './function-reference.ts';
import {paginationOptsValidator} from './pagination.ts';

type Handler = (ctx: unknown, args: unknown) => unknown;
type Definition = {args?: unknown; returns?: unknown; handler?: unknown};
type Kind = 'query' | 'paginatedQuery' | 'mutation' | 'action' | 'httpAction';

function register(
  kind: Kind,
  visibility: FunctionVisibility,
  handler: unknown,
  args: string,
  returns: string,
): unknown {
  if (typeof handler !== 'function') throw new Error(`${kind}: a handler is required, and it must be a function`);
  complainInBrowser();
  const run = handler as Handler;
  const registered = (ctx: unknown, given: unknown): unknown => {
    console.warn(
      'Functions should not directly call other functions. Share a plain function instead: what is called this way runs in the context it was given, with no checks of its arguments or result.',
    );
    return run(ctx, given);
  };
  return Object.assign(registered, {
    isSvcFunction: true,
    kind,
    visibility,
    exportArgs: () => args,
    exportReturns: () => returns,
    _handler: run,
  });
}

/** Functions are for the server; in a browser their code shows what nobody there should see. */
function complainInBrowser(): void {
  if (typeof (globalThis as {window?: unknown}).window === 'undefined') return;
  console.error(
    'Functions should not be imported in the browser: their code would be public. Import the generated `api` instead.',
  );
}

function registrar(kind: Kind, visibility: FunctionVisibility): (definition: unknown) => unknown {
  return definition => {
    const {args, returns, handler} = definitionOf(definition);
    return register(kind, visibility, handler, argsJson(args), returnsJson(returns));
  };
}

function definitionOf(definition: unknown): Definition {
  return typeof definition === 'function' ? {handler: definition} : ((definition ?? {}) as Definition);
}

function argsJson(args: unknown): string {
  return args === undefined ? 'null' : JSON.stringify(argsValidator(args).json);
}

/** @throws unless the arguments are declared as an object or anything */
function argsValidator(args: unknown): GenericValidator {
  const validator = fieldsOrValidator(args, 'Args');
  if (validator.kind === 'object' || validator.kind === 'any') return validator;
  throw new Error('Args validator must be an object or any');
}

function returnsJson(returns: unknown): string {
  return returns === undefined ? 'null' : JSON.stringify(fieldsOrValidator(returns, 'Returns').json);
}

function fieldsOrValidator(declared: unknown, what: string): GenericValidator {
  if (typeof declared !== 'object' || declared === null) {
    throw new Error(`${what} validator must be an object of validators, or a validator`);
  }
  return isValidator(declared) ? (declared as GenericValidator) : asObjectValidator(declared as PropertyValidators);
}

/** What was not declared is not checked, so `paginationOpts` is added to declared arguments only. */
function paginatedRegistrar(visibility: FunctionVisibility): (definition: unknown) => unknown {
  return definition => {
    const {args, returns, handler} = definitionOf(definition);
    const run = args === undefined && typeof handler === 'function' ? checkingOptions(handler as Handler) : handler;
    return register('paginatedQuery', visibility, run, pagedArgsJson(args), returnsJson(returns));
  };
}

/** Without declared arguments the platform checks none of them; these a page cannot do without. */
function checkingOptions(handler: Handler): Handler {
  return (ctx, args) => {
    const {paginationOpts} = args as {paginationOpts?: {numItems?: unknown; cursor?: unknown}};
    const {numItems, cursor} = paginationOpts ?? {};
    if (typeof numItems === 'number' && (typeof cursor === 'string' || cursor === null)) return handler(ctx, args);
    throw new Error('ArgumentValidationError: paginationOpts must be {numItems: number, cursor: string | null, …}');
  };
}

function pagedArgsJson(args: unknown): string {
  if (args === undefined) return 'null';
  const validator = argsValidator(args);
  if (validator.kind !== 'object') return JSON.stringify(validator.json);
  const own = validator.fields.paginationOpts;
  if (own !== undefined && own.kind !== 'object') throw new Error('paginationOpts must have an object validator');
  return JSON.stringify(asObjectValidator({paginationOpts: paginationOptsValidator, ...validator.fields}).json);
}

export const queryGeneric = registrar('query', 'public') as QueryBuilder<Any, 'public'>;
export const internalQueryGeneric = registrar('query', 'internal') as QueryBuilder<Any, 'internal'>;
export const mutationGeneric = registrar('mutation', 'public') as MutationBuilder<Any, 'public'>;
export const internalMutationGeneric = registrar('mutation', 'internal') as MutationBuilder<Any, 'internal'>;
export const actionGeneric = registrar('action', 'public') as ActionBuilder<Any, 'public'>;
export const internalActionGeneric = registrar('action', 'internal') as ActionBuilder<Any, 'internal'>;
export const paginatedQueryGeneric = paginatedRegistrar('public') as PaginatedQueryBuilder<Any, 'public'>;
export const internalPaginatedQueryGeneric = paginatedRegistrar('internal') as PaginatedQueryBuilder<Any, 'internal'>;

/** Only the bare form: HTTP has its own arguments. */
export const httpActionGeneric = ((handler: unknown) =>
  register('httpAction', 'public', handler, 'null', 'null')) as HttpActionBuilder<Any>;
