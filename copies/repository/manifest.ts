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
  /** Of its name: an older manifest under a newer name is damaged. Manifests of early repositories have none. */
  readonly counter?: number;
  /** Items of packs up to this counter are in it, and not read from packs. */
  readonly through: number;
  /** Of the lease under which it was written. */
  readonly epoch: number;
  readonly writtenMs: number;
  /** Packs that the tenant uses no longer, and since when: a reader can still be using them. */
  readonly retired: {readonly pack: string; readonly atMs: number}[];
};

export function emptyManifest(tenant: string): Manifest {
  const lists = {timelines: [], files: [], retired: []};
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
    const {counter = counterOf(name)} = manifest;
    if (counter !== counterOf(name)) throw new Error(`it was stored as number ${counter}`);
    return manifest;
  } catch (caught) {
    throw damaged(name, (caught as Error).message, caught);
  }
}

export type FoundManifest = {
  readonly manifest: Manifest;
  /** Of the newest name: the next manifest has a higher one. */
  readonly counter: number;
  /** Names of newer ones that cannot be read. */
  readonly unreadable: string[];
};

/**
 * The newest manifest that can be read; an empty one, under which all packs are read, if none can. Null: the tenant has
 * none. @throws StoreError
 */
export async function newestManifest(
  store: ObjectStore,
  key: DataKey,
  repositoryId: string,
  tenant: string,
): Promise<FoundManifest | null> {
  const listed = await store.list(manifestsOf(tenant), {most: MANIFESTS_TRIED_MAX});
  const names = listed.map(({name}) => name).filter(name => counterOf(name) !== null);
  const unreadable: string[] = [];
  const counter = names.length === 0 ? 0 : counterOf(names[0]!)!;
  for (const name of names) {
    try {
      const bytes = await store.get(name);
      if (bytes === null) continue; // A newer one has replaced it.
      return {manifest: await unsealManifest(key, repositoryId, tenant, {name, bytes}), counter, unreadable};
    } catch (caught) {
      if (!(caught instanceof RepositoryError)) throw caught;
      unreadable.push(name);
    }
  }
  if (unreadable.length === 0) return null;
  // The indexes of the packs have the same items.
  return {manifest: emptyManifest(tenant), counter, unreadable};
}

function contextOf(repositoryId: string, tenant: string): readonly string[] {
  return [repositoryId, 'manifest', tenant];
}
