/**
 * A repository of copies: what is read of it. It needs the store and the repository's key, and nothing of the server
 * that wrote it. `repository-writer.ts` writes.
 */
import {createHash, randomBytes} from 'node:crypto';
import {open, rm} from 'node:fs/promises';
import type {Position} from '../../engine/copies/page-set.ts';
import {assert} from '../../shared/assert.ts';
import {LIST_PAGE_MAX, PACK_BYTES_MAX, READS_AT_ONCE} from '../limits.ts';
import {inBatches} from '../store/batches.ts';
import {listed, type ObjectStore} from '../store/object-store.ts';
import {StoreError} from '../store/store-error.ts';
import {sealJson, unsealJson} from './json.ts';
import {type DataKey, RepositoryKeys} from './keys.ts';
import {emptyManifest, type Manifest, newestManifest} from './manifest.ts';
import {
  counterOf,
  FORGOTTEN,
  forgottenName,
  KEYS,
  keyName,
  MANIFESTS,
  manifestsOf,
  newName,
  PACKS,
  proofsOf,
  REPOSITORY_OBJECT,
  tenantOfForgotten,
  tenantOfKey,
  tenantOfManifest,
} from './object-names.ts';
import {type PackIndex, readPackIndex, segmentContext} from './pack.ts';
import {putAndReadBack} from './pack-upload.ts';
import {pointsOf} from './plan.ts';
import {damaged, damagedKey, isOfTenant, RepositoryError} from './repository-error.ts';
import {UnsealError, unsealedParts} from './sealed.ts';
import {addItem, type Item, positionAfter, type TenantCopies} from './tenant-copies.ts';

/** The content of `svc-repository.json`. */
type Stored = {format: number; id: string; created_at: string; key_check: string};

const FORMAT = 1;

/** A pack, and what its index says. `index` null: it does not count, because it failed or cannot be read. */
export type ListedPack = {
  readonly name: string;
  readonly bytes: number;
  readonly counter: number;
  readonly index: PackIndex | null;
  /** A later pack says whether it is complete. */
  readonly isNamed: boolean;
};

export class Repository {
  readonly id: string;
  readonly store: ObjectStore;
  readonly keys: RepositoryKeys;
  readonly #dataKeys = new Map<string, DataKey>();

  private constructor(store: ObjectStore, keys: RepositoryKeys, id: string) {
    this.store = store;
    this.keys = keys;
    this.id = id;
  }

  /** Makes a repository in an empty store. @throws RepositoryError `exists`; StoreError */
  static async init(store: ObjectStore, key: Buffer): Promise<Repository> {
    await store.prepare();
    const there = await store.list('', {most: 1});
    if (there.length > 0) {
      const isOne = (await store.get(REPOSITORY_OBJECT)) !== null;
      const what = isOne ? 'a repository' : `other objects, like ${there[0]!.name}`;
      throw new RepositoryError('exists', `${store.url} has ${what} already`);
    }
    const id = randomBytes(16).toString('hex');
    const keys = new RepositoryKeys(key, id);
    const stored: Stored = {format: FORMAT, id, created_at: new Date().toISOString(), key_check: keys.check};
    await store.put(REPOSITORY_OBJECT, Buffer.from(`${JSON.stringify(stored)}\n`), {ifAbsent: true});
    return Repository.open(store, key);
  }

  /** @throws RepositoryError `no_repository`, `unknown_format`, `wrong_key`, `damaged`; StoreError */
  static async open(store: ObjectStore, key: Buffer): Promise<Repository> {
    const bytes = await store.get(REPOSITORY_OBJECT).catch(noStore(store));
    if (bytes === null) {
      throw new RepositoryError('no_repository', `${store.url} has no repository: svc backup init makes one`);
    }
    const {format, id, key_check: check} = parsedObject<Stored>(REPOSITORY_OBJECT, bytes);
    if (format !== FORMAT) {
      const message = `${store.url} has a repository of format ${format}; this svc knows ${FORMAT}`;
      throw new RepositoryError('unknown_format', message, {object: REPOSITORY_OBJECT});
    }
    if (typeof id !== 'string' || typeof check !== 'string') throw damaged(REPOSITORY_OBJECT, 'it has no id');
    const keys = new RepositoryKeys(key, id);
    if (keys.check === check) return new Repository(store, keys, id);
    throw new RepositoryError('wrong_key', `the key is not that of the repository in ${store.url}`);
  }

  /** The names of tenants that have a data key, sorted; the server's own files are not one. */
  async tenants(): Promise<string[]> {
    const names: string[] = [];
    for await (const {name} of listed(this.store, KEYS, LIST_PAGE_MAX)) {
      const tenant = tenantOfKey(name);
      if (tenant !== null && !tenant.startsWith('.')) names.push(tenant);
    }
    return names.sort();
  }

