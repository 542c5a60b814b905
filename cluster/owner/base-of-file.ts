/** Begins a tenant's file with the newest base of its log that is sound. */

import {PageSetError} from '../../engine/copies/page-set-error.ts';
import {PageSet} from '../../engine/copies/page-set-reader.ts';
import type {ReplicatedFile} from '../../engine/replication/replicated-file.ts';
import type {BaseInfo} from '../log/base-list.ts';
import type {Bases} from '../log/bases.ts';
import {withFetched} from '../log/fetched-body.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {TenantName} from '../log/subjects.ts';
import {encodePlace} from './place.ts';

export type TenantBases = {
  readonly bases: Pick<Bases, 'list' | 'read'>;
  readonly tenant: TenantName;
  /** Receives a sentence about each base that is damaged, and about a file that was set aside. */
  readonly report: (sentence: string) => void;
};

/**
 * A damaged base is passed over for the one before it: the log has all records behind the older one.
 * @param after the newest record of the file; null: it is absent
 * @returns null: there is no sound base behind it. @throws LogError, EngineError
 */
export async function seedFromBase(
  file: ReplicatedFile,
  of: TenantBases,
  after: LogPosition | null,
): Promise<BaseInfo | null> {
  for (let tried: string[] = []; ; ) {
    const bases = (await of.bases.list(of.tenant)).filter(({position}) => isAfter(position, after)).toReversed();
    const found = bases.map(({id}) => id);
    // A list that has changed meanwhile has removed bases that were being read.
    if (found.every(id => tried.includes(id))) return null;
    for (const base of bases) if (await isSeeded(file, of, {base, after})) return base;
    tried = found;
  }
}

async function isSeeded(
  file: ReplicatedFile,
  {bases, tenant, report}: TenantBases,
  {base, after}: {base: BaseInfo; after: LogPosition | null},
): Promise<boolean> {
  const {position, openedBy} = base;
  try {
    return await withFetched(bases.read(tenant, base), file.scratch, source => {
      const set = new PageSet(source);
      if (file.at !== null && !file.isCopy) {
        report(
          `the file of ${tenant.id} is older than its log, and is now in ${file.setAside('replaced', after!.epoch)}`,
        );
      }
      file.seed(set, encodePlace(position, openedBy));
      return true;
    });
  } catch (error) {
    if (!(error instanceof LogError || error instanceof PageSetError)) throw error;
    report(`a base of ${tenant.id} cannot be used: ${error.message}`);
    return false;
  }
}

function isAfter(position: LogPosition, after: LogPosition | null): boolean {
  return after === null || position.n > after.n;
}
