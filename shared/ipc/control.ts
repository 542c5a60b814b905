/**
 * The messages between the supervisor and its children, over the channel Node gives a spawned process. The channel is also
 * the lifeline: when it closes, its other end is gone (a child then ends when its turn does).
 *
 * Who decides what: the supervisor owns the tenant registry and every worker's life; the router keeps a copy of the list of
 * tenants, asks for a worker when a request needs one, and reports activity; a worker opens and closes its tenant when told.
 */
import type {ErrorObject} from '../errors.ts';

/** Where a router reaches a tenant's worker. The secret is made anew for every worker and never leaves memory. */
export type WorkerAddress = {tenant: string; socketPath: string; secret: string};

/* ── router ── */

export type RouterSettings = {
  host: string;
  /** 0: any free port; the router reports the one it got, and gets that one again after a restart. */
  port: number;
  /** Loopback port of the metrics listener without credential; null: none; 0: any free port. */
  metricsPort: number | null;
  /** Names beside the loopback ones that a `Host` header may carry, as `name` or `name:port`. */
  allowedHosts: string[];
  /** SHA-256 digests, in hex, of the two admin credentials. */
  accessTokenSha256: string;
  adminTokenSha256: string;
  version: string;
  build: string;
};

export type SupervisorToRouter =
  /** Once, first. Workers that outlived an earlier router are named, so that their tenants need no wake. */
  | {type: 'start'; settings: RouterSettings; tenants: string[]; workers: WorkerAddress[]}
  | {type: 'tenant_added'; tenant: string}
  /** The tenant is being deleted: forget it, fail what waits for it, close its link. */
  | {type: 'tenant_removed'; tenant: string}
  /** A worker serves this tenant from now on; sent after a `wake`, or unasked. */
  | {type: 'worker_ready'; address: WorkerAddress}
  /** The worker of this tenant is gone or could not be had: fail what waits with this error. */
  | {type: 'worker_failed'; tenant: string; error: ErrorObject; retryAfterS: number}
  /** Stop using this worker if nothing is under way, and answer `released`. */
  | {type: 'release'; tenant: string}
  | {type: 'reply'; id: number; result: unknown}
  | {type: 'reply_error'; id: number; error: ErrorObject}
  /** Stop accepting, finish what is under way, then exit 0. */
  | {type: 'drain'};

export type RouterToSupervisor =
  | {type: 'listening'; host: string; port: number; metricsPort: number | null}
  /** Start-up failed (port taken, address not to be had): one sentence for the operator. */
  | {type: 'listen_failed'; message: string}
  /** A request needs this tenant's worker; answered by `worker_ready` or `worker_failed`. */
  | {type: 'wake'; tenant: string}
  /** Answered by `reply` (null) or `reply_error`. */
  | {type: 'request'; id: number; action: 'tenant_create' | 'tenant_delete'; tenant: string}
  /** prom-client's metrics of the supervisor as JSON; answered by `reply`. */
  | {type: 'request'; id: number; action: 'metrics'}
  /** Tenants that had traffic since the last report; `busy`: those with requests under way. Every second while there are any. */
  | {type: 'activity'; active: string[]; busy: string[]}
  /** This worker's link was lost with calls of functions under way: its death is held against them, not the tenant. */
  | {type: 'death_held'; tenant: string; socketPath: string}
  /** Answer to `release`. `busy`: it is still in use and stays. */
  | {type: 'released'; tenant: string; busy: boolean}
  | {type: 'heartbeat'};

/* ── worker ── */

export type TenantSettings = {
  tenant: string;
  /** Its file says the same of itself, or is refused. */
  generation: number;
  createdMs: number;
  /** The tenant's own directory; it exists. */
  directory: string;
  /** A file of which pieces may be given back on a full disk. */
  reservePath: string;
  /** Where to listen for routers. */
  socketPath: string;
  secret: string;
  journalKeepRecords: number;
  /** What the tenant may keep; 0: no limit. */
  storageBytesMax: number;
  /** Callers of functions learn that one failed, but not why. */
  redactErrors: boolean;
};

export type SupervisorToWorker =
  /** Open this tenant and listen; answered by `opened` or `open_failed`. */
  | {type: 'open'; settings: TenantSettings}
  /** Finish what is under way, checkpoint, close the file, answer `closed`, exit 0. */
  | {type: 'close'};

export type WorkerToSupervisor =
  /** Started and waiting for a tenant. */
  | {type: 'spare'}
  | {type: 'opened'}
  | {type: 'open_failed'; error: ErrorObject}
  /** When the tenant next has work due, epoch milliseconds; null: nothing is scheduled. */
  | {type: 'closed'; nextDueMs: number | null}
  | {type: 'heartbeat'};
