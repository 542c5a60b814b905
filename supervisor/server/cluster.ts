/**
 * This server as a host of a cluster: starts the cluster process, makes the tenants of the cluster known on this host, and
 * passes on what concerns a tenant. Without --cluster there is none of it.
 */
import {randomBytes} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {unreachable} from '../../shared/assert.ts';
import type {
  ClusterPause,
  ClusterProcessSettings,
  ClusterTenant,
  HostState,
  KeyChanged,
  OwnedTenant,
  PausedTenant,
} from '../../shared/ipc/cluster.ts';
import type {ClusterAnswer, ClusterRequest} from '../../shared/ipc/cluster-requests.ts';
import type {PeerSettings, SupervisorToRouter} from '../../shared/ipc/control.ts';
import {LOG_SPOOLS_DIRECTORY} from '../../shared/ipc/copier.ts';
import type {KeyRecord} from '../../shared/ipc/keys.ts';
import type {Logger} from '../../shared/log.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import type {PauseMode} from '../../shared/protocol/tenant-status.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {VERSION} from '../../shared/version.ts';
import {swapStart} from '../files/cluster-mark.ts';
import {StartError} from '../files/start-error.ts';
import type {KeyCluster, Keys} from '../keys/keys.ts';
import {CLUSTER_ANSWER_MS, CLUSTER_CHANGE_RETRY_MS, CLUSTER_CLOSE_MS, CLUSTER_JOIN_MS} from '../limits.ts';
import {ClusterReports} from '../metrics/cluster-reports.ts';
import type {SupervisorMetrics} from '../metrics/metrics.ts';
import {type ClusterNotice, ClusterProcess, type Membership} from '../processes/cluster-process.ts';
import {KillRate} from '../processes/kill-rate.ts';
import {ClusterFiles} from '../tenants/cluster-files.ts';
import type {ClusterGrants} from '../tenants/cluster-grants.ts';
import type {TenantControl} from '../tenants/tenant-control.ts';
import type {Tenants} from '../tenants/tenants.ts';
import {LogCopies} from './log-copies.ts';
import type {ClusterSettings} from './settings.ts';
import {TenantChanges} from './tenant-changes.ts';

/** Of the data directory: what standbys fetch. It is emptied by each start of the cluster process. */
const SCRATCH_DIRECTORY = 'scratch-cluster';
const NO_LEASE = {leaseUntilMs: 0, keysUntilMs: 0};

export type ClusterParts = {
  settings: ClusterSettings;
  data: string;
  /** The bundle of the cluster process, and its environment. */
  entry: string;
  env: Record<string, string>;
  tenants: () => Pick<Tenants, 'takeIn' | 'leaveCluster' | 'inDirectories'>;
  control: () => Pick<TenantControl, 'follow'>;
  /** Of the directory of a tenant. */
  pathOf: (tenant: string, generation: number) => string;
  grants: () => ClusterGrants;
  tellRouters: (message: SupervisorToRouter) => void;
  keys: () => Pick<Keys, 'received' | 'unknownToCluster'>;
  /** Keys have changed: sessions of the dashboard can be over. */
  sweepSessions: () => Promise<void>;
  metrics: () => SupervisorMetrics;
  log: Logger;
};

export class Cluster implements KeyCluster {
  readonly process: ClusterProcess;
  /** For the repository of this server, if it has one. */
  readonly copies: LogCopies;
  readonly files: ClusterFiles;
  readonly #parts: ClusterParts;
  readonly #reports = new ClusterReports();
  readonly #changes: TenantChanges;
  #state: HostState = {...NO_LEASE, isDraining: false};
  #onMembership: ((membership: Membership | null) => void) | null = null;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    const {data, entry, env, log, metrics, grants} = parts;
    this.#changes = new TenantChanges({retryMs: CLUSTER_CHANGE_RETRY_MS, log});
    const start = randomBytes(16).toString('hex');
    this.process = new ClusterProcess({
      settings: {
        ...processSettings(parts.settings),
        ...{scratch: join(data, SCRATCH_DIRECTORY), copies: join(data, LOG_SPOOLS_DIRECTORY)},
      },
      ...{start, previousStart: swapStart(data, start, parts.settings.cluster)},
      isDraining: () => this.#state.isDraining,
      onMembership: membership => this.#joined(membership),
      onNotice: notice => this.#received(notice),
      onEnd: async isUnexpected => {
        if (isUnexpected) metrics().count('svc_process_deaths_total', {process: 'cluster'});
        this.#reports.ended();
        this.#changeState({...this.#state, ...NO_LEASE});
        await grants().lost();
      },
      onKill: reason => metrics().count('svc_process_kills_total', {process: 'cluster', reason}),
      rate: new KillRate(() => performance.now()),
      ...{entry, env, log},
    });
    const {cluster, host} = parts.settings;
    this.copies = new LogCopies(this.process, {cluster, host});
    this.files = new ClusterFiles(this.process, change => this.#changes.alone(change));
  }

