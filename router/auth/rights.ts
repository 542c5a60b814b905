/** Decides what a key may request, by the table of rights (`shared/rights.ts`). Admin credentials have all rights. */
import type {HttpRequest} from 'uWebSockets.js';
import {ServiceError} from '../../shared/errors.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import {type BodyScope, type QueryScope, type Rights, SCOPES, type Scope} from '../../shared/rights.ts';
import {PAGE_KEY_LIFE_MS_MAX} from '../limits.ts';
import type {Principal} from './credentials.ts';

/** Judges what follows from the operation alone. @throws auth.forbidden 403 */
export function judgeOperation(principal: Principal, {scopes, concerns, tables}: Rights): void {
  if (principal === null) return;
  const {key} = principal;
  for (const scope of scopes) {
    if (!key.scopes.has(scope)) throw forbidden(principal, `lacks the scope ${scope}`, {scope});
  }
  if (concerns === 'service' && key.tenants !== null) {
    throw forbidden(principal, 'is limited to tenants, and this concerns all of them', {tenants: [...key.tenants]});
  }
  if (tables === 'unknown' && key.tables !== null) {
    throw forbidden(principal, 'is limited to tables, and the tables of this request cannot be determined', {
      tables: [...key.tables],
    });
  }
}

/** @throws auth.forbidden 403, whether or not the tenant exists */
export function judgeTenant(principal: Principal, tenant: string): void {
  if (principal === null || maySeeTenant(principal, tenant)) return;
  throw forbidden(principal, `is not for the tenant ${JSON.stringify(tenant.slice(0, 64))}`, {tenant});
}

export function maySeeTenant(principal: Principal, tenant: string): boolean {
  return principal === null || principal.key.tenants === null || principal.key.tenants.has(tenant);
}

/** @throws auth.forbidden 403 */
export function judgeTable(principal: Principal, table: unknown): void {
  if (principal === null || principal.key.tables === null) return;
  if (typeof table === 'string' && principal.key.tables.has(table)) return;
  const shown =
    typeof table === 'string' ? `the table ${JSON.stringify(table.slice(0, 64))}` : 'a request without a table';
  throw forbidden(principal, `is not for ${shown}`, {table: table ?? null});
}

/**
 * Judges the tables of a request whose operation is allowed.
 * @param table the path's parameter of that name, if it has one
 * @param query the raw query string
 * @returns the tables by which the worker must judge the body; null: nothing is left to judge
 * @throws auth.forbidden 403
 */
export function judgeTables(
  principal: Principal,
  rule: Rights['tables'],
  table: string,
  query: string,
): string[] | null {
  if (principal === null || principal.key.tables === null || rule === 'none') return null;
  if (rule === 'path') judgeTable(principal, table);
  else if (rule === 'unknown') judgeTable(principal, undefined);
  else if ('query' in rule) {
    const named = new URLSearchParams(query).getAll(rule.query).flatMap(text => text.split(','));
    for (const name of named.length === 0 ? [undefined] : named) judgeTable(principal, name);
  } else {
    if (rule.path === true) judgeTable(principal, table);
    return [...principal.key.tables];
  }
  return null;
}

/** @param query the raw query string. @throws auth.forbidden 403 */
export function judgeQuery(principal: Principal, needed: QueryScope | undefined, query: string): void {
  if (principal === null || needed === undefined || principal.key.scopes.has(needed.scope)) return;
  const {scope, parameter, is} = needed;
  if (!new URLSearchParams(query).getAll(parameter).includes(is)) return;
  throw forbidden(principal, `lacks the scope ${scope}, which ${parameter}=${is} needs`, {scope});
}

/**
 * @returns the scope that the key lacks: the worker must refuse the body if the body needs it; null: nothing is left to
 * judge
 */
export function lackingForBody(principal: Principal, needed: BodyScope | undefined): Scope | null {
  if (principal === null || needed === undefined || principal.key.scopes.has(needed.scope)) return null;
  return needed.scope;
}

/**
 * A page's visitor can read the key that the page sends as a subprotocol, so the key must expire soon.
 * @throws auth.forbidden 403
 */
export function judgePageKey(principal: NonNullable<Principal>, nowMs: number): void {
  const hours = PAGE_KEY_LIFE_MS_MAX / 3_600_000;
  if (principal.key.expiresAtMs - nowMs > PAGE_KEY_LIFE_MS_MAX) {
    throw forbidden(
      principal,
      `may be a subprotocol in the last ${hours} hours before it expires: make one that does`,
      {},
    );
  }
  if (SCOPES.every(scope => principal.key.scopes.has(scope))) {
    throw forbidden(principal, 'has every scope, and is not for pages: make one with those that the page needs', {});
  }
}

/**
 * Refuses a key in a URL, because proxies log URLs and browsers keep them in their history.
 * @throws op.invalid_input 400
 */
export function refuseKeyInUrl(req: HttpRequest): void {
  const query = (req.getQuery() as string | undefined) ?? '';
  if (!query.includes(KEY_PREFIX)) return;
  throw new ServiceError(
    'op.invalid_input',
    'a key must not be in a URL, which proxies and browsers keep: rotate this one, and send it as Authorization: Bearer, or from a page as subprotocol',
  );
}

/** The error for a caller whose key is no longer valid. */
export function keyEnded(): ServiceError {
  return new ServiceError('auth.unauthorized', 'the key was revoked, or it expired');
}

function forbidden({key}: NonNullable<Principal>, what: string, detail: Record<string, unknown>): ServiceError {
  return new ServiceError('auth.forbidden', `the key ${JSON.stringify(key.name)} ${what}`, {key: key.id, ...detail});
}
