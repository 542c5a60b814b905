/**
 * Ids of sessions name their tenant: `acme.0123…`, because the routes of sessions do not, and whoever holds an id must find
 * its tenant after any restart without a list of all sessions. A tenant's id holds no dot.
 */
import {randomBytes} from 'node:crypto';
import {TENANT_ID} from './protocol/tenants.ts';

const RANDOM = /^[0-9a-f]{32}$/;

export function newSessionId(tenant: string): string {
  return `${tenant}.${randomBytes(16).toString('hex')}`;
}

/** Null: no id of a session has this form. */
export function tenantOfSession(id: string): string | null {
  const dot = id.lastIndexOf('.');
  const tenant = id.slice(0, Math.max(0, dot));
  return TENANT_ID.test(tenant) && RANDOM.test(id.slice(dot + 1)) ? tenant : null;
}