  /** How its routers reach those of other hosts. @throws StartError */
  get peers(): PeerSettings {
    const {host, peers} = this.#parts.settings;
    const {ca, certificate, key} = peers.files;
    return {host, listen: peers.listen, ca: pem(ca), certificate: pem(certificate), key: pem(key)};
  }

  /** For routers. */
  get hostState(): Extract<SupervisorToRouter, {type: 'host_state'}> {
    return {type: 'host_state', ...this.#state};
  }

  /** Resolves when this host is a member, and has all tenants of the cluster. @throws StartError */
  async start(): Promise<void> {
    const joining = this.#membershipWithin(CLUSTER_JOIN_MS);
    this.process.start();
    const membership = await joining;
    if (membership?.type === 'refused')
      throw new StartError(`this host cannot join the cluster: ${membership.message}`);
    if (membership === null) throw new StartError('this host could not join the cluster in time; the log says why');
    await this.#changes.tried;
  }

  /** @throws session.tenant_exists 409, session.storage_full 507, session.outcome_unknown 503, session.worker_unavailable 503 */
  async create(tenant: string): Promise<void> {
    const made = (await this.process.request({does: 'create', tenant})) as ClusterTenant;
    await this.#changes.make(async () => {
      await this.#parts.tenants().takeIn(made);
      this.#known(made, 0);
    });
  }

  /**
   * Resolves when no host serves it any more under this generation.
   * @throws session.tenant_not_found 404; session.outcome_unknown 503; session.worker_unavailable 503, also if the tenant
   * is deleted, and another host may still serve it
   */
  async delete(tenant: string): Promise<void> {
    const deleted = (await this.process.request({does: 'delete', tenant})) as OwnedTenant;
    await this.#changes.make(() => this.#parts.tenants().leaveCluster(tenant, deleted.generation));
    const {leaseMs} = this.#parts.settings;
    await this.process.request({does: 'end_deleted', tenant: deleted}, CLUSTER_ANSWER_MS + 2 * leaseMs);
  }

  /**
   * Resolves when no host serves it in another way. @param paused null: it is resumed
   * @throws session.tenant_not_found 404, session.storage_full 507; session.worker_unavailable 503, also if the change is
   * stored, and another host may not have made it yet
   */
  async pause(tenant: string, paused: PauseMode | null): Promise<void> {
    const changed = (await this.process.request({does: 'pause', tenant, paused})) as PausedTenant;
    await this.#changes.make(() => this.#follow(changed.tenant));
    if (changed.before === null) return;
    const {leaseMs} = this.#parts.settings;
    await this.process.request({does: 'end_paused', tenant: changed.before}, CLUSTER_ANSWER_MS + 2 * leaseMs);
  }

  /** @throws ServiceError */
  async perform(request: ClusterRequest): Promise<ClusterAnswer> {
    return (await this.process.request({does: 'perform', request})) as ClusterAnswer;
  }

  /** @throws session.worker_unavailable 503 */
  async keyTurn(): Promise<number> {
    return (await this.process.request({does: 'key_turn'})) as number;
  }

  /** @throws session.storage_full 507, session.outcome_unknown 503, session.worker_unavailable 503 */
  async putKey(key: KeyRecord, turn: number): Promise<KeyChanged> {
    return (await this.process.request({does: 'key_put', key, turn})) as KeyChanged;
  }

  /** @throws as `putKey` */
  async removeKey(key: string): Promise<void> {
    await this.process.request({does: 'key_remove', key});
  }

  /** Metrics of the cluster process, with the counts of earlier ones. */
  async report(): Promise<MetricJson[]> {
    return this.#reports.taken(await this.process.report());
  }

  /** A tenant of this host sleeps. */
  asleep(tenant: string, dueMs: number | null): void {
    this.process.request({does: 'due', tenant, dueMs}).catch((error: unknown) => {
      // The entry stays as one that was open, so the tenant is opened once more.
      this.#parts.log.debug('the cluster does not know when a tenant has work again', {tenant, error});
    });
  }

  /**
   * Hands over what this host serves. If the cluster process ends meanwhile, the next one goes on.
   * @param withinMs then the rest is closed, and other hosts open it
   */
  async drain(withinMs: number): Promise<void> {
    this.#changeState({...this.#state, isDraining: true});
    const untilMs = performance.now() + withinMs;
    const leftMs = () => Math.max(0, untilMs - performance.now());
    for (;;) {
      try {
        await this.process.request({does: 'drain'}, leftMs());
        return;
      } catch (error) {
        if (this.process.isMember || leftMs() === 0) {
          this.#parts.log.warn('not all tenants were handed over before the server stopped', {error});
          return;
        }
      }
      await this.#membershipWithin(leftMs());
    }
  }

  /** All workers have ended. */
  async close(): Promise<void> {
    await this.#changes.tried;
    await this.process.close(CLUSTER_CLOSE_MS);
  }

  async #follow(tenant: ClusterTenant & ClusterPause): Promise<void> {
    await this.#parts.tenants().takeIn(tenant);
    this.#parts.control().follow(tenant);
    this.#known(tenant, tenant.epoch);
  }

  #known(tenant: ClusterTenant, epoch: number): void {
    const directory = this.#parts.pathOf(tenant.tenant, tenant.generation);
    this.process.known(tenant, join(directory, TENANT_FILE), epoch);
  }

  /** What becomes of the next attempt to join. Null: that is not known in time. */
  async #membershipWithin(ms: number): Promise<Membership | null> {
    const membership = await new Promise<Membership | null>(resolve => {
      const timer = setTimeout(() => resolve(null), ms);
      this.#onMembership = next => {
        clearTimeout(timer);
        resolve(next);
      };
    });
    this.#onMembership = null;
    return membership;
  }

  #joined(membership: Membership): void {
    if (membership.type === 'refused') this.#parts.log.error('this host is no member of the cluster', {...membership});
    else {
      // Also those without an entry, of which the log has lost everything.
      for (const tenant of this.#parts.tenants().inDirectories()) this.#known(tenant, 0);
      void this.#adoptKeys();
      this.copies.joined();
    }
    this.#onMembership?.(membership);
  }

  /** A server that becomes a host brings its keys along. */
  async #adoptKeys(): Promise<void> {
    try {
      for (const key of this.#parts.keys().unknownToCluster()) await this.process.request({does: 'key_adopt', key});
    } catch (error) {
      this.#parts.log.warn('keys of this server are not in the cluster yet; the next start tries again', {error});
    }
  }

  #received(notice: ClusterNotice): void {
    switch (notice.type) {
      case 'tenant_is':
        this.#changes.repeat(notice.tenant.tenant, () => this.#follow(notice.tenant));
        return;
      case 'tenant_gone':
        this.#changes.repeat(notice.tenant, () => this.#parts.tenants().leaveCluster(notice.tenant, notice.generation));
        return;
      case 'key_is':
      case 'key_gone':
        this.#parts.keys().received(notice);
        void this.#parts.sweepSessions();
        return;
      case 'host_state':
        this.#changeState(notice);
        return;
      case 'spooled':
        this.copies.spooled(notice);
        return;
      case 'granted':
      case 'hand_over':
      case 'fence':
      case 'owner_changed':
      case 'tenant_due':
        this.#parts.grants().received(notice);
        return;
      default:
        unreachable(notice);
    }
  }

  #changeState({leaseUntilMs, keysUntilMs, isDraining}: HostState): void {
    // A drain ends with svc: what the cluster process sent before it began is no end.
    this.#state = {leaseUntilMs, keysUntilMs, isDraining: isDraining || this.#state.isDraining};
    this.#parts.tellRouters(this.hostState);
  }
}

function processSettings({peers, ...settings}: ClusterSettings): Omit<ClusterProcessSettings, 'scratch' | 'copies'> {
  const {cluster, host, servers, nats, capacity, leaseMs, allowSingleLog, standbys, copyRateBytes} = settings;
  const given = {cluster, host, servers, nats, capacity, leaseMs, allowSingleLog, standbys, copyRateBytes};
  const localLagMs = settings.ack === 'local' ? settings.lagMaxMs : null;
  return {...given, localLagMs, peerAddress: peers.address, svcVersion: VERSION};
}

/** @throws StartError */
function pem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new StartError(`${path} cannot be read: ${(cause as Error).message}`, {cause});
  }
}
