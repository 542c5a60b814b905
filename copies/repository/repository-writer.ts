/**
 * The writer of a repository: holds its lease, and adds packs and manifests.
 *
 *   segments ─▶ pack: put, read back ─▶ still the holder? ─▶ they count     a manifest lists them later
 *
 * What was stored when `addPack` or `addLarge` returned can be restored: a reader finds the packs that no manifest lists.
 * Counters of packs grow, also over attempts that failed, and each epoch begins above those of the one before, which a
 * list may not show yet. A manifest is `through` the counter below which no pack is being stored, because a pack that is
 * completed later would not be found below it.
 */

import {setTimeout as delay} from 'node:timers/promises';
import type {Position} from '../../engine/copies/page-set.ts';
import {backOffMs} from '../../shared/back-off.ts';
import {
  FAILED_PACKS_MAX,
  IDLE_PACKS_MAX,
  PACK_BYTES_MAX,
  PENDING_ITEMS_MAX,
  READS_AT_ONCE,
  STORE_ATTEMPTS_MAX,
  STORE_RETRY_MS,
  STORE_RETRY_MS_MAX,
} from '../limits.ts';
import {inBatches} from '../store/batches.ts';
import type {ObjectStore} from '../store/object-store.ts';
import {StoreError} from '../store/store-error.ts';
import type {DataKey} from './keys.ts';
import {Lease, type LeaseRequest} from './lease.ts';
import {emptyManifest, type Manifest, newestManifest, sealManifest} from './manifest.ts';
import {itemOf, type LargeSegment, LargeSource, type NewSegment} from './new-segment.ts';
import {counterOf, countersFrom, manifestsOf, newName, PACKS} from './object-names.ts';
import type {PackEntry, PackIndex} from './pack.ts';
import {originOf, type Prepared, prepared, putAndReadBack, storeLargePack, storePack} from './pack-upload.ts';
import {copiesWith, type ListedPack, newestPosition, type Repository} from './repository.ts';
import {isOfTenant, RepositoryError} from './repository-error.ts';
import {addItem, isFile, type Origin, positionAfter, SERVER, type Stored} from './tenant-copies.ts';

type Pending = {counter: number; entry: PackEntry; storedMs: number};

/** What the writer knows of a tenant. */
type Known = {
  /** Of its newest manifest. */
  through: number;
  newest: Position | null;
  /** In the order in which they were stored. */
  pending: Pending[];
};

export class RepositoryWriter {
  readonly repository: Repository;
  /** Of tenants whose data key is damaged or lost: nothing is stored of them until it can be used again. */
  readonly faults = new Map<string, RepositoryError>();
  readonly #store: ObjectStore;
  readonly #lease: Lease;
  readonly #known = new Map<string, Known>();
  #counter = 0;
  /** Counters of the last packs, IDLE_PACKS_MAX at most. */
  #latest: number[] = [];
  /** Counters of packs that are being stored. */
  readonly #storing = new Set<number>();
  /** Packs that were completed since the last index was made. */
  #completed: string[] = [];
  /** Packs that the store did not take, or not as they are, since then. */
  #failed: string[] = [];
  #pendingItems = 0;
  /** Manifests are written one after the other. */
  #manifests: Promise<unknown> = Promise.resolve();

  private constructor(repository: Repository, lease: Lease) {
    this.repository = repository;
    this.#store = repository.store;
    this.#lease = lease;
  }

  /** @throws RepositoryError `locked`, `damaged`; StoreError */
  static async open(repository: Repository, request: LeaseRequest): Promise<RepositoryWriter> {
    const lease = await Lease.acquire(repository.store, request);
    const writer = new RepositoryWriter(repository, lease);
    try {
      await writer.#recover();
      return writer;
    } catch (caught) {
      lease.abandon();
      throw caught;
    }
  }

  get epoch(): number {
    return this.#lease.epoch;
  }

  /** Those that have copies, and the server's own files. */
  get tenants(): IterableIterator<string> {
    return this.#known.keys();
  }

  /** Where the newest stored state of the tenant is. Null: a base is needed. */
  newest(tenant: string): Position | null {
    return this.#known.get(tenant)?.newest ?? null;
  }

