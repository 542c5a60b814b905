/**
 * Creates and parses session ids, which name their tenant: `acme.0123…`. The routes of sessions do not name it, and a
 * server must find the tenant of an id after any restart without a list of all sessions. A tenant's id contains no dot.
 */
import {randomBytes} from 'node:crypto';
import {TENANT_ID} from './tenant-id.ts';

const RANDOM = /^[0-9a-f]{32}$/;

export function newSessionId(tenant: string): string {
  return `${tenant}.${randomBytes(16).toString('hex')}`;
}

/** Null if no session id has this form. */
export function tenantOfSession(id: string): string | null {
  const dot = id.lastIndexOf('.');
  const tenant = id.slice(0, Math.max(0, dot));
  return TENANT_ID.test(tenant) && RANDOM.test(id.slice(dot + 1)) ? tenant : null;
}
