/**
 * The messages between the supervisor and its children, over the channel Node gives a spawned process. The channel is also
 * the lifeline: when it closes, its other end is gone (a child then ends when its turn does).
 *
 * Who decides what: the supervisor owns the tenant registry, every worker's life and what deaths are held against; each
 * router keeps a copy of the list of tenants and of what is suspected, asks for a worker when a request needs one, and reports
 * activity; a worker opens and closes its tenant when told. Routers do not know of each other.
 */
import type {ErrorObject} from '../errors.ts';
import type {MetricJson} from '../metric-json.ts';
import type {NodeVersion} from '../node-version.ts';
import type {RateLimit} from '../rate-limit.ts';
import type {AuditedAction, AuditedOutcome, AuditRequest, RefusedRequest} from './audit.ts';
import type {DoorKey, EgressSettings} from './egress.ts';
import type {KeyRecord, KeyRequest} from './keys.ts';

/**
 * Where a router reaches a tenant's worker. The secret is made for every worker and never leaves memory. `owner`: the number of the
 * user whose socket it is. `runsCode`: the worker can hold isolates, so it takes deployments.
 */
export type WorkerAddress = {tenant: string; socketPath: string; secret: string; owner: number; runsCode: boolean};

/* ── router ── */

/** Which function a request called, and with what: what a worker's death is held against. */
export type UserCall = {
  /** The function, for people: its path, or an HTTP action's method and path. */
  name: string;
  /** The function and its arguments: a digest. */
  key: string;
};

/** `refusedMs`: how much longer it is refused; 0: it is only suspected. */
export type TenantSuspects = {
  tenant: string;
  calls: {key: string; refusedMs: number}[];
  functions: {name: string; refusedMs: number}[];
};

/** Why a server cannot start, for the operator. */
export function portTaken(host: string, port: number): string {
  return `cannot listen on ${host} port ${port}: it is taken, or the address is not this machine's`;
}

export type RouterSettings = {
  /** This router's number among them, from 0; a router that replaces it has the same. */
  place: number;
  /** How many share the port, and the limits. */
  routers: number;
  host: string;
  /** 0: any free port, of a single router; it reports the one it got, and gets that one again after a restart. */
  port: number;
  /** Loopback port of the metrics listener without credential; null: none; 0: any free port. */
  metricsPort: number | null;
  /** Names beside the loopback ones that a `Host` header may carry, as `name` or `name:port`. */
  allowedHosts: string[];
  /** Origins beside the loopback ones whose pages may call the native API, as browsers write them. */
  allowedOrigins: string[];
  /** Addresses and ranges of proxies whose word for where a request comes from is taken. */
  trustedProxies: string[];
  /** Null: no limit. */
  rateLimits: {tenant: RateLimit | null; key: RateLimit | null};
  /** SHA-256 digests, in hex, of the two admin credentials. */
  accessTokenSha256: string;
  adminTokenSha256: string;
  /** For vouchers (shared/egress/voucher.ts). */
  voucherKey: string;
  version: string;
  build: string;
};

export type SupervisorToRouter =
  /** Once, first. */
  | {type: 'start'; settings: RouterSettings; tenants: string[]; suspects: TenantSuspects[]; keys: KeyRecord[]}
  /** A key is new, or was rotated. */
  | {type: 'key_put'; key: KeyRecord}
  /** The key of this id is none any more. */
  | {type: 'key_removed'; key: string}
  | {type: 'tenant_added'; tenant: string}
  /** The tenant is being deleted: forget it, fail what waits for it, close its link. */
  | {type: 'tenant_removed'; tenant: string}
  /** Everything sent before this was received: answered by `synced`. */
  | {type: 'sync'; id: number}
  /** What is suspected of ending this tenant's workers, all of it: what was known before is replaced. */
  | ({type: 'suspects'} & TenantSuspects)
  /** This suspected call was answered by another router: it is innocent. */
  | {type: 'call_answered'; tenant: string; key: string}
  /** A worker serves this tenant; answer to `wake`, and sent after what its predecessor's death led to. */
  | {type: 'worker_ready'; address: WorkerAddress}
  /** The worker of this tenant is gone or could not be had: fail what waits with this error. */
  | {type: 'worker_failed'; tenant: string; error: ErrorObject; retryAfterS: number}
  /** Stop using this worker if nothing is under way, and answer `released`. */
  | {type: 'release'; tenant: string}
  /**
   * The tenant moves to another worker: send this one nothing more, hold what comes, and answer `given_up` once all that is under way has
   * been answered.
   */
  | {type: 'give_up'; tenant: string}
  | {type: 'reply'; id: number; result: unknown}
  | {type: 'reply_error'; id: number; error: ErrorObject}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number}
  /** Stop accepting, finish what is under way, then exit 0. */
  | {type: 'drain'};

