/**
 * Retention: drops the points that a policy does not keep, and removes the objects that nothing needs any more.
 *
 * An object is removed only if it is older than the grace period, no manifest lists it, no manifest has dropped it within
 * that period, and every manifest is newer than it, so that no reader looks for it. If the newest manifest of any tenant
 * cannot be read, nothing is removed.
 */
import {GRACE_MS, LIST_PAGE_MAX, MANIFEST_GRACE_MS, MANIFESTS_KEPT, PROOFS_KEPT} from '../limits.ts';
import {listed, type ObjectInfo} from '../store/object-store.ts';
import {compact} from './compact.ts';
import {type Manifest, newestManifest} from './manifest.ts';
import {counterOf, manifestsOf, PACKS, proofsOf} from './object-names.ts';
import {damaged} from './repository-error.ts';
import type {RepositoryWriter} from './repository-writer.ts';
import {type Policy, tidied} from './retention.ts';
import {SERVER} from './tenant-copies.ts';

export type ExpireOptions = {
  /** Null: no point ends, and only objects that nothing lists are removed. */
  readonly policy: Policy | null;
  /** A directory for files that are removed again. */
  readonly scratch: string;
  readonly nowMs: number;
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean;
  readonly graceMs?: number;
  readonly onTenant?: (tenant: string, at: number, of: number) => void;
};

export type Expired = {
  /** Page sets that no manifest lists any more. */
  readonly items: number;
  readonly objects: number;
  readonly bytes: number;
};

/** @throws RepositoryError `locked`, `damaged`: nothing is removed then; StoreError */
export async function expire(writer: RepositoryWriter, options: ExpireOptions): Promise<Expired> {
  const tenants = await writer.repository.tenants();
  let items = 0;
  for (const [i, tenant] of tenants.entries()) {
    options.onTenant?.(tenant, i, tenants.length);
    items += await dropPoints(writer, tenant, options);
  }
  return {items, ...(await removeUnneeded(writer, options))};
}

/** @returns the number of page sets */
async function dropPoints(
  writer: RepositoryWriter,
  tenant: string,
  {policy, scratch, nowMs, dryRun}: ExpireOptions,
): Promise<number> {
  if (dryRun === true) {
    const {dropped, runs} = tidied((await writer.repository.copies(tenant)).timelines, policy, nowMs);
    return dropped.length + runs.reduce((sum, run) => sum + run.length, 0);
  }
  let dropped = 0;
  for (let done = await compact(writer, tenant, {scratch, policy, nowMs}); done !== null; ) {
    dropped += done.dropped;
    done = await compact(writer, tenant, {scratch, policy, nowMs});
  }
  return dropped;
}

/** Removes objects that nothing needs. It can be called alone. @throws as expire */
export async function removeUnneeded(
  writer: RepositoryWriter,
  {nowMs, dryRun, graceMs = GRACE_MS}: Pick<ExpireOptions, 'nowMs' | 'dryRun' | 'graceMs'>,
): Promise<Pick<Expired, 'objects' | 'bytes'>> {
  const removal = new Removal(writer, dryRun === true);
  const needed = new Set<string>();
  let through = Number.MAX_SAFE_INTEGER;
  for (const tenant of [...(await writer.repository.tenants()), SERVER]) {
    const manifest = await readManifest(writer, tenant);
    if (manifest === null) continue;
    through = Math.min(through, manifest.through);
    for (const name of packsOf(manifest, nowMs - graceMs)) needed.add(name);
    for await (const old of behind(writer, manifestsOf(tenant), MANIFESTS_KEPT)) {
      if (old.modifiedMs < nowMs - MANIFEST_GRACE_MS) await removal.add(old);
    }
    for await (const old of behind(writer, proofsOf(tenant), PROOFS_KEPT)) await removal.add(old);
  }
  // Which packs their manifests need cannot be known.
  if ((await writer.repository.tenantsWithoutKey()).length > 0) through = -1;
  for await (const pack of listed(writer.repository.store, PACKS, LIST_PAGE_MAX)) {
    const counter = counterOf(pack.name);
    const isOld = counter !== null && counter <= through && pack.modifiedMs < nowMs - graceMs;
    if (isOld && !needed.has(pack.name)) await removal.add(pack);
  }
  await removal.end();
  if (dryRun !== true) await writer.repository.store.removeLeftovers?.(nowMs - graceMs);
  return {objects: removal.objects, bytes: removal.bytes};
}

/** Removes a page of objects at a time, as long as this is still the writer. */
class Removal {
  objects = 0;
  bytes = 0;
  readonly #writer: RepositoryWriter;
  readonly #isDry: boolean;
  #names: string[] = [];

  constructor(writer: RepositoryWriter, isDry: boolean) {
    this.#writer = writer;
    this.#isDry = isDry;
  }

  async add({name, bytes}: ObjectInfo): Promise<void> {
    this.objects++;
    this.bytes += bytes;
    this.#names.push(name);
    if (this.#names.length >= LIST_PAGE_MAX) await this.end();
  }

  async end(): Promise<void> {
    const names = this.#names;
    this.#names = [];
    if (this.#isDry || names.length === 0) return;
    await this.#writer.check();
    await this.#writer.repository.store.remove(names);
  }
}

/** The newest one. Null: the tenant has no copies. @throws RepositoryError: it cannot be read, or is missing */
async function readManifest(writer: RepositoryWriter, tenant: string): Promise<Manifest | null> {
  const {repository} = writer;
  const key = await repository.dataKey(tenant);
  if (key === null) return null;
  const find = (): ReturnType<typeof newestManifest> => newestManifest(repository.store, key, repository.id, tenant);
  let found = await find();
  if (found === null) {
    await writer.writeManifest(tenant); // its first
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
  {repository}: RepositoryWriter,
  prefix: string,
  newest: number,
): AsyncGenerator<ObjectInfo, void, undefined> {
  let at = 0;
  for await (const object of listed(repository.store, prefix, LIST_PAGE_MAX)) if (at++ >= newest) yield object;
}
