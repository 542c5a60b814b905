/**
 * The messages between the supervisor and its children, over the channel that Node gives a spawned process. The channel
 * is also the parent-death watch: when it closes, the other end is gone, and a child then exits once its turn ends.
 *
 * Who decides what: the supervisor owns the tenant registry, every worker's life and the attribution of crashes. Each
 * router keeps a copy of the list of tenants and of quarantined calls, requests a worker when a request needs one, and
 * reports activity. A worker opens and closes its tenant on command. Routers do not know of each other.
 */
import type {ErrorObject} from '../errors.ts';
import type {MetricJson} from '../metrics/metric-json.ts';
import type {NodeVersion} from '../node-version.ts';
import type {RateLimit} from '../rate-limit.ts';
import type {AuditedAction, AuditedOutcome, AuditRequest, RefusedRequest} from './audit.ts';
import type {BackupRequest} from './backups.ts';
import type {HostState, LogGrant} from './cluster.ts';
import type {ClusterRequest} from './cluster-requests.ts';
import type {EgressSettings, EndpointKey} from './egress.ts';
import type {Errand} from './errand.ts';
import type {CloneRequest, FileRequest} from './files.ts';
import type {KeyRecord, KeyRequest} from './keys.ts';
import type {StatusRequest} from './overview.ts';
import type {SessionRecord, SessionRequest} from './sessions.ts';
import type {UpgradeRequest} from './upgrades.ts';

/**
 * Names one worker process: no other one of any tenant ever has the same name. It does not say where the worker is
 * reached, so workers of other hosts can have names too.
 */
export type WorkerName = string;

/**
 * Where a router reaches a tenant's worker. The secret is generated for every worker and never leaves memory. `owner`:
 * the uid of the socket's owner. `runsCode`: the worker can hold isolates, so it accepts deployments.
 */
export type WorkerAddress = {
  tenant: string;
  worker: WorkerName;
  socketPath: string;
  secret: string;
  owner: number;
  runsCode: boolean;
};

/**
 * A tenant that another host of the cluster serves. Routers reach its worker through a router of that host. `worker` is
 * another name each time that a host becomes the owner. `address`: host and port of the peer port.
 */
export type RemoteAddress = {tenant: string; worker: WorkerName; host: string; address: string};

/** How routers of a cluster reach each other: TLS in both directions, with certificates of the cluster's own CA. */
export type PeerSettings = {
  /** Of this host. The certificate of a host has its name as a DNS name. */
  host: string;
  /** The addresses at which other hosts connect. */
  listen: {host: string; port: number};
  /** PEM. */
  ca: string;
  certificate: string;
  key: string;
};

/* ── router ── */

