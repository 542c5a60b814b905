/** Method and path of a request, from its operation's row in the table. */
import {assert} from '../shared/assert.ts';
import {
  type OPERATIONS,
  type Operation,
  type OperationRoute,
  PATH_PREFIX,
  ROUTER_OPERATIONS,
  type RouterOperation,
  traitsOf,
} from '../shared/operations.ts';

export type Named = Operation | RouterOperation;
type Params<O extends Operation> = (typeof OPERATIONS)[O]['params'];

/** The values of a path's parameters, that of the tenant first if it is one of them. */
export type Parameters<O extends Named> = O extends Operation
  ? (typeof OPERATIONS)[O]['of'] extends 'session'
    ? TextEach<Params<O>>
    : readonly [tenant: string, ...TextEach<Params<O>>]
  : readonly string[];
export type TextEach<Names extends readonly string[]> = {readonly [I in keyof Names]: string};

type Query = Readonly<Record<string, string | number>>;

export function requestLine(
  operation: Named,
  params: readonly string[],
  query?: Query,
): {method: string; path: string} {
  const {method, pattern} = rowOf(operation);
  const values = params.map(encodeURIComponent);
  const path = pattern.replaceAll(/\{\w+\}/g, () => {
    const value = values.shift();
    assert(value !== undefined, `${operation} gets each of its parameters`);
    return value;
  });
  if (query === undefined) return {method, path};
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return {method, path: `${path}?${search}`};
}

function rowOf(operation: Named): {method: string; pattern: string} {
  if (operation in ROUTER_OPERATIONS) {
    const {method, path} = ROUTER_OPERATIONS[operation as RouterOperation];
    return {method, pattern: path};
  }
  const {of, routes} = traitsOf(operation as Operation);
  const [{method, path}] = routes as [OperationRoute];
  return {method, pattern: PATH_PREFIX[of] + path};
}
