/**
 * Calls operations of the API by their names in the table of operations, with the session's cookie as credential. Paths,
 * methods and types come from the table, so a page cannot call what does not exist.
 */
import type {BodyOf, QueryOf, SuccessOf} from '../../shared/operation-types.ts';
import {
  OPERATIONS,
  type Operation,
  type OperationTraits,
  PATH_PREFIX,
  ROUTER_OPERATIONS,
  type RouterOperation,
} from '../../shared/operations.ts';
import {REQUEST_MS_MAX} from '../limits.ts';
import {answered, lost} from './connection.ts';
import {ApiFailure, failureOf} from './failure.ts';
import {protectionOf} from './production.ts';

const BASE = '/_dashboard';
/** Pages of other sites cannot send it without permission that they do not get. */
const HEADER = {'X-Svc-Dashboard': '1'};

export type AnyOperation = Operation | RouterOperation;

type Body<O extends AnyOperation> = [BodyOf<O>] extends [never]
  ? {readonly body?: undefined}
  : {readonly body: BodyOf<O>};

export type Input<O extends AnyOperation> = {
  readonly tenant?: string;
  /** Parameters of the path after the tenant. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: [QueryOf<O>] extends [never] ? undefined : QueryOf<O>;
} & Body<O>;

export type CallOptions = {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** How long an answer is waited for. */
  readonly timeoutMs?: number;
};

/** @throws ApiFailure */
export async function call<O extends AnyOperation>(
  operation: O,
  input: Input<O>,
  options: CallOptions = {},
): Promise<SuccessOf<O>> {
  const response = await callRaw(operation, input, options);
  return (response.status === 204 ? null : await response.json()) as SuccessOf<O>;
}

/** The response itself, for answers that are read as they arrive. @throws ApiFailure */
export async function callRaw<O extends AnyOperation>(
  operation: O,
  {tenant, params, query, body}: Input<O>,
  {signal, headers, timeoutMs = REQUEST_MS_MAX}: CallOptions = {},
): Promise<Response> {
  const {method, path, isRead, isEndless} = routeOf(operation);
  if (!isRead && tenant !== undefined && protectionOf(tenant) === 'locked') {
    const message = `${tenant} is marked as production and read-only. Unlock it in the bar at the top to change something.`;
    throw new ApiFailure('read_only', message, 0);
  }
  const url = BASE + filled(path, {...params, ...(tenant === undefined ? {} : {tenant_id: tenant})}) + searchOf(query);
  const isJson = body !== undefined;
  return send(url, {
    method,
    headers: {...(isJson ? {'Content-Type': 'application/json'} : {}), ...headers},
    ...(isJson ? {body: JSON.stringify(body)} : {}),
    ...(isEndless && signal !== undefined ? {signal} : {signal: withTimeout(signal, timeoutMs)}),
  });
}

/** A request to this origin. @throws ApiFailure for every answer but a success, and when there was none */
export async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {...init, headers: {...HEADER, ...init.headers}, cache: 'no-store'});
  } catch (error) {
    if (init.signal?.aborted && init.signal.reason?.name !== 'TimeoutError') throw error;
    if (error instanceof TypeError) lost();
    throw new ApiFailure('network', 'The server cannot be reached. The page tries again by itself.', 0);
  }
  answered();
  if (!response.ok) throw await failureOf(response);
  return response;
}

function withTimeout(signal: AbortSignal | undefined, ms: number): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

type Route = {method: string; path: string; isRead: boolean; isEndless: boolean};

function routeOf(operation: AnyOperation): Route {
  if (isRouterOperation(operation)) {
    const {method, path} = ROUTER_OPERATIONS[operation];
    return {method, path, isRead: method === 'GET', isEndless: false};
  }
  const traits: OperationTraits = OPERATIONS[operation];
  const {method, path} = traits.routes[0]!;
  return {
    method,
    path: PATH_PREFIX[traits.of] + path,
    isRead: traits.kind === 'read',
    isEndless: traits.isEndless === true,
  };
}

export function isRouterOperation(operation: AnyOperation): operation is RouterOperation {
  return Object.hasOwn(ROUTER_OPERATIONS, operation);
}

function filled(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{\*?(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

function searchOf(query: unknown): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>))
    if (value !== undefined && value !== '') search.set(name, String(value));
  return search.size === 0 ? '' : `?${search}`;
}