/** The function and arguments of a request: worker crashes are attributed to these. */
export type UserCall = {
  /** The function, for people: its path, or an HTTP action's method and path. */
  name: string;
  /** A digest of the function and its arguments. */
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

/**
 * Where the dashboard is. `origin`: its pages' origin behind a proxy; null: dashboard.localhost on the port of the API.
 * `port`: of a listener of its own; null: none; 0: any free port.
 */
export type DashboardSettings = {origin: string | null; port: number | null};

export type RouterSettings = {
  /** This router's number, from 0; its replacement has the same number. */
  place: number;
  /** How many routers share the port, and the limits. */
  routers: number;
  host: string;
  /** 0: any free port, for a single router. It reports the port that it got, and gets the same one after a restart. */
  port: number;
  /** Loopback port of the metrics listener without credential; null: none; 0: any free port. */
  metricsPort: number | null;
  /** Names in addition to the loopback ones that a `Host` header can contain, as `name` or `name:port`. */
  allowedHosts: string[];
  /** Origins in addition to the loopback ones whose pages can call the native API, as browsers write them. */
  allowedOrigins: string[];
  /** Addresses and ranges of proxies that are trusted to state a request's origin. */
  trustedProxies: string[];
  /** Null: there is no dashboard. */
  dashboard: DashboardSettings | null;
  /** Null: no limit. */
  rateLimits: {tenant: RateLimit | null; key: RateLimit | null};
  /** SHA-256 digests, in hex, of the two admin credentials. */
  accessTokenSha256: string;
  adminTokenSha256: string;
  /** For signed grants (shared/egress/signed-grant.ts). */
  grantKey: string;
  /** Null: the server is not part of a cluster. */
  peers: PeerSettings | null;
  version: string;
  build: string;
};

/** Requests of one tenant that were answered since the last report, and its sockets that are open now. */
export type TrafficReport = {
  tenant: string;
  requests: number;
  /** Answered with 500 and above. */
  errors: number;
  bytesIn: number;
  bytesOut: number;
  sockets: number;
  /** By the buckets of shared/metrics/latency.ts, without endless answers. */
  latencies: number[];
};

/** The data that a starting router needs. */
export type RouterState = {
  tenants: string[];
  /** Tenants that are being replaced: they are added in a moment. */
  returning: string[];
  suspects: TenantSuspects[];
  keys: KeyRecord[];
  sessions: SessionRecord[];
};

export type SupervisorToRouter =
  /** Once, first. */
  | ({type: 'start'; settings: RouterSettings} & RouterState)
  /** A key is new, or was rotated. */
  | {type: 'key_put'; key: KeyRecord}
  /** The key with this id no longer exists. */
  | {type: 'key_removed'; key: string}
  /** A session of the dashboard is new. */
  | {type: 'session_put'; session: SessionRecord}
  /** The session with this id has ended. */
  | {type: 'session_removed'; session: string}
  | {type: 'tenant_added'; tenant: string}
  /**
   * The tenant is being deleted: forget it, fail the requests that wait for it, close its connection. `returns`: it is
   * only replaced, and refused with 503 until it is added again.
   */
  | {type: 'tenant_removed'; tenant: string; returns: boolean}
  /**
   * In a cluster, after `start`, each time that the lease of the host is renewed, and when something else of it changes.
   */
  | ({type: 'host_state'} & HostState)
  /** Everything sent before this was received: answered by `synced`. */
  | {type: 'sync'; id: number}
  /** All calls suspected of crashing this tenant's workers; replaces the previous list. */
  | ({type: 'suspects'} & TenantSuspects)
  /** Another router got an answer to this suspected call: it is innocent. */
  | {type: 'call_answered'; tenant: string; key: string}
  /** A worker serves this tenant. The answer to `wake`; sent after the messages that its predecessor's crash caused. */
  | {type: 'worker_ready'; address: WorkerAddress}
  /** As `worker_ready`, if another host serves the tenant. */
  | {type: 'served_elsewhere'; address: RemoteAddress}
  /** The tenant's worker has ended or could not be started: fail the waiting requests with this error. */
  | {type: 'worker_failed'; tenant: string; error: ErrorObject; retryAfterS: number}
  /** Stop using this worker if no request is in flight, and answer `released`. */
  | {type: 'release'; tenant: string}
  /**
   * The tenant's worker ends: send nothing more to it, request another one for new requests, and answer `given_up` once
   * all requests in flight have been answered. Endless answers are cut with this error.
   */
  | {type: 'give_up'; tenant: string; error: ErrorObject}
  | {type: 'reply'; id: number; result: unknown}
  | {type: 'reply_error'; id: number; error: ErrorObject}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number}
  /** Stop accepting, finish the requests in flight, then exit 0. */
  | {type: 'drain'};

/** Null: there is no such listener. */
export type Ports = {port: number; metricsPort: number | null; dashboardPort: number | null};

