/**
 * Whose file this is, in the file itself: `tenant_id`, `tenant_generation` and `tenant_created_ms` in `meta`, written at the
 * first open and compared at every later one, so that a file that was copied over another tenant's is never served as that
 * tenant's. Files from before there was an identity take that of the directory they are found in, once.
 *
 * `tenant_timeline` is made with the file and never changes: 128 random bits that tell this history from that of any other
 * file, one of the same tenant id included. A position in the journal means something only together with it.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {Connection} from './connection.ts';
import {metaRow, SET_META} from './meta.ts';

export type TenantIdentity = {
  tenant: string;
  /** Never used twice on a server, so an id that was deleted and created again is another tenant. */
  generation: number;
  /** Epoch milliseconds. */
  createdMs: number;
};

/** A file that calls itself so. `timeline`: 32 hex characters. */
export type StoredIdentity = TenantIdentity & {timeline: string};

/** Null: no tenant has opened the file yet, or it is from before files had an identity. */
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

/** What tells this file's history from any other: 32 hex characters. */
export function tenantTimeline(db: Connection): string {
  return String(db.prepare("SELECT value FROM meta WHERE key = 'tenant_timeline'").pluck().get());
}

/**
 * Makes the file this tenant's if it is nobody's. @throws op.storage_damaged 503 when it is another's: the cause says whose
 */
export function claimFile(db: Connection, tenant: TenantIdentity): void {
  const stored = readIdentity(db);
  if (stored === null) {
    const set = db.prepare<[string, string | number, number]>(SET_META);
    db.transaction(() => {
      set.run(...metaRow('tenant_id', tenant.tenant));
      set.run(...metaRow('tenant_generation', tenant.generation));
      set.run(...metaRow('tenant_created_ms', tenant.createdMs));
    }).immediate();
    return;
  }
  checkOwner(db, tenant);
}

/** @throws op.storage_damaged 503 when it is another's: the cause says whose */
export function checkOwner(db: Connection, tenant: TenantIdentity): void {
  const stored = readIdentity(db);
  if (stored === null || (stored.tenant === tenant.tenant && stored.generation === tenant.generation)) return;
  throw damagedError(
    `the file in the directory of tenant ${tenant.tenant} (generation ${tenant.generation}) is that of tenant ${stored.tenant} (generation ${stored.generation})`,
  );
}

/** What a client learns of a tenant whose file cannot be trusted; `finding` is for the log. */
export function damagedError(finding: string): ServiceError {
  return new ServiceError(
    'op.storage_damaged',
    "the tenant's stored data is missing or damaged and is not served; the log of the service says what was found",
    undefined,
    {cause: new Error(finding)},
  );
}
