/** The messages between the supervisor and the copier, which copies the tenants of this server to its repository. */
import type {ErrorObject} from '../errors.ts';
import type {MetricJson} from '../metrics/metric-json.ts';
import type {DrilledFile, RestoredCopy} from './drill.ts';

/** Numbers of points: the newest, and the last ones of the newest hours, days, weeks and months that have any. */
export type KeepPolicy = {
  readonly last?: number;
  readonly hourly?: number;
  readonly daily?: number;
  readonly weekly?: number;
  readonly monthly?: number;
};

export type CopierSettings = {
  /** `file:///path`, a path, or `s3://bucket/prefix?…`. */
  repository: string;
  /** The file with the repository's key. */
  keyFile: string;
  everyMs: number;
  /** Of the page sets in a tenant's spool, and of a tenant; 0: no limit. Larger files of a tenant are not read. */
  spoolBytesMax: number;
  tenantBytesMax: number;
  /** Which points of each tenant stay. Null: all. */
  keep: KeepPolicy | null;
  /** Requested after a success; null: nothing is. */
  heartbeatUrl: string | null;
  /** The data directory. */
  data: string;
  host: string;
  /** Of the data directory: the lease of the repository names it. */
  serverId: string;
  /** Differs from that of a copy of the data directory or of the machine. */
  place: string;
  /** Of this host; absent: none. Of its hosts one writes to the repository, and the others wait for its lease. */
  cluster?: string;
};

/** Of the data directory: copies of the server's own files, without credentials, made for the repository. */
export const STATE_DIRECTORY = 'backup-state';
/** Of the data directory: page sets while the copier merges them. */
export const SCRATCH_COPIES_DIRECTORY = 'scratch-copies';

/** Of the data directory: spools that the cluster process writes from the log, by the names of `spoolOf`. */
export const LOG_SPOOLS_DIRECTORY = 'cluster-copies';

export function spoolOf(tenant: string, generation: number): string {
  return `${tenant}_${generation}`;
}

/**
 * A tenant to copy. `directory` is absolute; its worker writes into it, or of a tenant of a cluster (`isOfLog`) the cluster
 * process. That one is not awake: it is named again when its spool has something new.
 */
export type CopiedTenant = {tenant: string; directory: string; isAwake: boolean; isOfLog?: true};

/** The newest commit at or before it. */
export type RestoreTarget = 'newest' | {timeMs: number} | {sequence: number};

/** What a drill has found. `checked` null: there was no file to check. */
export type DrilledTenant = {tenant: string; startedMs: number; copy: RestoredCopy; checked: DrilledFile | null};

/** What a request of a route asks for; the result is the body of its answer. */
export type CopierRequest =
  | {does: 'status'; after: string | null; limit: number}
  | {does: 'run'; withinMs: number}
  /** `before`: epoch milliseconds; null: the newest. */
  | {does: 'points'; tenant: string; before: number | null}
  /** Makes the tenant's file as it was, and the packages of its deployments; answered by a RestoredCopy without checks. */
  | {does: 'restore'; tenant: string; target: RestoreTarget; path: string; packages: string; withinMs: number}
  /** For a drill: the names of the tenants in the repository. */
  | {does: 'drill_tenants'}
  /** Makes the tenant's file, as a RestoredCopy says. */
  | {does: 'drill_restore'; tenant: string; path: string; withinMs: number}
  /** Stores the result; answered by whether the tenant is proven. */
  | {does: 'drill_record'; drilled: DrilledTenant};

export type SupervisorToCopier =
  /** Once, first: all tenants, and when the repository last had everything. Answered by `started` or `refused`. */
  | {type: 'start'; settings: CopierSettings; tenants: CopiedTenant[]; lastSuccessMs: number | null}
  /** The tenant was created, woke, or fell asleep. */
  | {type: 'tenant'; tenant: CopiedTenant}
  /**
   * The base that `base_due` requested could not be made, or the timeline of `timeline_due` not begun. It is tried again
   * when the tenant is named again.
   */
  | {type: 'base_failed'; tenant: string; message: string}
  /** These files in STATE_DIRECTORY of the data directory are new copies of the server's own files. */
  | {type: 'state'; names: string[]}
  /** The tenant is being deleted. Its copies stay. */
  | {type: 'deleted'; tenant: string}
  /** Answered by `answer`. */
  | {type: 'request'; id: number; request: CopierRequest}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number}
  /** All tenants sleep: copy what is left, give up the lease, exit 0. What is left after this time is logged. */
  | {type: 'close'; withinMs: number};

/** Why the repository cannot be used as it is: no retry changes that. */
export type CopierRefusal = 'no_repository' | 'wrong_key' | 'no_key_file' | 'unknown_format' | 'locked';

export type CopierToSupervisor =
  /**
   * It copies, or tries to: a store that cannot be reached now is tried again. Sent again when `isWriter` changes: in a
   * cluster the lease can be that of another host.
   */
  | {type: 'started'; repositoryId: string | null; isWriter: boolean}
  /** A sentence for the operator. `repositoryId`: if it is known. */
  | {type: 'refused'; refusal: CopierRefusal; message: string; repositoryId: string | null}
  /** This tenant sleeps, and has nothing in its spool that leads on from the repository. */
  | {type: 'base_due'; tenant: string}
  /** The file of this tenant is older than the repository: it has to begin a new timeline. */
  | {type: 'timeline_due'; tenant: string}
  | {type: 'answer'; id: number; result: unknown; error: ErrorObject | null}
  | {type: 'metrics'; id: number; report: MetricJson[]}
  | {type: 'heartbeat'};
