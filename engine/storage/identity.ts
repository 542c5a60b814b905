/**
 * The identity of a tenant's file, stored in the file: `tenant_id`, `tenant_generation` and `tenant_created_ms` in
 * `meta`. They are written at the first open and compared at every later one, so a file copied over another tenant's is
 * never served as that tenant's. A file from before identities takes that of its directory, once.
 *
 * `tenant_timeline` is made with the file and never changes: 128 random bits that distinguish this history from that of
 * any other file, including one with the same tenant id. A position in the journal is only meaningful together with its own
 * timeline (`journal-timeline.ts`), which is this one unless a host of a cluster lost acknowledged commits.
 */
import {ServiceError} from '../../shared/errors.ts';
import {numberTransaction} from './commit-number.ts';
import type {Connection} from './connection.ts';
import {metaRow, SET_META} from './meta.ts';
import {setWrittenBy} from './written-by.ts';

export type TenantIdentity = {
  tenant: string;
  /** Never used twice on a server, so an id that was deleted and created again is another tenant. */
  generation: number;
  /** Epoch milliseconds. */
  createdMs: number;
};

/** The identity stored in a file. `timeline`: 32 hex characters. */
export type StoredIdentity = TenantIdentity & {timeline: string};

/** Null: no tenant has opened the file yet, or it is from before identities. */
export function readIdentity(db: Connection): StoredIdentity | null {
  const meta = db.prepare<[string], string | number>('SELECT value FROM meta WHERE key = ?').pluck();
  const tenant = meta.get('tenant_id');
  if (tenant === undefined) return null;
  return {
    tenant: String(tenant),
    generation: Number(meta.get('tenant_generation')),
    createdMs: Number(meta.get('tenant_created_ms')),
    timeline: tenantTimeline(db),
  };
}

/** The timeline of this file: 32 hex characters. */
export function tenantTimeline(db: Connection): string {
  return String(db.prepare("SELECT value FROM meta WHERE key = 'tenant_timeline'").pluck().get());
}

/**
 * Assigns the file to this tenant if it has no identity. @throws op.storage_damaged 503 when it is another tenant's;
 * the cause names that tenant
 */
export function claimFile(db: Connection, tenant: TenantIdentity): void {
  const stored = readIdentity(db);
  if (stored === null) {
    const set = db.prepare<[string, string | number, number]>(SET_META);
    db.transaction(() => {
      set.run(...metaRow('tenant_id', tenant.tenant));
      set.run(...metaRow('tenant_generation', tenant.generation));
      set.run(...metaRow('tenant_created_ms', tenant.createdMs));
      setWrittenBy(db);
      numberTransaction(db);
    }).immediate();
    return;
  }
  checkOwner(db, tenant);
}

/** @throws op.storage_damaged 503 when it is another tenant's; the cause names that tenant */
export function checkOwner(db: Connection, tenant: TenantIdentity): void {
  const stored = readIdentity(db);
  if (stored === null || (stored.tenant === tenant.tenant && stored.generation === tenant.generation)) return;
  throw damagedError(
    `the file in the directory of tenant ${tenant.tenant} (generation ${tenant.generation}) is that of tenant ${stored.tenant} (generation ${stored.generation})`,
  );
}

/** The error for clients of a tenant whose file cannot be trusted; `finding` is for the log. */
export function damagedError(finding: string): ServiceError {
  return new ServiceError(
    'op.storage_damaged',
    "the tenant's stored data is missing or damaged and is not served; the log of the service says what was found",
    undefined,
    {cause: new Error(finding)},
  );
}