  /** Tries the data keys again that could not be used: an operator can have put them back. @throws StoreError */
  async retryFaults(): Promise<void> {
    for (const tenant of [...this.faults.keys()]) {
      const fault = await this.repository.keyFault(tenant);
      if (fault !== null) {
        this.faults.set(tenant, fault);
        continue;
      }
      const known = await this.#manifestKnown(tenant);
      if (known !== null) {
        await this.#addNewer(new Map([[tenant, known]]), await this.repository.packsAfter(known.through));
        this.#known.set(tenant, known);
      }
      this.faults.delete(tenant);
    }
  }

  /**
   * Stores segments, in as few packs as they fit, and reads them back: they count when it returns. A tenant whose data
   * key cannot be used does not keep the others from being stored.
   * @throws RepositoryError `locked`, `damaged` of a tenant; StoreError; PageSetError
   */
  async addPack(segments: readonly NewSegment[]): Promise<void> {
    let [group, bytes] = [[] as Prepared[], 0];
    let fault: RepositoryError | null = null;
    for (const segment of segments) {
      const key = await this.#keyOf(segment.tenant).catch(ifOfTenant);
      if (key instanceof RepositoryError) {
        fault = key;
        continue;
      }
      const next = prepared(this.repository.id, key, segment, itemOf(segment));
      if (group.length > 0 && bytes + next.sealed.length > PACK_BYTES_MAX) {
        await this.#addGroup(group);
        [group, bytes] = [[], 0];
      }
      group.push(next);
      bytes += next.sealed.length;
    }
    if (group.length > 0) await this.#addGroup(group);
    if (fault !== null) throw fault;
  }

  /** A page set, package or other file of any size, in a pack of its own. @throws as addPack */
  async addLarge(segment: LargeSegment): Promise<void> {
    const {tenant} = segment;
    const key = await this.#keyOf(tenant);
    const source = await LargeSource.open(segment);
    const of = {tenant, key, source, ...originOf(segment)};
    try {
      await this.#stored((name, index) =>
        storeLargePack(this.#store, this.#sealing, name, index, of).then(one => [one]),
      );
    } finally {
      await source.close();
    }
  }

  /** @param path of a page set that is a base. @throws as addPack */
  addBase(tenant: string, path: string, origin: Origin | null = null): Promise<void> {
    return this.addLarge({tenant, kind: 'base', path, origin});
  }

  /**
   * The tenant whose manifest is the oldest of those that are due: with news, or without news after many packs of other
   * tenants, whose indexes a reader of this one has to read. Null: none is due.
   */
  nextManifest(): string | null {
    let [next, oldest]: [string | null, number] = [null, Number.POSITIVE_INFINITY];
    for (const [tenant, {pending, through}] of this.#known) {
      const isIdle = this.#latest.length === IDLE_PACKS_MAX && through < this.#latest[0]!;
      const isDue = pending.length > 0 || isIdle;
      if (isDue && through < oldest) [next, oldest] = [tenant, through];
    }
    return next;
  }

  /** More than one manifest is due in an interval. */
  get isBehind(): boolean {
    return this.#pendingItems > PENDING_ITEMS_MAX;
  }

  /** @throws RepositoryError `locked`, `damaged`; StoreError */
  writeManifest(tenant: string): Promise<void> {
    return this.changeManifest(tenant, () => undefined);
  }

  /** Writes the tenant's next manifest. @param change is applied to what is in the repository */
  changeManifest(tenant: string, change: (manifest: Manifest) => void): Promise<void> {
    const written = this.#manifests.then(() => this.#writeManifest(tenant, change));
    this.#manifests = written.catch(() => undefined);
    return written;
  }

  /** Whether this is still the writer. @throws RepositoryError `locked`; StoreError */
  check(): Promise<void> {
    return this.#lease.check();
  }

  /** Stores nothing more, and keeps the lease for its time: this server takes it back at once, and no other. */
  abandon(): void {
    this.#lease.abandon();
  }

  /** Ends writing. Another server can begin at once. @throws StoreError */
  async release(): Promise<void> {
    await this.#manifests;
    await this.#lease.release().catch(unlessLocked);
  }

