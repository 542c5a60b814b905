/**
 * Checks a call of a function before it runs: the function, whether this caller can call it in this way, and its
 * arguments. The order of the checks is the reference's (1.8): existence and visibility, kind, arguments.
 */

import {shownFunction} from '../../shared/function-name.ts';
import type {FunctionEntry, FunctionKind} from '../../shared/protocol/functions.ts';
import type {Value} from '../../shared/values/value.ts';
import {checkedWireText, checkWireDocument, ValueError} from '../../shared/values/wire-value.ts';
import type {DeploymentCode} from './execution.ts';
import {FUNCTION_ARGUMENT_BYTES_MAX} from './limits.ts';
import type {SourcePositions} from './source-positions.ts';
import {suggestion} from './suggestion.ts';

/** The call failed before user code ran, or instead of it. Its message is shown like that of a thrown error. */
export class CallError extends Error {
  override name = 'CallError';
}

export type CallOrigin = 'client' | 'job' | 'function' | 'admin';

/** The functions of the active deployment. */
export type FunctionTable = {
  byPath: ReadonlyMap<string, FunctionEntry>;
  /** Null: no validator was declared. Otherwise returns null for valid arguments, or the error. */
  argsValidator(entry: FunctionEntry): ((value: Value) => string | null) | null;
  returnsValidator(entry: FunctionEntry): ((value: Value) => string | null) | null;
};

/** The active deployment, in the form that calls need. */
export type LiveDeployment = {code: DeploymentCode; table: FunctionTable; positions: SourcePositions};

/** `a/b.js:f` → `a/b:f`, `a/b` → `a/b:default`. */
export function canonicalPath(path: string): string {
  const colon = path.lastIndexOf(':');
  const module = (colon === -1 ? path : path.slice(0, colon)).replace(/\.(js|ts)$/, '');
  return `${module}:${colon === -1 ? 'default' : path.slice(colon + 1)}`;
}

/** The path for clients: a default export has the module's own path. */
export function shownPath(path: string): string {
  return path.endsWith(':default') ? path.slice(0, -':default'.length) : path;
}

/** @param kind the kind that the caller expects; null: any except HTTP actions. @throws CallError */
export function findFunction(
  table: FunctionTable | null,
  path: string,
  kind: FunctionKind | null,
  origin: CallOrigin,
): FunctionEntry {
  const entry = table?.byPath.get(canonicalPath(path));
  const isCallable = entry !== undefined && entry.kind !== 'httpAction';
  if (!isCallable || (origin === 'client' && entry.visibility === 'internal')) {
    throw new CallError(missing(table, path, origin));
  }
  if (kind !== null && entry.kind !== kind) {
    throw new CallError(
      `Trying to execute ${shownPath(entry.path)} as ${KIND_NAMES[kind]}, but it is defined as ${KIND_NAMES[entry.kind]}.`,
    );
  }
  return entry;
}

/**
 * Uses the same words for internal functions and for missing ones. Clients get suggestions of public functions only.
 */
function missing(table: FunctionTable | null, path: string, origin: CallOrigin): string {
  const isClient = origin === 'client';
  const text = `Could not find ${isClient ? 'public ' : ''}function for '${shownFunction(path)}'. Is it exported and deployed?`;
  const callable = [...(table?.byPath.values() ?? [])].filter(
    ({kind, visibility}) => kind !== 'httpAction' && !(isClient && visibility === 'internal'),
  );
  const wanted = shownPath(canonicalPath(path));
  const close = suggestion(
    wanted,
    callable.map(entry => shownPath(entry.path)),
  );
  return close === null ? text : `${text} Did you mean '${close}'?`;
}

export const KIND_NAMES: Readonly<Record<FunctionKind, string>> = {
  query: 'Query',
  paginatedQuery: 'PaginatedQuery',
  mutation: 'Mutation',
  action: 'Action',
  httpAction: 'HttpAction',
};

/** The arguments as wire text. @param args parsed JSON from outside. @throws CallError */
export function checkArguments(table: FunctionTable, entry: FunctionEntry, args: unknown): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) {
    throw new CallError("ArgumentValidationError: Expected to receive an object as the function's argument");
  }
  let value: Value;
  let text: string;
  try {
    ({value, text} = checkedWireText(args, 'the arguments'));
  } catch (caught) {
    if (!(caught instanceof ValueError)) throw caught;
    throw new CallError(`ArgumentValidationError: ${caught.message}`);
  }
  if (text.length > FUNCTION_ARGUMENT_BYTES_MAX) {
    throw new CallError(
      `Arguments for ${shownPath(entry.path)} are too large (maximum ${FUNCTION_ARGUMENT_BYTES_MAX} bytes of JSON)`,
    );
  }
  const fault = table.argsValidator(entry)?.(value) ?? null;
  if (fault !== null) throw new CallError(`ArgumentValidationError: ${fault}`);
  if (entry.kind === 'paginatedQuery' && entry.args === null && !hasPage(value)) {
    throw new CallError('ArgumentValidationError: paginationOpts must be {numItems: number, cursor: string | null, …}');
  }
  return text;
}

/** The arguments that a page requires are checked even if the function declares no arguments. */
function hasPage(args: Value): boolean {
  const {paginationOpts} = args as {paginationOpts?: {numItems?: unknown; cursor?: unknown} | null};
  const {numItems, cursor} = paginationOpts ?? {};
  return typeof numItems === 'number' && (typeof cursor === 'string' || cursor === null);
}

/** @param value wire text from the realm. @throws CallError */
export function checkReturned(table: FunctionTable, entry: FunctionEntry, value: string): void {
  const validate = table.returnsValidator(entry);
  if (validate === null) return;
  const fault = validate(checkWireDocument(JSON.parse(value), 'the return value'));
  if (fault !== null) throw new CallError(`ReturnsValidationError: ${fault}`);
}
