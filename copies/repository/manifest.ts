/**
 * A manifest: everything that a repository has of one tenant, up to a pack. The next one replaces it. With the indexes
 * of the packs after it, it says what can be restored.
 */
import {MANIFESTS_TRIED_MAX} from '../limits.ts';
import type {ObjectStore} from '../store/object-store.ts';
import {sealJson, unsealJson} from './json.ts';
import type {DataKey} from './keys.ts';
import {counterOf, manifestsOf} from './object-names.ts';
import {damaged, RepositoryError} from './repository-error.ts';
import type {TenantCopies} from './tenant-copies.ts';

export type Manifest = Omit<TenantCopies, 'unreadable'> & {
  readonly format: 1;
  /** Items of packs up to this counter are in it, and not read from packs. */
  readonly through: number;
  /** Of the lease under which it was written. */
  readonly epoch: number;
  readonly writtenMs: number;
  /** Packs that the tenant uses no longer, and since when: a reader can still be using them. */
  readonly retired: {readonly pack: string; readonly atMs: number}[];
};

export function emptyManifest(tenant: string): Manifest {
  const lists = {timelines: [], files: [], notes: [], retired: []};
  return {format: 1, tenant, through: 0, epoch: 0, writtenMs: 0, ...lists};
}

export function sealManifest(key: DataKey, repositoryId: string, manifest: Manifest): Promise<Buffer> {
  return sealJson(key.bytes, contextOf(repositoryId, manifest.tenant), manifest);
}

/** @throws RepositoryError `damaged` */
export async function unsealManifest(
  key: DataKey,
  repositoryId: string,
  tenant: string,
  {name, bytes}: {name: string; bytes: Buffer},
): Promise<Manifest> {
  try {
    const manifest = (await unsealJson(key.bytes, contextOf(repositoryId, tenant), bytes)) as Manifest;
    if (manifest.format !== 1) throw new Error(`it has the format ${manifest.format}`);
    return manifest;
  } catch (caught) {
    throw damaged(name, (caught as Error).message, caught);
  }
}

/**
 * The newest manifest that can be read. Null: the tenant has none.
 * @returns `unreadable`: names of newer ones. @throws RepositoryError `damaged`: none of the newest can be read; StoreError
 */
export async function newestManifest(
  store: ObjectStore,
  key: DataKey,
  repositoryId: string,
  tenant: string,
): Promise<{manifest: Manifest; name: string; unreadable: string[]} | null> {
  const listed = await store.list(manifestsOf(tenant), {most: MANIFESTS_TRIED_MAX});
  const unreadable: string[] = [];
  for (const {name} of listed.filter(one => counterOf(one.name) !== null)) {
    try {
      const bytes = await store.get(name);
      if (bytes === null) continue; // A newer one has replaced it.
      return {manifest: await unsealManifest(key, repositoryId, tenant, {name, bytes}), name, unreadable};
    } catch (caught) {
      if (!(caught instanceof RepositoryError)) throw caught;
      unreadable.push(name);
    }
  }
  if (unreadable.length === 0) return null;
  throw damaged(unreadable[0]!, `so are all of the ${unreadable.length} newest manifests of ${tenant}`);
}

function contextOf(repositoryId: string, tenant: string): readonly string[] {
  return [repositoryId, 'manifest', tenant];
}
