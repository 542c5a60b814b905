/** The function that a module exports, and its result on the way to the host. */

import {encodeDocument, ValueError} from '../../../shared/values/wire-value.ts';
import {RETURNED_BY, type RealmError} from './host-call.ts';
import {FUNCTION_RESULT_BYTES_MAX} from './limits.ts';

export type Registered = {_handler: (context: object, args: unknown) => unknown};

/** As its callers know it: `a/b:f`, or `a/b` for a default export. */
export function functionName(file: string, name: string): string {
  const module = file.replace(/\.js$/, '');
  return name === 'default' ? module : `${module}:${name}`;
}

/** In the place of a name: the code of a sandbox is no function. */
export function sandboxName(): string {
  return 'of the sandbox';
}

/** @param module its file, for the message. @throws when it exports no such function */
export function registered(namespace: Record<string, unknown> | undefined, module: string, name: string): Registered {
  const value = namespace?.[name] as Partial<Registered> | undefined;
  if (typeof value?._handler !== 'function') throw new Error(`${module} exports no function ${name}`);
  return value as Registered;
}

/** The result as wire text. @param called the function's name, for messages. @throws for what is no value, or not a page where one is due */
export function encodeResult(value: unknown, paginated: boolean, called: () => string): string {
  if (typeof value === 'object' && value !== null && (value as {[QUERY]?: true})[QUERY] === true) {
    throw new Error(
      'Return value is a Query. Results must be retrieved with .collect(), .take(n), .unique(), or .first()',
    );
  }
  if (paginated && !isPage(value)) throw new Error(`paginatedQuery "${called()}" must return a PaginationResult`);
  // What documents may hold can be returned: they are not under the limits of arguments.
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

/** What it fails with when it is more than can be handed on; null: it is not. */
export function sizeFault(answer: string, called: () => string): RealmError | null {
  if (answer.length <= FUNCTION_RESULT_BYTES_MAX) return null;
  return {name: 'Error', message: `Function ${called()} return value is too large`, stack: null};
}
