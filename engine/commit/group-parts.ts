/** What group commit works with; a part that is undefined is not there. */

import type {ServiceError} from '../../shared/errors.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {TenantCopies} from '../copies/tenant-copies.ts';
import type {FileGuard} from '../storage/file-guard.ts';
import type {Sync, SyncNow} from '../storage/log-sync.ts';
import type {Pausable} from './checkpoints.ts';
import type {Stage} from './commit.ts';
import type {Durability} from './durability.ts';
import type {Linger} from './linger.ts';
import type {RemoteCaches} from './remote-caches.ts';
import type {StorageQuota} from './storage-quota.ts';
import type {SyncPlace} from './sync-place.ts';
import type {Writer} from './writer.ts';

/** The state that all readers see: the newest durable commit. */
export interface Snapshot {
  /** A COMMIT follows: until `advance`, readers see the state committed now. */
  hold(): void;
  /** The current committed state is durable, and readers see it from now on. */
  advance(): void;
}

export type GroupParts = {
  writer: Writer;
  metrics: WorkerMetrics;
  log: Logger;
  /** The stages that receive each durable commit, in this order, before its writes are settled. */
  stages: readonly Stage[];
  sync: Sync;
  /** Every write is refused with this. */
  refusal?: (() => ServiceError) | null;
  /** Undefined: a synced commit is durable. */
  durability?: Durability | undefined;
  /** Undefined: the thread pool makes each sync. With a durability it makes them anyway. */
  inThread?: {readonly place: Pick<SyncPlace, 'isThread' | 'inThread' | 'inPool'>; readonly sync: SyncNow};
  snapshot?: Snapshot;
  /** Runs last inside each transaction. */
  beforeCommit?: (writer: Writer) => void;
  quota?: StorageQuota;
  /** Undefined: nothing but this process can reach the files. */
  files?: Pick<FileGuard, 'beforeCommit' | 'check'>;
  scans?: Pausable;
  /** Undefined: no copies are made. */
  copies?: TenantCopies | undefined;
  /** Undefined: a group is committed as soon as the disk is free. */
  linger?: Linger;
  /** Undefined: no other process caches documents. */
  caches?: RemoteCaches;
};
