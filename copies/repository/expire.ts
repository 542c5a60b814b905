/**
 * Retention: drops the points that a policy does not keep, and removes the objects that nothing needs any more.
 *
 * An object is removed only if it is older than the grace period, no manifest lists it, no manifest has dropped it within
 * that period, and every manifest is newer than it, so that no reader looks for it. If the newest manifest of any tenant
 * cannot be read, nothing is removed; if a tenant's data key cannot be used, no pack is.
 */
import {GRACE_MS, LIST_PAGE_MAX, MANIFEST_GRACE_MS, MANIFESTS_KEPT, PROOFS_KEPT} from '../limits.ts';
import {listed, type ObjectInfo} from '../store/object-store.ts';
import {compact} from './compact.ts';
import {emptyManifest, type Manifest, newestManifest} from './manifest.ts';
import {counterOf, manifestsOf, PACKS, proofsOf} from './object-names.ts';
import type {Repository} from './repository.ts';
import {damaged, isOfTenant, RepositoryError} from './repository-error.ts';
import type {RepositoryWriter} from './repository-writer.ts';
import {type Policy, tidied} from './retention.ts';
import {SERVER} from './tenant-copies.ts';

export type RetentionOptions = {
  /** Null: no point ends, and only objects that nothing lists are removed. */
  readonly policy: Policy | null;
  readonly nowMs: number;
  readonly graceMs?: number;
  readonly onTenant?: (tenant: string, at: number, of: number) => void;
};

export type ExpireOptions = RetentionOptions & {
  /** A directory for files that are removed again. */
  readonly scratch: string;
};

export type Removed = {
  readonly objects: number;
  readonly bytes: number;
  /** Of tenants whose data key cannot be used: they stay as they are. */
  readonly faults: readonly RepositoryError[];
};

export type Expired = Removed & {
  /** Numbers of page sets that are not listed any more, by tenant. */
  readonly items: ReadonlyMap<string, number>;
};

/** @throws RepositoryError `locked`, `damaged`: nothing is removed then; StoreError */
export async function expire(writer: RepositoryWriter, options: ExpireOptions): Promise<Expired> {
  const items = await ofEach(writer.repository, options, async tenant => {
    let dropped = 0;
    for (let done = await compact(writer, tenant, options); done !== null; ) {
      dropped += done.dropped;
      done = await compact(writer, tenant, options);
    }
    return dropped;
  });
  return {items, ...(await removeUnneeded(writer, options))};
}

/** What `expire` would do now. It only reads, so a server can be writing meanwhile. @throws RepositoryError; StoreError */
export async function expirable(repository: Repository, options: RetentionOptions): Promise<Expired> {
  const items = await ofEach(repository, options, async tenant => {
    const {dropped, runs} = tidied((await repository.copies(tenant)).timelines, options.policy, options.nowMs);
    return dropped.length + runs.reduce((sum, run) => sum + run.length, 0);
  });
  const faults: RepositoryError[] = [];
  let [objects, bytes] = [0, 0];
  for await (const object of unneeded(repository, options, faults, null)) {
    objects++;
    bytes += object.bytes;
  }
  return {items, objects, bytes, faults};
}

/** Removes objects that nothing needs. It can be called alone. @throws as expire */
export async function removeUnneeded(
  writer: RepositoryWriter,
  options: Pick<RetentionOptions, 'nowMs' | 'graceMs'>,
): Promise<Removed> {
  const {repository} = writer;
  const {store} = repository;
  const faults: RepositoryError[] = [];
  let [objects, bytes, names] = [0, 0, [] as string[]];
  const remove = async (): Promise<void> => {
    if (names.length > 0) await writer.check();
    await store.remove(names);
    names = [];
  };
  for await (const object of unneeded(repository, options, faults, tenant => writer.writeManifest(tenant))) {
    objects++;
    bytes += object.bytes;
    names.push(object.name);
    if (names.length >= LIST_PAGE_MAX) await remove();
  }
  await remove();
  await store.removeLeftovers?.(options.nowMs - (options.graceMs ?? GRACE_MS));
  return {objects, bytes, faults};
}

