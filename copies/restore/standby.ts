/**
 * Copies of all tenants of a repository that are kept up to date, each a file at a commit.
 *
 *   new packs ──▶ sets that follow a tenant's file ──▶ applied
 *                 anything else ──▶ all that the repository has of the tenant ──▶ the sets that follow, or a new base
 *
 * Packs can be completed in another order than their counters, so a step can miss one. The next set of that tenant does
 * not follow then, and a sync looks at every tenant.
 */
import {existsSync, readdirSync} from 'node:fs';
import {mkdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {CopyFile} from '../../engine/copies/copy-file.ts';
import {DISK, type Disk} from '../../engine/copies/disk.ts';
import type {Position} from '../../engine/copies/page-set.ts';
import type {BackupGap} from '../../shared/protocol/backups.ts';
import {PACKAGES_DIRECTORY, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {plan} from '../repository/plan.ts';
import type {Repository} from '../repository/repository.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import {type CopyItem, isFile, positionAfter, SERVER} from '../repository/tenant-copies.ts';
import {fetched} from './fetched.ts';
import {withSet} from './restore-file.ts';
import {restorePackages} from './restore-packages.ts';

/** Pages that a power cut lost are found by the digest of all pages, which `svc promote` compares. */
const UNSYNCED_DISK: Disk = {...DISK, sync: () => undefined, syncDirectory: () => undefined};

type Source = Pick<Repository, 'tenants' | 'lostKeys' | 'packsAfter' | 'copies' | 'fetch'>;

export type StandbyStep = {
  /** Page sets that were applied, bases included. */
  sets: number;
  /** Epoch milliseconds of the newest commit that a tenant's file has now; null: nothing changed. */
  newestMs: number | null;
  /** Tenants of which the repository has stored newer commits that cannot be read, by the last look at all of it. */
  gaps: ReadonlyMap<string, BackupGap>;
  /** Tenants that are not up to date, by the last look at each. One whose data key is lost is among them. */
  failed: {tenant: string; error: Error}[];
};

export class Standby {
  readonly #repository: Source;
  readonly #directoryOf: (tenant: string) => string;
  /** Counter of the newest pack that was looked at; null: none was. */
  #through: number | null = null;
  readonly #gaps = new Map<string, BackupGap>();
  readonly #failed = new Map<string, Error>();

  /** @param directoryOf where the file of a tenant is, which need not exist */
  constructor(repository: Source, directoryOf: (tenant: string) => string) {
    this.#repository = repository;
    this.#directoryOf = directoryOf;
  }

  /** Applies what was stored since the last step. @throws RepositoryError; StoreError */
  async step(): Promise<StandbyStep> {
    if (this.#through === null) return this.sync();
    const packs = await this.#repository.packsAfter(this.#through);
    if (packs.some(({index}) => index === null)) return this.sync();
    const items = new Map<string, CopyItem[]>();
    for (const {tenant, item} of packs.flatMap(({index}) => index!.entries)) {
      if (!isFile(item)) items.set(tenant, [...(items.get(tenant) ?? []), item]);
    }
    const step = await this.#each([...items.keys()], tenant => this.#follow(tenant, items.get(tenant)!));
    this.#through = Math.max(this.#through, ...packs.map(({counter}) => counter));
    return step;
  }

  /** Compares every tenant with all that the repository has of it. @throws as `step` */
  async sync(isWanted: (tenant: string) => boolean = () => true): Promise<StandbyStep> {
    const packs = await this.#repository.packsAfter(this.#through ?? 0);
    const tenants = (await this.#repository.tenants()).filter(isWanted);
    this.#failed.clear();
    for (const [tenant, fault] of await this.#repository.lostKeys()) {
      if (tenant !== SERVER && isWanted(tenant)) this.#failed.set(tenant, fault);
    }
    const step = await this.#each(tenants, tenant => this.#catchUp(tenant));
    this.#through = Math.max(this.#through ?? 0, ...packs.map(({counter}) => counter));
    return step;
  }

  async #each(tenants: readonly string[], advance: (tenant: string) => Promise<Advance>): Promise<StandbyStep> {
    const step: StandbyStep = {sets: 0, newestMs: null, gaps: this.#gaps, failed: []};
    // The sets of one that failed in a step before can follow its file by now.
    for (const tenant of tenants) this.#failed.delete(tenant);
    for (const tenant of tenants) {
      try {
        const {sets, timeMs} = await advance(tenant);
        step.sets += sets;
        if (sets > 0) step.newestMs = Math.max(step.newestMs ?? 0, timeMs);
      } catch (caught) {
        if (caught instanceof RepositoryError && caught.code === 'no_copies') continue; // it was forgotten
        if (!(caught instanceof Error) || 'syscall' in caught) throw caught;
        this.#failed.set(tenant, caught);
      }
    }
    step.failed = [...this.#failed].map(([tenant, error]) => ({tenant, error}));
    return step;
  }

  async #follow(tenant: string, items: readonly CopyItem[]): Promise<Advance> {
    const at = positionOf(this.#fileOf(tenant));
    const newest = items.reduce((last, item) => Math.max(last, item.last), 0);
    const path = at === null ? null : pathFrom(at, items);
    if (at === null || path === null || (path.at(-1)?.last ?? at.commit) < newest) return this.#catchUp(tenant);
    return this.#apply(tenant, path);
  }

  async #catchUp(tenant: string): Promise<Advance> {
    const copies = await this.#repository.copies(tenant);
    const {base, sets, end, gap} = plan(copies, 'newest');
    const at = positionOf(this.#fileOf(tenant));
    const all = copies.timelines.flatMap(({bases, sets: its}) => [...bases, ...its]);
    const path = at === null ? [] : (pathFrom(at, all) ?? []);
    const reached = path.length === 0 ? at : positionAfter(path.at(-1)!);
    // What was lost in the repository later is there.
    const isAhead = gap !== null && reached?.timeline === end.timeline && reached.commit > end.last;
    const isThere = isAhead || (reached !== null && digestOf(reached) === end.digestAfter);
    const {newest = null} = gap ?? {};
    const hasNewest = newest !== null && reached?.timeline === newest.timeline && reached.commit >= newest.commit;
    if (gap === null || hasNewest) this.#gaps.delete(tenant);
    else this.#gaps.set(tenant, gap);
    const directory = this.#directoryOf(tenant);
    await mkdir(directory, {recursive: true, mode: 0o700});
    const advance = await this.#apply(tenant, isThere ? path : [base, ...sets]);
    await restorePackages(this.#repository, tenant, join(directory, PACKAGES_DIRECTORY));
    return advance;
  }

  async #apply(tenant: string, items: readonly CopyItem[]): Promise<Advance> {
    const directory = this.#directoryOf(tenant);
    const file = this.#fileOf(tenant);
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      if (name.endsWith('.set')) await rm(join(directory, name)); // of a process that ended
    }
    const fetch = (item: CopyItem, to: string) => this.#repository.fetch(tenant, item, to);
    let copy: CopyFile | null = items[0] === undefined || items[0].first === 0 ? null : CopyFile.open(file);
    let timeMs = 0;
    try {
      for await (const {item, path} of fetched(items, fetch, directory)) {
        await withSet(item, path, set => {
          if (copy === null) copy = CopyFile.create(file, set, UNSYNCED_DISK);
          else copy.apply(set);
        });
        timeMs = item.timeMs;
      }
      return {sets: items.length, timeMs};
    } finally {
      copy?.close();
    }
  }

  #fileOf(tenant: string): string {
    return join(this.#directoryOf(tenant), TENANT_FILE);
  }
}

type Advance = {sets: number; timeMs: number};

/** Null: there is no file, or one that cannot be used. */
function positionOf(file: string): Position | null {
  if (!existsSync(file)) return null;
  try {
    const copy = CopyFile.open(file);
    copy.close();
    return copy.position;
  } catch (caught) {
    if (caught instanceof CopyError) return null;
    throw caught;
  }
}

/** The sets that lead from there as far as they go; null: the newest of them are of another timeline. */
function pathFrom(at: Position, items: readonly CopyItem[]): CopyItem[] | null {
  if (items.at(-1) !== undefined && items.at(-1)!.timeline !== at.timeline) return null;
  const path: CopyItem[] = [];
  for (let [commit, digest] = [at.commit, digestOf(at)]; ; ) {
    const next = items
      .filter(({first, digestBefore}) => first === commit + 1 && digestBefore === digest)
      .reduce<CopyItem | null>((best, item) => (best === null || item.last > best.last ? item : best), null);
    if (next === null) return path;
    path.push(next);
    [commit, digest] = [next.last, next.digestAfter];
  }
}

function digestOf(state: Position | CopyItem): string {
  return 'digest' in state ? state.digest.toString('hex') : state.digestAfter;
}
