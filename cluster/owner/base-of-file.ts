/** Begins a tenant's file with the newest base of its log that is sound. */
import type {Source} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {PageSetError} from '../../engine/copies/page-set-error.ts';
import type {BaseInfo} from '../log/base-list.ts';
import type {Bases} from '../log/bases.ts';
import {withFetched} from '../log/fetched-body.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {TenantName} from '../log/subjects.ts';

export type TenantBases = {
  readonly bases: Pick<Bases, 'list' | 'read'>;
  readonly tenant: TenantName;
  /** Receives a sentence about each base that is damaged, and about a file that was set aside. */
  readonly report: (sentence: string) => void;
};

export type Beginning = {
  /** The newest record of the file; null: it is absent. */
  readonly after: LogPosition | null;
  /** Path of a file that has the base meanwhile. */
  readonly scratch: string;
  /** Makes the file. @throws CopyError, PageSetError: the base cannot be used */
  readonly begin: (base: Source, info: BaseInfo) => unknown;
};

/**
 * A damaged base is passed over for the one before it: the log has all records behind the older one.
 * @returns `none`: the list has no base behind the newest record of the file; it can have been read too early. `damaged`:
 * none of those that are listed is sound. @throws LogError, EngineError
 */
export async function beginWithBase(
  of: TenantBases,
  {after, scratch, begin}: Beginning,
): Promise<BaseInfo | 'none' | 'damaged'> {
  const {bases, tenant, report} = of;
  for (let tried: string[] = []; ; ) {
    const found = (await bases.list(tenant)).filter(({position}) => after === null || position.n > after.n);
    // A base that is missing since is not on the list any more, and its successor is.
    if (found.every(({id}) => tried.includes(id))) return tried.length === 0 ? 'none' : 'damaged';
    for (const base of found.toReversed()) {
      try {
        await withFetched(bases.read(tenant, base), scratch, source => begin(source, base));
        return base;
      } catch (error) {
        if (![LogError, PageSetError, CopyError].some(kind => error instanceof kind)) throw error;
        report(`a base of ${tenant.id} cannot be used: ${(error as Error).message}`);
      }
    }
    tried = found.map(({id}) => id);
  }
}
