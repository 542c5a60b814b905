/**
 * The registrars `query`, `mutation`, …, which create a registered function from a handler. These generic ones know no
 * data model; an app's generated code gives them specific types. The platform reads the attached members when it
 * analyses a deployment and when it runs a function.
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

/** Logs an error in a browser, because importing a function there makes server code public. */
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

/** @throws Error unless the arguments are declared as an object or as `v.any()` */
function argsValidator(args: unknown): GenericValidator {
  const validator = fieldsOrValidator(args, 'Args');
  if (validator.kind === 'object' || validator.kind === 'any') return validator;
  throw new Error('Args validator must be an object or any');
}

function returnsJson(returns: unknown): string {
  return returns === undefined ? 'null' : JSON.stringify(fieldsOrValidator(returns, 'Returns').json);
}

function fieldsOrValidator(declared: unknown, what: string): GenericValidator {
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared)) {
    const must = what === 'Args' ? 'an object or any' : 'a validator';
    throw new Error(`${what} validator must be ${must}: write {name: v.string(), …} or a validator`);
  }
  return isValidator(declared) ? (declared as GenericValidator) : asObjectValidator(declared as PropertyValidators);
}

/** Adds `paginationOpts` to declared arguments. If none are declared, the platform checks `paginationOpts` itself. */
function paginatedRegistrar(visibility: FunctionVisibility): (definition: unknown) => unknown {
  return definition => {
    const {args, returns, handler} = definitionOf(definition);
    return register('paginatedQuery', visibility, handler, pagedArgsJson(args), returnsJson(returns));
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

export const queryGeneric = /* @__PURE__ */ registrar('query', 'public') as QueryBuilder<Any, 'public'>;
export const internalQueryGeneric = /* @__PURE__ */ registrar('query', 'internal') as QueryBuilder<Any, 'internal'>;
export const mutationGeneric = /* @__PURE__ */ registrar('mutation', 'public') as MutationBuilder<Any, 'public'>;
export const internalMutationGeneric = /* @__PURE__ */ registrar('mutation', 'internal') as MutationBuilder<
  Any,
  'internal'
>;
export const actionGeneric = /* @__PURE__ */ registrar('action', 'public') as ActionBuilder<Any, 'public'>;
export const internalActionGeneric = /* @__PURE__ */ registrar('action', 'internal') as ActionBuilder<Any, 'internal'>;
export const paginatedQueryGeneric = /* @__PURE__ */ paginatedRegistrar('public') as PaginatedQueryBuilder<
  Any,
  'public'
>;
export const internalPaginatedQueryGeneric = /* @__PURE__ */ paginatedRegistrar('internal') as PaginatedQueryBuilder<
  Any,
  'internal'
>;

/** Takes only a handler, because HTTP actions have a fixed argument, the `Request`. */
export const httpActionGeneric = ((handler: unknown) =>
  register('httpAction', 'public', handler, 'null', 'null')) as HttpActionBuilder<Any>;
