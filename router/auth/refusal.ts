/**
 * The record of a request refused because of its credentials or rights: enough to find the request and its sender,
 * never a secret.
 */

import {ServiceError} from '../../shared/errors.ts';
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import {KEY_PREFIX} from '../../shared/key-prefix.ts';
import {misplacedCredential} from '../../shared/own-credential.ts';
import {decodedOrSame, type Route} from '../routes.ts';
import {cutSecret} from './audited.ts';
import {bearerToken, keyOf, type Principal} from './credentials.ts';

export type Refusal = {
  readonly code: string;
  /** Null: no route matched. */
  readonly operation: string | null;
  /** The requested tenant, whether or not it exists; null: the request names none. */
  readonly tenant: string | null;
  /** A safe description of the credential that was shown; null: none was shown, or a valid key. */
  readonly shown: string | null;
};

/** The parts of a request and its answer that are read here. */
export type RefusedExchange = {
  refusal: Refusal | null;
  readonly route: Route | null;
  readonly tenantId: string;
  readonly method: string;
  readonly path: string;
  readonly address: string;
  readonly requestId: string;
  readonly principal: Principal | null;
};

const KEY_ID = new RegExp(`^${KEY_PREFIX}[a-z0-9]{12}(?=_)`);
const TENANT_CHARS = 64;

/** Called before the answer is written. Only errors about credentials, rights and origins are recorded. */
export function noteRefusal(exchange: RefusedExchange, code: string, known: Partial<Refusal> = {}): void {
  if (!code.startsWith('auth.') || exchange.refusal !== null) return;
  void exchange.address; // cannot be determined after the answer
  const {operation = operationOf(exchange.route), shown = null} = known;
  const tenant = known.tenant ?? tenantIn(exchange);
  exchange.refusal = {
    code,
    operation,
    tenant: tenant === null ? null : cutSecret(tenant).slice(0, TENANT_CHARS),
    shown,
  };
}

/** In the format that the supervisor receives. */
export function refusedRequest(exchange: RefusedExchange, {code, operation, tenant, shown}: Refusal): RefusedRequest {
  const {principal, address, requestId: request_id} = exchange;
  const key = keyOf(principal);
  return {
    ...{operation, tenant, code, key: key?.id ?? null, key_name: key?.name ?? null, shown},
    ...{address, request_id, count: 1},
  };
}

/**
 * A safe description of an invalid credential: the id if it looks like a key, otherwise only that one was shown. It may
 * belong to another service, or be a mistyped one of ours.
 */
export function credentialHint(
  authorization: string,
  adminToken: string,
  offered: string | null = null,
): string | null {
  if (authorization === '' && adminToken === '' && offered === null) return null;
  const key = [bearerToken(authorization), adminToken, offered ?? ''].find(text => text.startsWith(KEY_PREFIX));
  return key === undefined ? 'other' : `${KEY_ID.exec(key)?.[0] ?? KEY_PREFIX}…`;
}

/**
 * Refuses a credential of the server in the place for a user's token. It must never reach a worker, where code of the
 * tenant runs.
 * @throws auth.unauthorized 401
 */
export function refuseMisplaced(exchange: RefusedExchange, authorization: string): void {
  const message = misplacedCredential(bearerToken(authorization));
  if (message === null || exchange.method === 'OPTIONS') return;
  noteRefusal(exchange, 'auth.unauthorized', {shown: credentialHint(authorization, '')});
  throw new ServiceError('auth.unauthorized', message, {reason: 'InvalidAuthHeader'});
}

function operationOf(route: Route | null): string | null {
  if (route === null) return null;
  return 'own' in route.answer ? route.answer.own : route.answer.operation;
}

function tenantIn({tenantId, route, path}: RefusedExchange): string | null {
  if (tenantId !== '') return tenantId;
  const at = route?.pattern.split('/').indexOf('{tenant_id}') ?? -1;
  const segment = at === -1 ? undefined : path.split('/')[at];
  return segment === undefined ? null : decodedOrSame(segment);
}
