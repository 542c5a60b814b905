/** The tenant's packages in the store of its cluster, where the host that takes the tenant over finds them. */
import type {Buffer} from 'node:buffer';

/** Each throws session.worker_unavailable 503: the store does not answer, or another host owns the tenant. */
export type ClusterPackages = {
  /** SHA-512 of those that it has. */
  list: () => Promise<ReadonlySet<string>>;
  /** The tarball. @throws op.storage_damaged 503: it is damaged */
  read: (sha512: string) => AsyncIterable<Buffer>;
  /**
   * Stores the tarball of the tenant's directory. @param replaces the one that the store has, which is damaged
   * @throws op.rate_limited 429, op.conflict 409: it is not in the directory; session.storage_full 507
   */
  store: (sha512: string, replaces: boolean) => Promise<void>;
  /** Removes them. */
  drop: (all: readonly string[]) => Promise<void>;
};