export type RouterToSupervisor =
  | {type: 'listening'; host: string; port: number; metricsPort: number | null}
  /** Start-up failed (port taken, address not to be had): one sentence for the operator. */
  | {type: 'listen_failed'; message: string}
  /**
   * A request needs this tenant's worker; answered by `worker_ready` or `worker_failed`. `forCode`: one that runs code, which the tenant is
   * moved to if need be.
   */
  | {type: 'wake'; tenant: string; forCode: boolean}
  /** Answered by `reply` (null) or `reply_error`. */
  | {type: 'request'; id: number; action: 'tenant_create' | 'tenant_delete'; tenant: string}
  /** Answered by `reply` with what the route answers. */
  | ({type: 'request'; id: number} & KeyRequest)
  /** An operator's action is asked for: answered by `reply` with the sequence of its record once that is on disk. */
  | {type: 'request'; id: number; action: 'audit_intent'; audited: AuditedAction}
  /** Answered by `reply` with the page as JSON. */
  | ({type: 'request'; id: number} & AuditRequest)
  /** How an action was answered. */
  | ({type: 'audit_outcome'} & AuditedOutcome)
  /** Requests were refused for who asked: a few of these a minute, whatever comes. */
  | {type: 'refused'; refused: RefusedRequest}
  /** Ids of keys that were used since the last report; every few seconds while there are any. */
  | {type: 'keys_used'; keys: string[]}
  /** The metrics page of the whole service, as Prometheus text; answered by `reply`. */
  | {type: 'request'; id: number; action: 'metrics'}
  /** Tenants that had traffic since the last report; `busy`: those with requests under way. Every second while there are any. */
  | {type: 'activity'; active: string[]; busy: string[]}
  | {type: 'synced'; id: number}
  /** The link to this worker is gone, unasked: the worker ends, or it never was reached. `calls`: functions that it had under way. */
  | {type: 'link_lost'; tenant: string; socketPath: string; calls: UserCall[]}
  /** This worker sent what no worker sends: it is to be ended. `link_lost` follows. */
  | {type: 'link_malformed'; tenant: string; socketPath: string; why: string}
  /** A suspected call was answered. */
  | {type: 'call_answered'; tenant: string; key: string}
  /** Answer to `release`. `busy`: it is still in use and stays. */
  | {type: 'released'; tenant: string; busy: boolean}
  /** Answer to `give_up`. */
  | {type: 'given_up'; tenant: string}
  /** Answer to `metrics`: what this router counts. */
  | {type: 'metrics'; id: number; report: MetricJson[]}
  | {type: 'heartbeat'};

/* ── worker ── */

/** Numbers of the system. The group is that of all workers, which may pass through directories that are nobody else's. */
export type WorkerUser = {id: number; group: number};

export type TenantSettings = {
  tenant: string;
  /** What the worker becomes before it opens anything; null: it stays what it is. */
  user: WorkerUser | null;
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
  /** The way out of the tenant's code. */
  egress: DoorKey;
  /** Routers that may connect. */
  routers: number;
  journalKeepRecords: number;
  /** What the tenant may keep; 0: no limit. */
  storageBytesMax: number;
  /** `memory_mb` of its services that are to run, together. */
  servicesMemoryMbMax: number;
  /** Callers of functions learn that one failed, but not why. */
  redactErrors: boolean;
};

export type SupervisorToWorker =
  /** Open this tenant and listen; answered by `opened` or `open_failed`. */
  | {type: 'open'; settings: TenantSettings}
  /** Answer to `egress_put`: the policy holds, or why not. */
  | {type: 'egress_taken'; id: number; error: ErrorObject | null}
  /** Answer to `node_wanted`: it is there, or why not, for people. */
  | {type: 'node_settled'; id: number; error: string | null}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number}
  /** Finish what is under way, checkpoint, close the file, answer `closed`, exit 0. */
  | {type: 'close'};

/** Of no question. */
export const LAST_REPORT_ID = 0;

export type WorkerToSupervisor =
  /** Started and waiting for a tenant. */
  | {type: 'spare'}
  /** `egress`: the policy that the tenant's file names; read before any code of the tenant has run. */
  | {type: 'opened'; egress: EgressSettings}
  /** The tenant's code is going to run: it may want out. */
  | {type: 'egress_wanted'}
  /** An operator changes the tenant's egress policy, with this body of a request and this voucher. Answered by `egress_taken`. */
  | {type: 'egress_put'; id: number; body: string; voucher: string}
  /** A version of Node is to be installed below the data directory. Answered by `node_settled`. */
  | {type: 'node_wanted'; id: number; version: NodeVersion}
  | {type: 'open_failed'; error: ErrorObject}
  /** The tenant has a deployment, and this worker cannot hold isolates: it has closed the file and ends. */
  | {type: 'needs_isolates'}
  /**
   * Something goes on in the tenant that no request waits for: it wants to stay awake until then, epoch milliseconds. Null:
   * nothing does. Sent with each change.
   */
  | {type: 'in_use'; untilMs: number | null}
  /** When the tenant next has work due, epoch milliseconds; null: nothing is scheduled. `hasCode`: a deployment is active. */
  | {type: 'closed'; nextDueMs: number | null; hasCode: boolean}
  /**
   * Answer to `metrics`: prom-client's form of a registry as JSON; empty while no tenant is open. With LAST_REPORT_ID it was not asked
   * for: the worker is about to say `closed`.
   */
  | {type: 'metrics'; id: number; report: string}
  | {type: 'heartbeat'};
