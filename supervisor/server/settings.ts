/** The settings of a server, and how operators see those in force. None of them is a secret. */
import type {RouterSettings} from '../../shared/ipc/control.ts';
import type {KeepPolicy} from '../../shared/ipc/copier.ts';
import type {ServerStatus} from '../../shared/protocol/server.ts';
import type {UsersSetting} from '../confinement/users.ts';
import type {Listening} from '../processes/router-process.ts';
import type {PlacementSettings} from '../tenants/placement.ts';

/**
 * `keyFile`: absolute. `heartbeatUrl`: requested after successes; null: none is. The sizes: of a tenant's spool, and of
 * a tenant; 0: no limit.
 */
export type BackupSettings = {
  to: string;
  everyMs: number;
  keyFile: string;
  heartbeatUrl: string | null;
  drillEveryMs: number;
  /** Null: all points stay. */
  keep: KeepPolicy | null;
  spoolBytesMax: number;
  tenantBytesMax: number;
};

/** One NATS server, as `nats://10.0.0.1:4222`, and its monitoring page, as `https://10.0.0.1:8222`. */
export type NatsAddress = {server: string; monitor: string};

/** Paths are absolute. */
export type ClusterSettings = {
  /** Name of the cluster. */
  cluster: string;
  /** Name of this host. */
  host: string;
  servers: NatsAddress[];
  /** Null each: NATS is on this machine, without TLS and users. */
  nats: {ca: string | null; certificate: string | null; key: string | null; seed: string | null};
  peers: {
    listen: {host: string; port: number};
    /** Host and port at which other hosts reach it. */
    address: string;
    files: {ca: string; certificate: string; key: string};
  };
  ack: 'replicated' | 'local';
  /** With `ack: local`: how long acknowledged writes can be on this host alone. */
  lagMaxMs: number;
  /** Copies of each tenant, in addition to that of its owner. */
  standbys: number;
  leaseMs: number;
  /** Weight of this host among the others. */
  capacity: number;
  allowSingleLog: boolean;
  /** Bytes in a second that copies of whole tenants may use; 0: no limit. */
  copyRateBytes: number;
  /** Time to hand tenants over before the server stops. */
  drainTimeoutMs: number;
};

/** Settings that are passed on to routers unchanged. */
type EdgeSettings = Pick<
  RouterSettings,
  | 'host'
  | 'port'
  | 'metricsPort'
  | 'allowedHosts'
  | 'allowedOrigins'
  | 'trustedProxies'
  | 'dashboard'
  | 'rateLimits'
  | 'routers'
>;

export type SupervisorSettings = PlacementSettings &
  EdgeSettings & {
    /** Absolute path of the data directory. */
    data: string;
    spareWorkers: number;
    workerUsers: UsersSetting;
    /** Refuse to start if a sandbox layer is missing. */
    requireSandbox: boolean;
    logLevel: string;
    logFormat: string;
    /** Bundles of the child processes. */
    entries: {router: string; worker: string; egress: string; copier: string; cluster: string};
    /** Null: no backups are made. */
    backup: BackupSettings | null;
    /** Null: this server is no host of a cluster. */
    cluster: ClusterSettings | null;
  };

/** @param listening the ports that were free; null: it does not listen yet */
export function settingsShown(settings: SupervisorSettings, listening: Listening | null): ServerStatus['settings'] {
  const {workerUsers: users, dashboard} = settings;
  return {
    host: settings.host,
    port: listening?.port ?? settings.port,
    metrics_port: listening?.metricsPort ?? settings.metricsPort,
    data: settings.data,
    routers: settings.routers,
    spare_workers: settings.spareWorkers,
    max_awake: settings.maxAwake,
    idle_stop_ms: settings.idleStopMs,
    worker_users: typeof users === 'string' ? users : `${users.first}-${users.last}`,
    require_sandbox: settings.requireSandbox,
    allowed_hosts: settings.allowedHosts,
    allowed_origins: settings.allowedOrigins,
    trusted_proxies: settings.trustedProxies,
    dashboard: dashboard && {origin: dashboard.origin, port: listening?.dashboardPort ?? dashboard.port},
    rate_limit_tenant: settings.rateLimits.tenant,
    rate_limit_key: settings.rateLimits.key,
    journal_keep_records: settings.journalKeepRecords,
    tenant_storage_max_bytes: settings.tenantStorageMax,
    tenant_services_memory_mb: settings.tenantServicesMemoryMb,
    redact_errors: settings.redactErrors,
    backup_to: settings.backup?.to ?? null,
    backup_every_ms: settings.backup?.everyMs ?? null,
    backup_drill_ms: settings.backup?.drillEveryMs ?? null,
    backup_keep: settings.backup?.keep ?? null,
    copies_spool_max_bytes: settings.copies?.spoolBytesMax ?? null,
    cluster: settings.cluster && clusterShown(settings.cluster),
    log_level: settings.logLevel,
    log_format: settings.logFormat,
  };
}

function clusterShown(settings: ClusterSettings): NonNullable<ServerStatus['settings']['cluster']> {
  return {
    name: settings.cluster,
    host: settings.host,
    nats: settings.servers.map(({server}) => server),
    peer_address: settings.peers.address,
    ack: settings.ack,
    lag_max_ms: settings.ack === 'local' ? settings.lagMaxMs : null,
    standbys: settings.standbys,
    lease_ms: settings.leaseMs,
    capacity: settings.capacity,
    copy_rate_bytes: settings.copyRateBytes,
    drain_timeout_ms: settings.drainTimeoutMs,
  };
}
