/**
 * The messages between the supervisor and the cluster process, which holds the credentials for the log of the cluster: it
 * knows the other hosts, and decides with them which one serves a tenant. The supervisor runs the workers of this host.
 *
 *   locate ──▶ granted ──▶ worker ──▶ (the worker opens the log) ──▶ located: here       … worker_ended
 *      └─────▶ located: another host, or why no host can serve it
 */
import type {ErrorObject} from '../errors.ts';
import type {MetricJson} from '../metrics/metric-json.ts';
import type {PauseMode} from '../protocol/tenant-status.ts';
import type {ClusterRequest} from './cluster-requests.ts';
import type {EndpointKey} from './egress.ts';
import type {KeyRecord} from './keys.ts';

/** Paths of PEM files, and of the file with the seed of the nkey user; null: none. */
export type NatsFiles = {ca: string | null; certificate: string | null; key: string | null; seed: string | null};

export type ClusterProcessSettings = {
  /** The name of the cluster, and of this host in it. */
  cluster: string;
  host: string;
  /** Such as `nats://10.0.0.1:4222` and, of its monitoring page, `http://10.0.0.1:8222`. */
  servers: {server: string; monitor: string}[];
  nats: NatsFiles;
  /** Host and port at which routers of other hosts reach those of this one. */
  peerAddress: string;
  /** A relative weight: how much of the tenants this host gets. */
  capacity: number;
  leaseMs: number;
  allowSingleLog: boolean;
  /** Hosts that keep a copy of each tenant in addition to its owner. */
  standbys: number;
  /** A directory of its own, for files that are fetched. */
  scratch: string;
  /** Another one, for the spools of the copier. */
  copies: string;
  /** Bytes per second that copies of whole tenants take; 0: no limit. */
  copyRateBytes: number;
  /** Of each grant. */
  localLagMs: number | null;
  svcVersion: string;
};

/** A tenant of the cluster. A later tenant with the same id has a higher generation, also on other hosts. */
export type ClusterTenant = {tenant: string; generation: number; createdMs: number};

/** Whether an operator paused it, null: not, and the epoch of its entry: a lower one is of an earlier change. */
export type ClusterPause = {paused: PauseMode | null; epoch: number};

/** A tenant with what its entry had before it was changed: the owner, null if there was none, and its epoch. */
export type OwnedTenant = ClusterTenant & {owner: {host: string; incarnation: number} | null; epoch: number};

/** `before`: as its entry was; null: it has not changed. */
export type PausedTenant = {tenant: ClusterTenant & ClusterPause; before: OwnedTenant | null};

/**
 * Of this host. `leaseUntilMs`, `keysUntilMs`: until when it has its lease, and until when it would have received that a key
 * was revoked: instants of the host's monotonic clock, which each process compares by itself, because the one that sends
 * them can stand still. 0: it has none. `isDraining`: it hands its tenants over.
 */
export type HostState = {leaseUntilMs: number; keysUntilMs: number; isDraining: boolean};

/** What a worker needs to open a tenant in the log. `note` names this host in the log. */
export type LogGrant = {
  tenant: string;
  generation: number;
  cluster: string;
  epoch: number;
  note: string;
  /** An operator paused it, and it answers reads. */
  isReadOnly: boolean;
  /** With `--ack local`: how old a write can be that the log lacks; null: each is in the log before its answer. */
  localLagMs: number | null;
};

export type TenantLocation =
  | {kind: 'here'}
  | {
      kind: 'there';
      host: string;
      address: string /** Another one for each time that a host becomes the owner. */;
      worker: string;
    }
  /** Why no host can serve it now. */
  | {kind: 'nowhere'; error: ErrorObject; isTemporary: boolean};

/** `again`: another host has changed keys meanwhile. `removed`: the key was revoked meanwhile. */
export type KeyChanged = 'stored' | 'again' | 'removed';

