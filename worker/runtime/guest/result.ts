/** Finds the function that a module exports, and encodes its result for the host. */

import {encodeDocument, ValueError} from '../../../shared/values/wire-value.ts';
import {RETURNED_BY, type RealmError} from './host-call.ts';
import {FUNCTION_RESULT_BYTES_MAX} from './limits.ts';

export type Registered = {_handler: (context: object, args: unknown) => unknown};

/** The function's public name: `a/b:f`, or `a/b` for a default export. */
export function functionName(file: string, name: string): string {
  const module = file.replace(/\.js$/, '');
  return name === 'default' ? module : `${module}:${name}`;
}

/** Used instead of a name: the code of a sandbox is not a function. */
export function sandboxName(): string {
  return 'of the sandbox';
}

/** @param module its file, for the message. @throws if it exports no such function */
export function registered(namespace: Record<string, unknown> | undefined, module: string, name: string): Registered {
  const value = namespace?.[name] as Partial<Registered> | undefined;
  if (typeof value?._handler !== 'function') throw new Error(`${module} exports no function ${name}`);
  return value as Registered;
}

/**
 * The result as wire text. @param called the function's name, for messages. @throws if the value is not valid, or is
 * not a page where one is required
 */
export function encodeResult(value: unknown, paginated: boolean, called: () => string): string {
  if (typeof value === 'object' && value !== null && (value as {[QUERY]?: true})[QUERY] === true) {
    throw new Error(
      'Return value is a Query. Results must be retrieved with .collect(), .take(n), .unique(), or .first()',
    );
  }
  if (paginated && !isPage(value)) throw new Error(`paginatedQuery "${called()}" must return a PaginationResult`);
  // Every value that documents can hold can be returned: the limits of arguments do not apply.
  try {
    return encodeDocument(value === undefined ? null : value);
  } catch (caught) {
    if (!(caught instanceof ValueError) || called === sandboxName) throw caught;
    throw new ValueError(`${caught.message}${RETURNED_BY}${called()}`);
  }
}

const QUERY = Symbol.for('svc.query');

function isPage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const {page, isDone, continueCursor} = value as Record<string, unknown>;
  return Array.isArray(page) && typeof isDone === 'boolean' && typeof continueCursor === 'string';
}

/** The error for a result that is too large to pass on; null: it is not. */
export function sizeFault(answer: string, called: () => string): RealmError | null {
  if (answer.length <= FUNCTION_RESULT_BYTES_MAX) return null;
  return {name: 'Error', message: `Function ${called()} return value is too large`, stack: null};
}
