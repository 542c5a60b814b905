/** Checks a repository: every object that its manifests list is there, has its length and, on request, its bytes. */
import {createHash} from 'node:crypto';
import {LIST_PAGE_MAX, READS_AT_ONCE} from '../limits.ts';
import {inBatches} from '../store/batches.ts';
import {listed} from '../store/object-store.ts';
import {PACKS} from './object-names.ts';
import {reachable} from './plan.ts';
import type {Repository} from './repository.ts';
import {RepositoryError} from './repository-error.ts';
import {type CopyItem, type Item, isFile, SERVER, type TenantCopies, type TimelineCopies} from './tenant-copies.ts';

export type CheckFinding = {
  /** The name of the object at fault; null: an object that would be needed has never been stored. */
  readonly object: string | null;
  readonly tenant: string;
  readonly finding: string;
};

export type CheckOptions = {
  readonly readData: boolean;
  readonly onTenant?: (tenant: string, at: number, of: number) => void;
  /** With `readData`. */
  readonly onBytes?: (bytes: number) => void;
};

export type Checked = {
  readonly tenants: number;
  readonly items: number;
  readonly bytes: number;
  readonly findings: CheckFinding[];
};

/** @throws StoreError */
export async function check(repository: Repository, options: CheckOptions): Promise<Checked> {
  const packs = new Map<string, number>();
  for await (const {name, bytes} of listed(repository.store, PACKS, LIST_PAGE_MAX)) packs.set(name, bytes);
  const tenants = await repository.tenants();
  const findings: CheckFinding[] = [];
  let [items, bytes] = [0, 0];
  for (const [i, tenant] of [...tenants, SERVER].entries()) {
    options.onTenant?.(tenant, i, tenants.length);
    const copies = await copiesOf(repository, tenant, findings);
    if (copies === null) continue;
    const all = itemsOf(copies);
    items += all.length;
    bytes += all.reduce((sum, item) => sum + item.bytes, 0);
    for (const object of copies.unreadable) findings.push({object, tenant, finding: 'it is missing or damaged'});
    const there = all.filter(item => isThere(item, packs, tenant, findings));
    for (const timeline of copies.timelines) findings.push(...gapsOf(timeline, tenant));
    if (options.readData) await readAll(repository, tenant, there, options, findings);
  }
  const lost = await repository.lostKeys();
  for (const [tenant, {object, message}] of lost) findings.push({object, tenant, finding: message});
  lost.delete(SERVER);
  return {tenants: tenants.length + lost.size, items, bytes, findings: distinct(findings)};
}

/** Null: there are none, or they cannot be read. */
async function copiesOf(
  repository: Repository,
  tenant: string,
  findings: CheckFinding[],
): Promise<TenantCopies | null> {
  try {
    return (await repository.dataKey(tenant)) === null ? null : await repository.copies(tenant);
  } catch (caught) {
    if (!(caught instanceof RepositoryError)) throw caught;
    findings.push({object: caught.object, tenant, finding: caught.message});
    return null;
  }
}

function itemsOf({timelines, files}: TenantCopies): Item[] {
  return [...timelines.flatMap(({bases, sets}) => [...bases, ...sets]), ...files];
}

function isThere({place}: Item, packs: ReadonlyMap<string, number>, tenant: string, findings: CheckFinding[]): boolean {
  const length = packs.get(place.pack);
  if (length !== undefined && place.at + place.sealedBytes <= length) return true;
  const finding = length === undefined ? 'it is missing' : `it has ${length} bytes, and ends too early`;
  findings.push({object: place.pack, tenant, finding});
  return false;
}

/** Page sets that nothing leads to. A new base after commits that were never copied is no gap. */
function gapsOf(timeline: TimelineCopies, tenant: string): CheckFinding[] {
  const reached = new Set(reachable(timeline).map(({item}) => `${item.last} ${item.digestAfter}`));
  const isCut = (item: CopyItem): boolean => !reached.has(`${item.last} ${item.digestAfter}`);
  return timeline.sets.filter(isCut).map(({first, last, place}) => {
    const finding = `it has the commits ${first} to ${last}, and commits before them are missing`;
    return {object: place.pack, tenant, finding};
  });
}

async function readAll(
  repository: Repository,
  tenant: string,
  items: readonly Item[],
  {onBytes}: CheckOptions,
  findings: CheckFinding[],
): Promise<void> {
  await inBatches(items, READS_AT_ONCE, async item => {
    const object = item.place.pack;
    const sum = createHash('sha256');
    try {
      for await (const part of repository.parts(tenant, item)) {
        sum.update(part);
        onBytes?.(part.length);
      }
      if (sum.digest('hex') === item.sha256) return;
      findings.push({
        object,
        tenant,
        finding: `it has other bytes than ${isFile(item) ? item.name : `commit ${item.last}`} had`,
      });
    } catch (caught) {
      if (!(caught instanceof RepositoryError)) throw caught;
      findings.push({object: caught.object ?? object, tenant, finding: caught.message});
    }
  });
}

/** One finding for each object and tenant. */
function distinct(findings: readonly CheckFinding[]): CheckFinding[] {
  const first = new Map<string, CheckFinding>();
  for (const finding of findings) {
    const key = finding.object === null ? finding.finding : `${finding.tenant} ${finding.object}`;
    if (!first.has(key)) first.set(key, finding);
  }
  return [...first.values()];
}
