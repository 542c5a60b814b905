/** Finds the tenant that a request names, where its path does not: in a session's id, the query string or the body. */
import type {Buffer} from 'node:buffer';
import {ServiceError} from '../../shared/errors.ts';
import {tenantOfSession} from '../../shared/session-id.ts';
import {parseJson} from '../../shared/values/json.ts';
import {decodedOrSame} from '../routes.ts';

/** @throws op.not_found 404: no session can have such an id */
export function tenantOfSessionPath(segment: string): string {
  const id = decodedOrSame(segment);
  const tenant = tenantOfSession(id);
  if (tenant === null)
    throw new ServiceError('op.not_found', `there is no session ${JSON.stringify(id.slice(0, 140))}`);
  return tenant;
}

/** @throws op.invalid_input 400 */
export function tenantOfQuery(query: string): string {
  const tenant = new URLSearchParams(query).get('tenant');
  if (tenant === null || tenant === '') throw noTenant('the query string must name the tenant, like ?tenant=acme');
  return tenant;
}

/** @throws op.invalid_input 400 */
export function tenantOfBody(body: Buffer): string {
  const {tenant} = (parseJson(body) ?? {}) as {tenant?: unknown};
  if (typeof tenant !== 'string' || tenant === '')
    throw noTenant('the body must name the tenant, like {"tenant": "acme"}');
  return tenant;
}

function noTenant(message: string): ServiceError {
  return new ServiceError('op.invalid_input', message);
}
