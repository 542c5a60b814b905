/**
 * The names of tenants' directories: `t_<encoded id>_<generation>`, and `d_…` once the tenant is deleted. A name
 * contains an encoding of the id, because on a case-insensitive file system `Acme` and `acme` must not collide. Both
 * names have the same length, so that a deletion needs no additional space in the parent directory.
 */
import {assert} from '../../shared/assert.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';

export type DirectoryName = {kind: 'tenant' | 'deleted'; id: string; generation: number};

/**
 * An upper-case letter is encoded as `=` and its lower-case form, and `_` as `=_`, so the last `_` is the separator.
 */
export function tenantDirectoryName(id: string, generation: number): string {
  assert(TENANT_ID.test(id), 'a tenant id was checked before it names a directory');
  return `t_${id.replace(/[A-Z_]/g, char => `=${char.toLowerCase()}`)}_${generation}`;
}

export function deletedDirectoryName(id: string, generation: number): string {
  return `d${tenantDirectoryName(id, generation).slice(1)}`;
}

/** Null: not a name that svc gives. */
export function parseDirectoryName(name: string): DirectoryName | null {
  const parts = /^([td])_(.+)_([1-9]\d*)$/.exec(name);
  if (parts === null) return null;
  const id = parts[2]!.replace(/=(.)/g, (_, char: string) => char.toUpperCase());
  const generation = Number(parts[3]);
  if (!TENANT_ID.test(id) || !Number.isSafeInteger(generation)) return null;
  if (tenantDirectoryName(id, generation).slice(1) !== name.slice(1)) return null;
  return {kind: parts[1] === 't' ? 'tenant' : 'deleted', id, generation};
}