export type RouterToSupervisor =
  | ({type: 'listening'; host: string} & Ports)
  /** Start-up failed (port taken, address unavailable): one sentence for the operator. */
  | {type: 'listen_failed'; message: string}
  /**
   * A request needs this tenant's worker; answered by `worker_ready`, `served_elsewhere` or `worker_failed`. `forCode`:
   * the worker must be able to run code; the tenant is moved to such a worker if necessary. `forPeer`: a router of
   * another host needs it, which was referred to this host.
   */
  | {type: 'wake'; tenant: string; forCode: boolean; forPeer: boolean}
  /** Answered by `reply` (null) or `reply_error`. */
  | {type: 'request'; id: number; action: 'tenant_create' | 'tenant_delete'; tenant: string}
  /** Answered by `reply` with the body of the route's response. */
  | ({type: 'request'; id: number} & KeyRequest)
  | ({type: 'request'; id: number} & SessionRequest)
  /** An operator requests an action: answered by `reply` with the sequence of its record once that is on disk. */
  | {type: 'request'; id: number; action: 'audit_intent'; audited: AuditedAction}
  /** Answered by `reply` with the page as JSON. */
  | ({type: 'request'; id: number} & AuditRequest)
  /** Answered by `reply` with the body of the route's response. */
  | ({type: 'request'; id: number} & StatusRequest)
  /** Answered by `reply` with the body of the route's response. */
  | ({type: 'request'; id: number} & BackupRequest)
  /** See files.ts. */
  | ({type: 'request'; id: number} & FileRequest)
  | ({type: 'request'; id: number} & CloneRequest)
  /** Answered by `reply` with the body of the route's response. */
  | ({type: 'request'; id: number} & UpgradeRequest)
  /** Answered by `reply` with the body of the route's response. */
  | ({type: 'request'; id: number} & ClusterRequest)
  /** Tenants with requests since the last report, or whose open sockets are others; sent every few seconds. */
  | {type: 'traffic'; reports: TrafficReport[]}
  /** The outcome of an action. */
  | ({type: 'audit_outcome'} & AuditedOutcome)
  /** Requests were refused because of their credential: a few of these per minute at most. */
  | {type: 'refused'; refused: RefusedRequest}
  /** Ids of keys and sessions used since the last report; sent every few seconds if there are any. */
  | {type: 'keys_used'; keys: string[]}
  /** The metrics page of the whole service, as Prometheus text; answered by `reply`. */
  | {type: 'request'; id: number; action: 'metrics'}
  /**
   * Tenants that had traffic since the last report; `busy`: those with requests in flight. Sent every second if there
   * are any.
   */
  | {type: 'activity'; active: string[]; busy: string[]}
  | {type: 'synced'; id: number}
  /**
   * The connection to this worker closed unexpectedly, or never opened. `calls`: functions that were in flight on it.
   */
  | {type: 'link_lost'; tenant: string; worker: WorkerName; calls: UserCall[]}
  /** This worker violated the protocol and must be ended. `link_lost` follows. */
  | {type: 'link_malformed'; tenant: string; worker: WorkerName; why: string}
  /** A suspected call was answered. */
  | {type: 'call_answered'; tenant: string; key: string}
  /** Answer to `release`. `busy`: the worker is still in use and stays. */
  | {type: 'released'; tenant: string; busy: boolean}
  /** Answer to `give_up`. */
  | {type: 'given_up'; tenant: string}
  /** Answer to `metrics`: this router's metrics. */
  | {type: 'metrics'; id: number; report: MetricJson[]}
  | {type: 'heartbeat'};

/* ── worker ── */

/**
 * Uid and gid. The group is shared by all workers: it can pass through directories that otherwise belong to one user.
 */
export type WorkerUser = {id: number; group: number};

/** How a worker captures the commits of its tenant for copies. */
export type CopySettings = {
  /** A commit reaches the spool after a quarter of this at most, in milliseconds. */
  everyMs: number;
  /** Page sets that wait for the copier. Beyond: they are dropped, and a base is due. */
  spoolBytesMax: number;
};

export type TenantSettings = {
  tenant: string;
  /** The user that the worker switches to before it opens anything; null: it keeps its user. */
  user: WorkerUser | null;
  /** The tenant's file must contain the same generation, or it is refused. */
  generation: number;
  createdMs: number;
  /** It had code when it was last open. The file decides; this only tells what to prepare. */
  hasCode: boolean;
  /** An operator paused the tenant: it answers reads, refuses all else, and runs nothing by itself. */
  isReadOnly: boolean;
  /** The tenant's own directory; it exists. */
  directory: string;
  /** A file whose blocks can be released when the disk is full. */
  reservePath: string;
  /** Where to listen for routers. */
  socketPath: string;
  secret: string;
  /** The proxy endpoint for the connections of the tenant's code. */
  egress: EndpointKey;
  /** Number of routers of this host that can connect. Those of other hosts connect too. */
  routers: number;
  journalKeepRecords: number;
  /** The tenant's storage quota; 0: no limit. */
  storageBytesMax: number;
  /** Maximum total `memory_mb` of its services that are to run. */
  servicesMemoryMbMax: number;
  /** Callers of functions see that one failed, but not why. */
  redactErrors: boolean;
  /** Null: no copies are made of the tenant. */
  copies: CopySettings | null;
  /** The tenant's log in the cluster; null: the server is not part of one. */
  log: (LogGrant & EndpointKey) | null;
};

