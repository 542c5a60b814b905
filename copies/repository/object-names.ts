/**
 * The names of a repository's objects.
 *
 *   svc-repository.json           what it is, and the check value of its key
 *   keys/TENANT.json              the tenant's data key, wrapped by the repository's key
 *   forgotten/TENANT.json         its data key was removed, and not lost
 *   packs/INV-RANDOM              sealed segments and their index
 *   manifests/TENANT/INV-RANDOM   what the tenant has, up to a pack
 *   proofs/TENANT/INV-RANDOM      what a drill has found
 *   leases/INV                    who became the writer, once for each epoch
 *   lease.json                    who is the writer, and when it was last seen
 *
 * INV is a counter (of a proof: epoch milliseconds), subtracted from the largest one: the newest name comes first in a
 * list, so it is found with one request. Counters of packs and manifests begin at EPOCH_COUNTERS times the epoch of their
 * writer, so that they come before those of earlier writers that a list does not show yet. RANDOM keeps names apart if two
 * servers use the same counter.
 */
import {randomBytes} from 'node:crypto';

const EPOCH_COUNTERS = 2 ** 28;

export const REPOSITORY_OBJECT = 'svc-repository.json';
export const LEASE_OBJECT = 'lease.json';
export const LEASES = 'leases/';
export const KEYS = 'keys/';
export const PACKS = 'packs/';

export function keyName(tenant: string): string {
  return `${KEYS}${tenant}.json`;
}

/** Null: the object is something else. */
export function tenantOfKey(name: string): string | null {
  return /^keys\/(.+)\.json$/.exec(name)?.[1] ?? null;
}

/** As above. */
export function tenantOfForgotten(name: string): string | null {
  return /^forgotten\/(.+)\.json$/.exec(name)?.[1] ?? null;
}

export const FORGOTTEN = 'forgotten/';

export function forgottenName(tenant: string): string {
  return `${FORGOTTEN}${tenant}.json`;
}

export const MANIFESTS = 'manifests/';

export function manifestsOf(tenant: string): string {
  return `${MANIFESTS}${tenant}/`;
}

/** Null: the object is something else. */
export function tenantOfManifest(name: string): string | null {
  return /^manifests\/([^/]+)\//.exec(name)?.[1] ?? null;
}

export function proofsOf(tenant: string): string {
  return `proofs/${tenant}/`;
}

/** @param prefix of a list. @param counter a safe integer */
export function newName(prefix: string, counter: number): string {
  return `${prefix}${inverted(counter)}-${randomBytes(16).toString('hex')}`;
}

/** Of a pack, manifest or proof. Null: the name is not one. */
export function counterOf(name: string): number | null {
  const digits = /\/(\d{16})-[0-9a-f]{32}$/.exec(name)?.[1];
  return digits === undefined ? null : Number.MAX_SAFE_INTEGER - Number(digits);
}

/** Where the counters of a writer begin: above those of the epochs before. A pack each second fills an epoch in 8 years. */
export function countersFrom(epoch: number): number {
  return epoch * EPOCH_COUNTERS;
}

export function leaseName(epoch: number): string {
  return `${LEASES}${inverted(epoch)}`;
}

/** Null: the name is not that of a lease. */
export function epochOf(name: string): number | null {
  const digits = /^leases\/(\d{16})$/.exec(name)?.[1];
  return digits === undefined ? null : Number.MAX_SAFE_INTEGER - Number(digits);
}

function inverted(counter: number): string {
  return String(Number.MAX_SAFE_INTEGER - counter).padStart(16, '0');
}
