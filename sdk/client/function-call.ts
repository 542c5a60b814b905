/** A function and its arguments, checked before anything is sent, and the token that identifies equal calls. */
import {decodeValue, encodeValue} from '../../shared/values/wire-value.ts';
import {type AnyFunctionReference, getFunctionName} from '../server/function-reference.ts';
import type {Value} from '../values/value.ts';

/** Equal for equal queries: built from kind, path and canonical arguments. */
export type QueryToken = string;

export class FunctionCall {
  readonly path: string;
  /** The arguments as canonical wire text. */
  readonly argsText: string;

  /** @throws Error when it is not a reference or the arguments are not values */
  constructor(reference: AnyFunctionReference | string, args: unknown) {
    this.path = canonicalPath(getFunctionName(reference));
    const given = args === undefined ? {} : args;
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw new Error(
        `The arguments of ${this.path} must be an object, like {name: value}. Received: ${kindOf(given)}`,
      );
    }
    this.argsText = encodeValue(given, 'the arguments');
  }

  token(paginated = false): QueryToken {
    return `${paginated ? 'paginatedQuery' : 'query'} ${this.path} ${this.argsText}`;
  }

  /** A copy that is not shared. */
  args(): Record<string, Value> {
    return decodeValue(this.argsText) as Record<string, Value>;
  }

  /** A message as sent, with the arguments as already encoded. */
  message(rest: Record<string, unknown>): string {
    return `${JSON.stringify({...rest, path: this.path}).slice(0, -1)},"args":${this.argsText}}`;
  }
}

/** `messages.js:list` is `messages:list`, and `messages:default` is `messages`. */
function canonicalPath(name: string): string {
  const [module = '', ...rest] = name.split(':');
  const plain = module.replace(/\.(js|ts)$/, '');
  return rest.length === 0 || (rest.length === 1 && rest[0] === 'default') ? plain : [plain, ...rest].join(':');
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}
