/**
 * What one round stores in a pack: page sets of as many tenants as fit, new packages, and files of the server. The next
 * round begins behind the tenant that was the last one, so that each has its turn.
 */
import {setImmediate as nextTurn} from 'node:timers/promises';
import type {Repository} from '../repository/repository.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {SERVER} from '../repository/tenant-copies.ts';
import {PACKAGE_READS_MAX, ROUND_BYTES, ROUND_RAW_BYTES} from './limits.ts';
import {largeFile, type NextSegment, nextSegment} from './next-segment.ts';
import type {ServerFiles} from './server-files.ts';
import type {TenantCopy} from './tenant-copy.ts';
import type {NewFile} from './tenant-packages.ts';
import {inTurn} from './uploads.ts';

export type TakenSet = {copy: TenantCopy; segment: NextSegment};

/** `hasMore`: what did not fit is for a round that begins at once. */
export type Round = {sets: TakenSet[]; files: NewFile[]; hasMore: boolean};

export type RoundsParts = {
  copies: ReadonlyMap<string, TenantCopy>;
  files: ServerFiles;
  /** A large file of this tenant is being stored: its sets wait. */
  isUploading: (tenant: string) => boolean;
  /** The files of the tenant are at fault. @throws what is another fault */
  refused: (copy: TenantCopy, caught: unknown) => void;
};

export class Rounds {
  readonly #parts: RoundsParts;
  /** The tenants that were the last ones. */
  #lastOfSets = '';
  #lastOfPackages = '';

  constructor(parts: RoundsParts) {
    this.#parts = parts;
  }

  /** @throws RepositoryError; StoreError */
  async take({repository, faults}: Pick<RepositoryWriter, 'repository' | 'faults'>): Promise<Round> {
    const {sets, hasMore} = await this.#takeSets();
    const {files, hasMore: hasMoreFiles} = await this.#takeFiles(repository, faults.has(SERVER));
    return {sets, files, hasMore: hasMore || hasMoreFiles};
  }

  /** Those with a file that is too large for a pack, in order. */
  get tenantsWithLarge(): string[] {
    const tenants = this.#sorted(({work, packages}) => largeFile(work) !== null || packages.hasLarge);
    return [...(this.#parts.files.hasLarge ? [SERVER] : []), ...tenants.map(({tenant}) => tenant)];
  }

  async #takeSets(): Promise<{sets: TakenSet[]; hasMore: boolean}> {
    const sets: TakenSet[] = [];
    let [bytes, rawBytes, hasMore] = [0, 0, false];
    const waiting = this.#sorted(({work}) => work.kind === 'sets' && largeFile(work) === null);
    for (const copy of inTurn(waiting, this.#lastOfSets, ({tenant}) => tenant)) {
      const {tenant, directory, work, position} = copy;
      if (this.#parts.isUploading(tenant) || work.kind !== 'sets' || position == null) continue;
      if (bytes >= ROUND_BYTES || rawBytes >= ROUND_RAW_BYTES) return {sets, hasMore: true};
      this.#lastOfSets = tenant;
      const segment = await this.#ofTenant(copy, () => nextSegment(directory, position, work.files));
      if (segment === null) continue;
      bytes += segment.bytes.length;
      rawBytes += segment.rawBytes;
      hasMore ||= segment.after.commit < work.files.at(-1)!.last!;
      copy.packages.changed();
      sets.push({copy, segment});
      await nextTurn();
    }
    return {sets, hasMore};
  }

  /** After the sets, so that the packages of a deployment are stored with it. */
  async #takeFiles(repository: Repository, areServersLeft: boolean): Promise<{files: NewFile[]; hasMore: boolean}> {
    const files = areServersLeft ? [] : await this.#parts.files.take(repository);
    let [bytes, reads] = [0, 0];
    const due = this.#sorted(({packages}) => packages.isDue);
    for (const copy of inTurn(due, this.#lastOfPackages, ({tenant}) => tenant)) {
      if (bytes >= ROUND_BYTES) return {files, hasMore: true};
      if (copy.packages.needsRead && ++reads > PACKAGE_READS_MAX) continue;
      this.#lastOfPackages = copy.tenant;
      const taken = (await this.#ofTenant(copy, () => copy.packages.take(repository))) ?? [];
      bytes += taken.reduce((sum, {segment}) => sum + segment.bytes.length, 0);
      files.push(...taken);
    }
    return {files, hasMore: false};
  }

  #sorted(isOne: (copy: TenantCopy) => boolean): TenantCopy[] {
    const ready = [...this.#parts.copies.values()].filter(copy => copy.keyFault === null && isOne(copy));
    return ready.sort((a, b) => (a.tenant < b.tenant ? -1 : 1));
  }

  /** @returns null also if the files of the tenant are at fault */
  async #ofTenant<Result>(copy: TenantCopy, work: () => Promise<Result>): Promise<Result | null> {
    try {
      return await work();
    } catch (caught) {
      this.#parts.refused(copy, caught);
      return null;
    }
  }
}