export type ErrandSettings = Omit<
  TenantSettings,
  'hasCode' | 'isReadOnly' | 'socketPath' | 'secret' | 'egress' | 'routers' | 'log'
>;

export type SupervisorToWorker =
  /** Open this tenant and listen; answered by `opened` or `open_failed`. */
  | {type: 'open'; settings: TenantSettings}
  /** Do this and end; answered by `errand_done` or `errand_failed`. */
  | {type: 'errand'; settings: ErrandSettings; errand: Errand}
  /** Answer to `egress_put`: the policy applies (null), or why not. */
  | {type: 'egress_taken'; id: number; error: ErrorObject | null}
  /** Answer to `node_wanted`: null once it is installed, or why not, for people. */
  | {type: 'node_settled'; id: number; error: string | null}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number}
  /** Answered by `copies_flushed` when every commit that is durable now is in the spool, or a base is due. */
  | {type: 'copies_flush'; id: number}
  /** Answered by `file_held`: the file stays as it says until `file_release`. */
  | {type: 'file_hold'; id: number}
  /** Answered by `file_released`. */
  | {type: 'file_release'; id: number}
  /** Finish the requests in flight, checkpoint, close the file, answer `closed`, exit 0. */
  | {type: 'close'};

/** The id of a report that no request asked for. */
export const LAST_REPORT_ID = 0;

export type WorkerToSupervisor =
  /** Started and waiting for a tenant. */
  | {type: 'spare'}
  /** `egress`: the policy in the tenant's file, read before any code of the tenant has run. */
  | {type: 'opened'; egress: EgressSettings}
  /** The tenant's code is about to run and can need outgoing connections. */
  | {type: 'egress_wanted'}
  /**
   * An operator changes the tenant's egress policy with this request body and this grant. Answered by `egress_taken`.
   */
  | {type: 'egress_put'; id: number; body: string; signedGrant: string}
  /** Install this version of Node below the data directory. Answered by `node_settled`. */
  | {type: 'node_wanted'; id: number; version: NodeVersion}
  | {type: 'open_failed'; error: ErrorObject}
  /** `result`: JSON. */
  | {type: 'errand_done'; result: string}
  | {type: 'errand_failed'; error: ErrorObject}
  /** The tenant has a deployment, but this worker cannot hold isolates: it has closed the file and exits. */
  | {type: 'needs_isolates'}
  /**
   * The tenant has background work that no request waits for, and must stay awake until this time, in epoch
   * milliseconds. Null: it has none. Sent at each change.
   */
  | {type: 'in_use'; untilMs: number | null}
  /**
   * When the tenant's next work is due, in epoch milliseconds; null: nothing is scheduled. `hasCode`: a deployment is
   * active.
   */
  | {type: 'closed'; nextDueMs: number | null; hasCode: boolean}
  /**
   * Answer to `metrics`: prom-client's form of a registry as JSON; empty while no tenant is open. With LAST_REPORT_ID
   * it is unsolicited: the worker is about to send `closed`. `functions`: calls since the last report, as JSON
   * (shared/metrics/function-counts.ts).
   */
  | {type: 'metrics'; id: number; report: string; functions: string}
  /** Answer to `copies_flush`. */
  | {type: 'copies_flushed'; id: number}
  /** The tenant's file with the first `logBytes` of its log is one commit. Null: it cannot be held. */
  | {type: 'file_held'; id: number; logBytes: number | null}
  /** `isWhole`: it was held all the time, and its newest commit is durable. */
  | {type: 'file_released'; id: number; isWhole: boolean}
  | {type: 'heartbeat'};