  /** @throws RepositoryError `no_copies`, `damaged`; StoreError */
  async copies(tenant: string): Promise<TenantCopies> {
    const key = await this.dataKey(tenant);
    if (key === null) {
      const none = new RepositoryError('no_copies', `${this.store.url} has no copies of the tenant ${tenant}`);
      throw (await this.keyFault(tenant)) ?? none;
    }
    const found = await newestManifest(this.store, key, this.id, tenant);
    const manifest = found?.manifest ?? emptyManifest(tenant);
    const packs = await this.packsAfter(manifest.through);
    return copiesWith(manifest, packs, key, found?.unreadable ?? []);
  }

  /** Where the newest state of a tenant is. Null: there is none. @throws RepositoryError; StoreError */
  async newest(tenant: string): Promise<Position | null> {
    if ((await this.dataKey(tenant)) === null) return null;
    return newestPosition(await this.copies(tenant));
  }

  /**
   * The packs after a counter, oldest first. One that no later pack names may never have been read back by its writer,
   * so that is done; a large one only if `readsLarge`. @throws StoreError
   */
  async packsAfter(counter: number, readsLarge = false): Promise<ListedPack[]> {
    const packs: Omit<ListedPack, 'index' | 'isNamed'>[] = [];
    for await (const {name, bytes} of listed(this.store, PACKS, LIST_PAGE_MAX)) {
      const its = counterOf(name);
      if (its === null) continue;
      if (its <= counter) break;
      packs.unshift({name, bytes, counter: its});
    }
    const read = await inBatches(packs, READS_AT_ONCE, async pack => ({...pack, index: await this.#indexOf(pack)}));
    const complete = new Set(read.flatMap(({index}) => index?.previous ?? []));
    const failed = new Set(read.flatMap(({index}) => index?.failed ?? []));
    return inBatches(read, READS_AT_ONCE, async pack => {
      const {name, bytes, index} = pack;
      if (index === null || failed.has(name)) return {...pack, index: null, isNamed: failed.has(name)};
      const isKnown = complete.has(name) || (bytes > PACK_BYTES_MAX && !readsLarge);
      return {...pack, index: isKnown || (await this.#isWhole(index)) ? index : null, isNamed: complete.has(name)};
    });
  }

  /**
   * Reads an item into a new file: a page set, or the content of a package or of the server's state. Nothing is left at
   * the path if it fails. @throws RepositoryError `damaged`; StoreError; errors of the file system
   */
  async fetch(tenant: string, item: Item, path: string): Promise<void> {
    const sum = createHash('sha256');
    let bytes = 0;
    const file = await open(path, 'wx', 0o600);
    try {
      try {
        for await (const part of this.parts(tenant, item)) {
          sum.update(part);
          bytes += part.length;
          await file.writeFile(part);
        }
      } finally {
        await file.close();
      }
      if (bytes !== item.bytes || sum.digest('hex') !== item.sha256) {
        throw damaged(item.place.pack, `it has other bytes than its index says at ${item.place.at}`);
      }
    } catch (caught) {
      await rm(path, {force: true});
      throw caught;
    }
  }

  /** The bytes of an item. All of them have to be compared with its SHA-256 before they are used. */
  async *parts(tenant: string, item: Item): AsyncGenerator<Buffer, void, undefined> {
    const {pack, at, sealedBytes} = item.place;
    const key = await this.dataKey(tenant);
    if (key === null) throw new RepositoryError('no_copies', `the data key of ${tenant} is gone: so are its copies`);
    const sealed = await this.store.stream(pack, {at, length: sealedBytes});
    if (sealed === null) throw damaged(pack, 'it is missing');
    try {
      yield* unsealedParts(key.bytes, segmentContext(this.id, tenant, item), sealed);
    } catch (caught) {
      if (caught instanceof UnsealError) throw damaged(pack, caught.message, caught);
      throw caught;
    }
  }

  /** Null: the tenant has no copies. @throws RepositoryError `damaged`, of this tenant; StoreError */
  async dataKey(tenant: string): Promise<DataKey | null> {
    const known = this.#dataKeys.get(tenant);
    if (known !== undefined) return known;
    const stored = await this.store.get(keyName(tenant));
    if (stored === null) return null;
    try {
      const key = this.keys.dataKey(tenant, stored);
      this.#dataKeys.set(tenant, key);
      return key;
    } catch (caught) {
      throw damagedKey(tenant, (caught as Error).message, caught);
    }
  }

  /** Makes a data key if the tenant has none. @throws RepositoryError `damaged`, of this tenant; StoreError */
  async dataKeyMade(tenant: string): Promise<DataKey> {
    const known = await this.dataKey(tenant);
    if (known !== null) return known;
    const isForgotten = await this.#isForgotten(tenant);
    // Only a key that was lost leaves manifests: a new one would make them unreadable for ever.
    if (!isForgotten && (await this.#hasManifests(tenant))) throw lostKey(tenant);
    if (isForgotten) {
      // A server that did not know yet can have stored some since.
      await this.#removeAll(manifestsOf(tenant));
      await this.store.remove([forgottenName(tenant)]);
    }
    const stored = this.keys.wrapped(tenant, this.keys.newDataKey());
    await this.store.put(keyName(tenant), stored, {ifAbsent: true}).catch(unlessExists);
    // What the store has is used, and nothing that it did not keep.
    const key = await this.dataKey(tenant);
    if (key === null) throw damagedKey(tenant, 'the store did not keep it');
    return key;
  }

  /** Why the tenant's data key cannot be used. Null: it can, or there is none to be used. @throws StoreError */
  async keyFault(tenant: string): Promise<RepositoryError | null> {
    try {
      if ((await this.dataKey(tenant)) !== null) return null;
    } catch (caught) {
      if (isOfTenant(caught)) return caught;
      throw caught;
    }
    const isLost = (await this.#hasManifests(tenant)) && !(await this.#isForgotten(tenant));
    return isLost ? lostKey(tenant) : null;
  }

  /**
   * Stores a data key again if the store has lost or replaced it: whatever is sealed with it is lost otherwise.
   * @returns false: the tenant was forgotten
   */
  async keepDataKey(tenant: string): Promise<boolean> {
    const key = this.#dataKeys.get(tenant);
    assert(key !== undefined, 'the data key is in use');
    const stored = await this.store.get(keyName(tenant));
    if (stored !== null && this.#isKey(tenant, stored, key)) return true;
    if (stored === null && (await this.#isForgotten(tenant))) {
      this.#dataKeys.delete(tenant);
      return false;
    }
    await putAndReadBack(this.store, keyName(tenant), this.keys.wrapped(tenant, key));
    return true;
  }

  /**
   * Removes the data key, without which no copy of the tenant can be read. It needs no lease: a server that has the key
   * in memory finds that the tenant was forgotten, and begins again with a new one if it still has the tenant.
   * @throws StoreError
   */
  async forget(tenant: string): Promise<void> {
    await this.store.put(forgottenName(tenant), Buffer.from('{}\n'));
    await this.store.remove([keyName(tenant)]);
    this.#dataKeys.delete(tenant);
    if ((await this.store.get(keyName(tenant))) !== null) {
      throw new StoreError('unavailable', `${this.store.url} still has ${keyName(tenant)}`);
    }
    for (const prefix of [manifestsOf(tenant), proofsOf(tenant)]) await this.#removeAll(prefix);
  }

  /** The faults of tenants that have manifests and no data key: it was lost. @throws StoreError */
  async lostKeys(): Promise<Map<string, RepositoryError>> {
    const there = new Set<string | null>();
    for (const [prefix, tenantOf] of [
      [KEYS, tenantOfKey],
      [FORGOTTEN, tenantOfForgotten],
    ] as const) {
      for await (const {name} of listed(this.store, prefix, LIST_PAGE_MAX)) there.add(tenantOf(name));
    }
    const lost = new Map<string, RepositoryError>();
    for await (const {name} of listed(this.store, MANIFESTS, LIST_PAGE_MAX)) {
      const tenant = tenantOfManifest(name);
      if (tenant !== null && !there.has(tenant)) lost.set(tenant, lostKey(tenant));
    }
    return lost;
  }

  /** Stores what a drill has found. It needs no lease. @throws RepositoryError; StoreError */
  async addProof(tenant: string, proof: object): Promise<void> {
    const key = await this.dataKey(tenant);
    if (key === null) throw new RepositoryError('no_copies', `there are no copies of ${tenant}`);
    const name = newName(proofsOf(tenant), Date.now());
    await this.store.put(name, await sealJson(key.bytes, [this.id, 'proof', tenant], proof), {ifAbsent: true});
  }

  /** Null: there is none. @throws RepositoryError `damaged`; StoreError */
  async newestProof(tenant: string): Promise<unknown> {
    const [newest] = await this.store.list(proofsOf(tenant), {most: 1});
    const key = await this.dataKey(tenant);
    const bytes = newest === undefined ? null : await this.store.get(newest.name);
    if (newest === undefined || key === null || bytes === null) return null;
    return unsealJson(key.bytes, [this.id, 'proof', tenant], bytes).catch(caught => {
      throw damaged(newest.name, (caught as Error).message, caught);
    });
  }

  close(): void {
    this.store.close();
  }

  /** Whether a pack has the bytes that its index says. @throws StoreError */
  async #isWhole(index: PackIndex): Promise<boolean> {
    for (const {tenant, key, item} of index.entries) {
      // It was forgotten. Of a tenant whose key is damaged nothing can be said, and the others do not wait for it.
      if ((await this.dataKey(tenant).catch(nullIfOfTenant))?.id !== key) continue;
      const sum = createHash('sha256');
      try {
        for await (const part of this.parts(tenant, item)) sum.update(part);
      } catch (caught) {
        if (!(caught instanceof RepositoryError)) throw caught;
        return false;
      }
      if (sum.digest('hex') !== item.sha256) return false;
    }
    return true;
  }

  async #hasManifests(tenant: string): Promise<boolean> {
    return (await this.store.list(manifestsOf(tenant), {most: 1})).length > 0;
  }

  async #isForgotten(tenant: string): Promise<boolean> {
    return (await this.store.get(forgottenName(tenant))) !== null;
  }

  #isKey(tenant: string, stored: Buffer, {id}: DataKey): boolean {
    try {
      return this.keys.dataKey(tenant, stored).id === id;
    } catch {
      return false; // It is damaged.
    }
  }

  async #removeAll(prefix: string): Promise<void> {
    for (let page = [{name: ''}]; page.length > 0; ) {
      page = await this.store.list(prefix, {most: LIST_PAGE_MAX});
      await this.store.remove(page.map(({name}) => name));
    }
  }

  async #indexOf(pack: Omit<ListedPack, 'index' | 'isNamed'>): Promise<PackIndex | null> {
    try {
      return await readPackIndex(this.store, this.keys.index, this.id, pack);
    } catch (caught) {
      if (caught instanceof RepositoryError) return null;
      throw caught;
    }
  }
}

/** @param packs those after the manifest's */
export function copiesWith(
  manifest: Manifest,
  packs: readonly ListedPack[],
  key: DataKey,
  unreadable: readonly string[],
): TenantCopies {
  const {tenant, files, timelines} = manifest;
  const copies: TenantCopies = {
    tenant,
    timelines: timelines.map(one => ({...one, bases: [...one.bases], sets: [...one.sets]})),
    files: [...files],
    unreadable: [...unreadable, ...missingOf(packs, manifest.through)],
  };
  for (const {index} of packs) {
    for (const {tenant: its, key: id, item, origin, isMerged} of index?.entries ?? []) {
      if (its === tenant && id === key.id) addItem(copies, item, {atMs: index!.storedMs, origin, isMerged});
    }
  }
  return copies;
}

/** The newest state of the newest timeline. */
export function newestPosition({timelines}: Pick<TenantCopies, 'timelines'>): Position | null {
  const newest = timelines.at(-1);
  const end = newest === undefined ? undefined : pointsOf(newest).at(-1);
  return end === undefined ? null : positionAfter(end);
}

/** Packs that cannot be read, and those that a later one names and that are gone. */
function missingOf(packs: readonly ListedPack[], through: number): string[] {
  const names = new Set(packs.map(({name}) => name));
  const failed = new Set(packs.flatMap(({index}) => index?.failed ?? []));
  const lost = packs.filter(({name, index}) => index === null && !failed.has(name)).map(({name}) => name);
  const gone = packs
    .flatMap(({index}) => index?.previous ?? [])
    .filter(name => (counterOf(name) ?? 0) > through && !names.has(name));
  return [...lost, ...gone];
}

function parsedObject<T>(name: string, bytes: Buffer): Partial<T> {
  try {
    return JSON.parse(bytes.toString()) as Partial<T>;
  } catch (caught) {
    throw damaged(name, (caught as Error).message, caught);
  }
}

function noStore(store: ObjectStore): (caught: unknown) => never {
  return caught => {
    if (!(caught instanceof StoreError)) throw caught;
    throw new RepositoryError('unavailable', `${store.url}: ${caught.message}`, {cause: caught});
  };
}

function lostKey(tenant: string): RepositoryError {
  return damagedKey(tenant, `it is missing, and there are copies of ${tenant}: put it back`);
}

function nullIfOfTenant(caught: unknown): null {
  if (isOfTenant(caught)) return null;
  throw caught;
}

function unlessExists(caught: unknown): void {
  if (!(caught instanceof StoreError && caught.code === 'exists')) throw caught;
}