/** Those with a number; a tenant whose copies cannot be read is left out. */
async function ofEach(
  repository: Repository,
  {onTenant}: RetentionOptions,
  count: (tenant: string) => Promise<number>,
): Promise<Map<string, number>> {
  const tenants = await repository.tenants();
  const counts = new Map<string, number>();
  for (const [i, tenant] of tenants.entries()) {
    onTenant?.(tenant, i, tenants.length);
    const items = await count(tenant).catch((caught: unknown) => {
      const isForgotten = caught instanceof RepositoryError && caught.code === 'no_copies';
      if (isForgotten || isOfTenant(caught)) return 0;
      throw caught;
    });
    if (items > 0) counts.set(tenant, items);
  }
  return counts;
}

/**
 * @param faults gets those of tenants whose data key cannot be used
 * @param writeFirst makes the first manifest of a tenant. Null: what it would list is taken
 */
async function* unneeded(
  repository: Repository,
  {nowMs, graceMs = GRACE_MS}: Pick<RetentionOptions, 'nowMs' | 'graceMs'>,
  faults: RepositoryError[],
  writeFirst: ((tenant: string) => Promise<void>) | null,
): AsyncGenerator<ObjectInfo, void, undefined> {
  const needed = new Set<string>();
  let through = Number.MAX_SAFE_INTEGER;
  for (const tenant of [...(await repository.tenants()), SERVER]) {
    const manifest = await manifestOf(repository, tenant, writeFirst).catch((caught: unknown) => {
      if (!isOfTenant(caught)) throw caught;
      faults.push(caught);
      return null;
    });
    if (manifest === null) continue;
    through = Math.min(through, manifest.through);
    for (const name of packsOf(manifest, nowMs - graceMs)) needed.add(name);
    for await (const old of behind(repository, manifestsOf(tenant), MANIFESTS_KEPT)) {
      if (old.modifiedMs < nowMs - MANIFEST_GRACE_MS) yield old;
    }
    yield* behind(repository, proofsOf(tenant), PROOFS_KEPT);
  }
  faults.push(...(await repository.lostKeys()).values());
  if (faults.length > 0) return; // Which packs these tenants need cannot be known.
  for await (const pack of listed(repository.store, PACKS, LIST_PAGE_MAX)) {
    const counter = counterOf(pack.name);
    const isOld = counter !== null && counter <= through && pack.modifiedMs < nowMs - graceMs;
    if (isOld && !needed.has(pack.name)) yield pack;
  }
}

/** The newest one. Null: the tenant has no copies. @throws RepositoryError: it cannot be read, or is missing */
async function manifestOf(
  repository: Repository,
  tenant: string,
  writeFirst: ((tenant: string) => Promise<void>) | null,
): Promise<Manifest | null> {
  const key = await repository.dataKey(tenant);
  if (key === null) return null;
  const find = (): ReturnType<typeof newestManifest> => newestManifest(repository.store, key, repository.id, tenant);
  let found = await find();
  if (found === null && writeFirst === null) {
    return {...emptyManifest(tenant), ...(await repository.copies(tenant)), through: Number.MAX_SAFE_INTEGER};
  }
  if (found === null) {
    await writeFirst!(tenant);
    found = await find();
  }
  if (found === null) throw damaged(manifestsOf(tenant), 'its manifest is missing');
  if (found.unreadable.length > 0) throw damaged(found.unreadable[0]!, 'nothing is removed while it cannot be read');
  return found.manifest;
}

function* packsOf({timelines, files, retired}: Manifest, retiredMs: number): Generator<string> {
  for (const {bases, sets} of timelines) for (const list of [bases, sets]) for (const {place} of list) yield place.pack;
  for (const {place} of files) yield place.pack;
  for (const {pack, atMs} of retired) if (atMs > retiredMs) yield pack;
}

/** All but the newest. */
async function* behind(
  repository: Repository,
  prefix: string,
  newest: number,
): AsyncGenerator<ObjectInfo, void, undefined> {
  let at = 0;
  for await (const object of listed(repository.store, prefix, LIST_PAGE_MAX)) if (at++ >= newest) yield object;
}