/** What a request of a route asks for; the result is the body of its answer, or null. */
export type ClusterProcessRequest =
  /** Answered when the entry is stored, and other hosts have it. The tenant follows as `tenant_is`. */
  | {does: 'create'; tenant: string}
  /** For a tenant that is made of a file. Answered with its generation. */
  | {does: 'reserve'; tenant: string}
  /** Its log begins with the file at the path, which no process has open, and the store has the packages beside it. Answered with the epoch; there is no entry yet. */
  | {does: 'begin'; tenant: ClusterTenant; path: string}
  /** Answered when its entry is stored, with this host as the owner. It follows as `tenant_is`. */
  | {does: 'enter'; tenant: ClusterTenant & ClusterPause}
  /** Answered when the file at the path has everything that the log has of the tenant. */
  | {does: 'copy'; tenant: string; path: string}
  /** Answered when the directory, which is new, has the packages that the store has of the tenant. */
  | {does: 'copy_packages'; tenant: string; to: string}
  /** Answered with an `OwnedTenant`: no host becomes its owner any more. */
  | {does: 'delete'; tenant: string}
  /** This host serves it no more. Answered when no other host does. */
  | {does: 'end_deleted'; tenant: OwnedTenant}
  /** Answered when the entry is stored, with a `PausedTenant`. @property paused null: it is resumed */
  | {does: 'pause'; tenant: string; paused: PauseMode | null}
  /** Answered when no host serves it in the epoch that it had. */
  | {does: 'end_paused'; tenant: OwnedTenant}
  /** Answered with a turn, a number, when all keys have been sent as `key_is`. */
  | {does: 'key_turn'}
  /** A new key, or one that was rotated. Answered with a `KeyChanged`, after `key_is`. */
  | {does: 'key_put'; key: KeyRecord; turn: number}
  /** Answered when it is not valid on this host, after `key_gone`. */
  | {does: 'key_remove'; key: string}
  /** A key that this host had before it was in the cluster. */
  | {does: 'key_adopt'; key: KeyRecord}
  /** Answered when the spools of the copier have what is in the logs now. */
  | {does: 'copies_flush'}
  /** Answered when the spool of the tenant begins with a base. */
  | {does: 'copies_base'; tenant: string}
  /** Of a route. */
  | {does: 'perform'; request: ClusterRequest}
  /** This host hands over all its tenants, and gets no more. Answered when it serves none. */
  | {does: 'drain'}
  /** When the tenant, which sleeps, has work again; null: never. */
  | {does: 'due'; tenant: string; dueMs: number | null};

export type SupervisorToCluster =
  /**
   * Once, first: no worker of this host runs. `previousStart`: that start of svc is known to have ended. `isDraining`: it
   * hands its tenants over, as the process before did.
   */
  | {
      type: 'start';
      settings: ClusterProcessSettings;
      start: string;
      previousStart: string | null;
      isDraining: boolean;
    }
  /** Answered by `located`. `isForwarded`: another host has chosen this one. */
  | {type: 'locate'; id: number; tenant: string; isForwarded: boolean}
  /**
   * The tenant has a directory on this host now, and is paused or not as its entry of the epoch says. `path`: of its file.
   */
  | {type: 'tenant_known'; tenant: string; generation: number; createdMs: number; path: string; epoch: number}
  /** The worker that opens the tenant as granted connects to this path. */
  | {type: 'worker'; tenant: string; epoch: number; endpoint: EndpointKey}
  /** The worker of the grant has ended, or there will be none. */
  | {type: 'worker_ended'; tenant: string; epoch: number}
  /** Whether the copier of this host writes to the repository, and needs spools of what is in the logs. */
  | {type: 'copies'; isOn: boolean}
  /** Answered by `answer`. */
  | {type: 'request'; id: number; request: ClusterProcessRequest}
  /** Answered by `metrics`. */
  | {type: 'metrics'; id: number}
  /** All workers have ended: leave the cluster, exit 0. */
  | {type: 'close'};

export type ClusterToSupervisor =
  /** The host is a member; `tenant_is` and `key_is` have been sent for all tenants and keys that there are. */
  | {type: 'joined'; incarnation: number}
  /** A sentence for the operator: it cannot be a member. */
  | {type: 'refused'; message: string}
  | {type: 'located'; id: number; location: TenantLocation}
  /** Start a worker for the tenant. */
  | {type: 'granted'; grant: LogGrant}
  /** The tenant gets another owner: end its worker in order, after the requests that it has. */
  | {type: 'hand_over'; tenant: string; epoch: number}
  /** This host does not own the tenant any more: end its worker at once. */
  | {type: 'fence'; tenant: string; epoch: number}
  /** The tenant exists, or it was paused or resumed. */
  | {type: 'tenant_is'; tenant: ClusterTenant & ClusterPause}
  /** The tenant of this generation was deleted, by a request of an operator. */
  | {type: 'tenant_gone'; tenant: string; generation: number}
  /** The spool of the tenant has something new for the copier: also of one that this host does not know yet. */
  | {type: 'spooled'; tenant: string; generation: number}
  /** The key is there, as it is now. */
  | {type: 'key_is'; key: KeyRecord}
  /** The key was revoked, by a request of someone. */
  | {type: 'key_gone'; key: string}
  /** The tenant has another owner than before; null: none. */
  | {type: 'owner_changed'; tenant: string; host: string | null}
  /** A tenant that sleeps has work at that time, in epoch milliseconds, and is of this host. */
  | {type: 'tenant_due'; tenant: string}
  /** Sent each time that the lease is renewed, and when something else of it changes. */
  | ({type: 'host_state'} & HostState)
  | {type: 'answer'; id: number; result: unknown; error: ErrorObject | null}
  | {type: 'metrics'; id: number; report: MetricJson[]}
  | {type: 'heartbeat'};
