/**
 * Packages of tenants (`node.externalPackages`) in the store of the cluster: tarballs, named by the SHA-512 of their
 * content, in parts. A small record lists those of a tenant. A package is there once the list has it.
 *
 * Invariants
 * - The owner of the newest epoch decides. It notes its epoch in the list before it relies on what the list has, so an
 *   earlier owner, which does not know its deployments, can remove nothing that they use.
 * - A package that is being written, or was dropped, is on the list of what is to be removed; the next change removes it.
 */
import {createHash, randomBytes} from 'node:crypto';
import type {Source} from '../../engine/copies/bytes.ts';
import {PACKAGES_KEPT_BYTES_MAX} from '../../shared/limits.ts';
import {PACKAGES_LISTED_MAX} from '../limits.ts';
import type {LogEngine} from './log-engine.ts';
import {decodePackageList, encodePackageList, NO_PACKAGES, type PackageInfo, type PackageList} from './package-list.ts';
import type {SmallRecords} from './small-records.ts';
import {type Listed, type NotStored, StoredList} from './stored-list.ts';
import {StoredParts} from './stored-parts.ts';
import type {Subjects, TenantName} from './subjects.ts';
import type {Timing} from './timing.ts';

/** A tenant, as the owner of an epoch changes its packages: one change after the other. */
export class Owned {
  readonly tenant: TenantName;
  readonly epoch: number;
  /** The list as this owner has left it: no other one changes it in its epoch. Null: it has to be read. */
  listed: Listed<PackageList> | null = null;

  constructor(tenant: TenantName, epoch: number) {
    [this.tenant, this.epoch] = [tenant, epoch];
  }
}

export type NewPackage = {readonly sha512: string; readonly file: Source; readonly replaces: boolean};

export type StoredPackage =
  | {readonly kind: 'stored'}
  /** Its bytes are not those that its name says. */
  | {readonly kind: 'other'}
  /** The tenant has as many, or as many bytes, as it can have. */
  | {readonly kind: 'too_many'}
  | NotStored;

export class Packages {
  readonly #parts: StoredParts;
  readonly #subjects: Subjects;
  readonly #list: StoredList<PackageList>;

