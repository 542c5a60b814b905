/**
 * What a worker requests of the cluster process, over a Unix socket of its own. Frames are those of `shared/ipc/frame.ts`:
 * `hello` with the secret, `request` with a LogRequest as its meta, `response` with a LogAnswer. A response on stream 0
 * is sent unasked, and has a LeaseNotice.
 */
import type {StoredPackage} from '../log/packages.ts';

/** Incremented whenever the meaning of the messages changes. Both ends are of one build, unless it is replaced meanwhile. */
export const ENDPOINT_VERSION = 3;

export type LogAnswer =
  | {
      readonly is: 'published';
      readonly answer: {kind: string; sequence?: number; isDuplicate?: boolean; reason?: string};
    }
  /** The body has the messages one behind the other. */
  | {readonly is: 'messages'; readonly messages: readonly {subject: string; sequence: number; bytes: number}[]}
  | {readonly is: 'done'}
  /** The body has a PackageList. */
  | {readonly is: 'packages'}
  | {readonly is: 'package'; readonly outcome: PackageOutcome}
  /** The log did not answer. */
  | {readonly is: 'failed'; readonly reason: string};

/** `missing`: the tenant's directory has no such tarball. */
export type PackageOutcome = StoredPackage['kind'] | 'missing';

/** `untilMs`: an instant of the host's monotonic clock. `freeBytes` null: no limit of the log is known. */
export type LeaseNotice = {readonly is: 'lease'; readonly untilMs: number; readonly freeBytes: number | null};