  /** @throws as Repository.dataKeyMade */
  async #keyOf(tenant: string): Promise<DataKey> {
    try {
      return await this.repository.dataKeyMade(tenant);
    } catch (caught) {
      if (isOfTenant(caught)) this.faults.set(tenant, caught);
      throw caught;
    }
  }

  get #sealing(): {repositoryId: string; indexKey: Buffer} {
    return {repositoryId: this.repository.id, indexKey: this.repository.keys.index};
  }

  async #addGroup(group: readonly Prepared[]): Promise<void> {
    await this.#stored((name, index) => storePack(this.#store, this.#sealing, name, index, group));
  }

  /** Stores a pack under a new counter, and again under another if the store fails. */
  async #stored(
    store: (name: string, index: Omit<PackIndex, 'entries'>) => Promise<readonly PackEntry[]>,
  ): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#storedOnce(store);
      } catch (caught) {
        if (!isWorthRetrying(caught) || failures + 1 >= STORE_ATTEMPTS_MAX) throw caught;
        await delay(backOffMs(STORE_RETRY_MS, STORE_RETRY_MS_MAX, failures));
      }
    }
  }

  async #storedOnce(
    store: (name: string, index: Omit<PackIndex, 'entries'>) => Promise<readonly PackEntry[]>,
  ): Promise<void> {
    const counter = ++this.#counter;
    this.#latest = [...this.#latest, counter].slice(-IDLE_PACKS_MAX);
    const name = newName(PACKS, counter);
    const [previous, failed] = [this.#completed, this.#failed];
    const storedMs = Date.now();
    [this.#completed, this.#failed] = [[], []];
    this.#storing.add(counter);
    try {
      const entries = await store(name, {format: 1, counter, epoch: this.epoch, storedMs, previous, failed});
      await this.#lease.check();
      for (const entry of entries) this.#record({counter, entry, storedMs});
      this.#completed.push(name);
    } catch (caught) {
      // It is not removed: a writer that took the lease can have found it, and count on it.
      this.#completed = [...previous, ...this.#completed];
      this.#failed = [...failed, ...this.#failed, name].slice(-FAILED_PACKS_MAX);
      throw caught;
    } finally {
      this.#storing.delete(counter);
    }
  }

  #record(pending: Pending): void {
    const {tenant, item, isMerged} = pending.entry;
    const known = this.#knownOf(tenant);
    known.pending.push(pending);
    this.#pendingItems++;
    if (!isFile(item) && !isMerged) known.newest = positionAfter(item);
  }

  #knownOf(tenant: string): Known {
    const known = this.#known.get(tenant) ?? {through: 0, newest: null, pending: []};
    this.#known.set(tenant, known);
    return known;
  }

  async #writeManifest(tenant: string, change: (manifest: Manifest) => void): Promise<void> {
    const known = this.#knownOf(tenant);
    const key = await this.#keyOf(tenant);
    await this.#lease.check();
    if (!(await this.repository.keepDataKey(tenant))) {
      // It was forgotten, and what is known of it cannot be read any more.
      this.#pendingItems -= known.pending.length;
      this.#known.delete(tenant);
      return;
    }
    const found = await newestManifest(this.#store, key, this.repository.id, tenant);
    const included = [...known.pending];
    const through = Math.min(this.#counter, ...[...this.#storing].map(one => one - 1));
    const before = found?.manifest ?? emptyManifest(tenant);
    // A newer manifest that cannot be read is replaced by what the packs say.
    const isKnown = before.through === known.through;
    const copies = copiesWith(before, isKnown ? [] : await this.repository.packsAfter(before.through), key, []);
    for (const {entry, storedMs} of included) addItem(copies, entry.item, storedOf(entry, storedMs));
    const {unreadable: _, ...listed} = copies;
    const counter = Math.max(found?.counter ?? 0, countersFrom(this.epoch)) + 1;
    const manifest: Manifest = {
      ...listed,
      format: 1,
      counter,
      retired: before.retired,
      through: Math.max(through, before.through),
      epoch: this.epoch,
      writtenMs: Date.now(),
    };
    change(manifest);
    await this.#putManifest(
      newName(manifestsOf(tenant), counter),
      await sealManifest(key, this.repository.id, manifest),
    );
    await this.#lease.check();
    known.through = manifest.through;
    known.pending.splice(0, included.length);
    this.#pendingItems -= included.length;
  }

  /** One that the store did not take as it is would be read before the older ones, so it is removed. */
  async #putManifest(name: string, bytes: Buffer): Promise<void> {
    try {
      await putAndReadBack(this.#store, name, bytes);
    } catch (caught) {
      await this.#store.remove([name]).catch(ifStoreError);
      throw caught;
    }
  }

  /** Reads what the packs and manifests of earlier writers say. A few manifests are in memory at a time. */
  async #recover(): Promise<void> {
    for (const [tenant, fault] of await this.repository.lostKeys()) this.faults.set(tenant, fault);
    const tenants = [...(await this.repository.tenants()), SERVER];
    await inBatches(tenants, READS_AT_ONCE, async tenant => {
      const known = await this.#manifestKnown(tenant);
      if (known !== null) this.#known.set(tenant, known);
    });
    const throughs = [...this.#known.values()].map(({through}) => through);
    const [newestPack] = await this.#store.list(PACKS, {most: 1});
    this.#counter = Math.max(counterOf(newestPack?.name ?? '') ?? 0, countersFrom(this.epoch), ...throughs);
    const packs = throughs.length === 0 ? [] : await this.#wholeAfter(Math.min(...throughs));
    this.#latest = packs.map(({counter}) => counter).slice(-IDLE_PACKS_MAX);
    await this.#addNewer(this.#known, packs);
  }

  /** What a tenant's manifest says. Null: it has no data key, or one that cannot be used. */
  async #manifestKnown(tenant: string): Promise<Known | null> {
    const key = await this.repository.dataKey(tenant).catch(ifOfTenant);
    if (key instanceof RepositoryError) this.faults.set(tenant, key);
    if (key === null || key instanceof RepositoryError) return null;
    const manifest = await this.#manifestOf(tenant, key);
    return {through: manifest.through, newest: newestPosition(manifest), pending: []};
  }

  /** Adds what packs have of these tenants that their manifests do not list. */
  async #addNewer(tenants: ReadonlyMap<string, Known>, packs: readonly ListedPack[]): Promise<void> {
    for (const {counter, index} of packs) {
      for (const entry of index?.entries ?? []) {
        const known = tenants.get(entry.tenant);
        if (known === undefined || counter <= known.through) continue;
        if (entry.key !== (await this.repository.dataKey(entry.tenant))?.id) continue;
        known.pending.push({counter, entry, storedMs: index!.storedMs});
        this.#pendingItems++;
      }
    }
    for (const [tenant, known] of tenants) {
      if (known.pending.length === 0) continue;
      const key = await this.repository.dataKey(tenant);
      const newer = packs.filter(({counter}) => counter > known.through);
      known.newest = newestPosition(copiesWith(await this.#manifestOf(tenant, key!), newer, key!, []));
    }
  }

  async #manifestOf(tenant: string, key: DataKey): Promise<Manifest> {
    const found = await newestManifest(this.#store, key, this.repository.id, tenant);
    return found?.manifest ?? emptyManifest(tenant);
  }

  async #wholeAfter(counter: number): Promise<ListedPack[]> {
    const packs = await this.repository.packsAfter(counter, true);
    const unnamed = packs.filter(({isNamed}) => !isNamed);
    this.#completed = unnamed.flatMap(({name, index}) => (index === null ? [] : [name]));
    this.#failed = unnamed.flatMap(({name, index}) => (index === null ? [name] : [])).slice(-FAILED_PACKS_MAX);
    return packs;
  }
}

function storedOf({origin, isMerged}: PackEntry, atMs: number): Stored {
  return {atMs, origin, isMerged};
}

/** Credentials and a full disk do not change within seconds. */
function isWorthRetrying(caught: unknown): boolean {
  return caught instanceof StoreError && ['unavailable', 'timeout'].includes(caught.code);
}

/** @returns the fault, for it to be handled as one of its tenant */
function ifOfTenant(caught: unknown): RepositoryError {
  if (isOfTenant(caught)) return caught;
  throw caught;
}

function ifStoreError(caught: unknown): void {
  if (!(caught instanceof StoreError)) throw caught;
}

function unlessLocked(caught: unknown): void {
  if (!(caught instanceof RepositoryError && caught.code === 'locked')) throw caught;
}