  constructor(engine: LogEngine, timing: Timing, subjects: Subjects, records: SmallRecords) {
    this.#parts = new StoredParts(engine, timing);
    this.#subjects = subjects;
    this.#list = new StoredList(records, 'package', {
      encode: encodePackageList,
      decode: decodePackageList,
      empty: NO_PACKAGES,
    });
  }

  /** @throws LogError, EngineError */
  async list(tenant: TenantName): Promise<readonly PackageInfo[]> {
    return (await this.#list.read(tenant)).list.packages;
  }

  /** The list, as the owner of this epoch has it from now on. @throws LogError, EngineError */
  async claimed(owned: Owned, signal?: AbortSignal): Promise<readonly PackageInfo[] | NotStored> {
    const before = await this.#of(owned);
    const {packages} = before.list;
    // What was read can be old: only a change shows that it is the newest.
    if (packages.length === 0 || owned.listed !== null) return packages;
    const claimed = await this.#set(owned, before, before.list, signal);
    return 'kind' in claimed ? claimed : packages;
  }

  /**
   * Does nothing if it is there. @param replaces the one that is there, which is damaged
   * @throws LogError, EngineError
   */
  async put(owned: Owned, {sha512, file, replaces}: NewPackage, signal?: AbortSignal): Promise<StoredPackage> {
    const {tenant} = owned;
    const before = await this.#of(owned);
    const {garbage} = before.list;
    const there = before.list.packages.find(found => found.sha512 === sha512);
    if (there !== undefined && !replaces) return {kind: 'stored'};
    if (garbage.length > 0) {
      const failure = await this.#reduce(owned, before, before.list.packages, signal);
      return failure ?? (await this.put(owned, {sha512, file, replaces}, signal));
    }
    const packages = before.list.packages.filter(found => found !== there);
    const sum = createHash('sha512');
    const bytes = packages.reduce((all, found) => all + found.bytes, file.length);
    if (file.length === 0) return {kind: 'other'};
    if (packages.length >= PACKAGES_LISTED_MAX || bytes > PACKAGES_KEPT_BYTES_MAX) return {kind: 'too_many'};
    const id = randomBytes(16).toString('hex');
    const begun = await this.#set(owned, before, {...before.list, garbage: [id]}, signal);
    if ('kind' in begun) return begun;
    const isListed = async () => (await this.#list.read(tenant)).revision === begun.revision;
    const failure = await this.#parts.send(this.#subjects.base(tenant, id), {file, sum, isListed}, signal);
    const isOther = failure === null && sum.digest('hex') !== sha512;
    if (failure !== null || isOther) {
      await this.#remove(tenant, [id]);
      return failure ?? {kind: 'other'};
    }
    const gone = there === undefined ? [] : [there.id];
    const added = {...before.list, packages: [...packages, {sha512, id, bytes: file.length}], garbage: gone};
    const stored = await this.#set(owned, begun, added, signal);
    // Another owner, which has changed the list, does not know of it, or has removed what was there by then.
    if ('kind' in stored) {
      if (stored.kind === 'superseded') await this.#remove(tenant, [id]);
      return stored;
    }
    await this.#remove(tenant, gone);
    return {kind: 'stored'};
  }

  /** Removes those with these names. @throws LogError, EngineError */
  async drop(owned: Owned, dropped: ReadonlySet<string>, signal?: AbortSignal): Promise<NotStored | null> {
    const before = await this.#of(owned);
    const packages = before.list.packages.filter(({sha512}) => !dropped.has(sha512));
    return await this.#reduce(owned, before, packages, signal);
  }

  /** Removes all of a deleted tenant. Call it again until it returns true. @throws LogError, EngineError */
  async removeAll(tenant: TenantName, signal?: AbortSignal): Promise<boolean> {
    const before = await this.#list.read(tenant);
    const {packages, garbage} = before.list;
    if (packages.length === 0 && garbage.length === 0) return true;
    const owned = new Owned(tenant, Number.MAX_SAFE_INTEGER);
    return (await this.#reduce(owned, before, [], signal)) === null;
  }

  /** The bytes of a package, in parts. @throws LogError: it was removed meanwhile, or is damaged; EngineError */
  read(tenant: TenantName, {id, sha512, bytes}: PackageInfo): AsyncGenerator<Buffer> {
    const digest = ['sha512', Buffer.from(sha512, 'hex')] as const;
    return this.#parts.read(this.#subjects.base(tenant, id), {what: `the package ${sha512}`, bytes, digest});
  }

  /** @param packages that stay */
  async #reduce(
    owned: Owned,
    before: Listed<PackageList>,
    packages: readonly PackageInfo[],
    signal?: AbortSignal,
  ): Promise<NotStored | null> {
    const gone = before.list.packages.filter(found => !packages.includes(found)).map(({id}) => id);
    const garbage = [...before.list.garbage, ...gone];
    if (garbage.length === 0) return null;
    const begun = await this.#set(owned, before, {...before.list, packages, garbage}, signal);
    if ('kind' in begun) return begun;
    await this.#remove(owned.tenant, garbage);
    const ended = await this.#set(owned, begun, {...begun.list, garbage: []}, signal);
    return 'kind' in ended ? ended : null;
  }

  async #of(owned: Owned): Promise<Listed<PackageList>> {
    return owned.listed ?? (await this.#list.read(owned.tenant));
  }

  async #set(
    owned: Owned,
    from: Listed<PackageList>,
    list: PackageList,
    signal?: AbortSignal,
  ): Promise<Listed<PackageList> | NotStored> {
    const {tenant, epoch} = owned;
    owned.listed = null;
    if (from.list.epoch > epoch) return {kind: 'superseded'};
    const outcome = await this.#list.set(tenant, from, {...list, epoch}, signal);
    if (!('kind' in outcome)) owned.listed = outcome;
    return outcome;
  }

  async #remove(tenant: TenantName, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#parts.remove(this.#subjects.base(tenant, id));
  }
}
