/**
 * All tenants of the supervisor's registry, and which worker serves each. Once a second it reports which tenants had
 * traffic (the supervisor stops idle workers), and fails requests that waited too long for a worker.
 */
import {assert} from '../../shared/assert.ts';
import type {ReservedTotal} from '../../shared/byte-accounts.ts';
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';
import type {
  RemoteAddress,
  RouterState,
  RouterToSupervisor,
  SupervisorToRouter,
  TenantSuspects,
  TrafficReport,
  WorkerAddress,
  WorkerName,
} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {ACTIVITY_INTERVAL_MS, TRAFFIC_INTERVAL_MS} from '../limits.ts';
import type {LiveConnection, SocketHub} from '../live/tenant-live.ts';
import type {PipeEnd} from '../live/tenant-pipes.ts';
import type {PeerReport} from '../peers/messages.ts';
import type {PeerHosts} from '../peers/peer-hosts.ts';
import type {PeerLink} from '../peers/tenant-peers.ts';
import {limitsOfOne, type RouterLimits, reservedTotal} from '../router-limits.ts';
import type {CachedAnswer, CacheName} from '../workers/answer-cache.ts';
import {CacheSpace, type DocumentNames} from '../workers/cache-space.ts';
import type {Forwarded} from '../workers/forwarded.ts';
import type {WorkerLink} from '../workers/link.ts';
import {PlacedTenant} from './placed-tenant.ts';
import {tenantNotFound, tenantReplaced} from './tenant-errors.ts';

type Send = (message: RouterToSupervisor) => void;
export type PlacementMessage = Extract<
  SupervisorToRouter,
  {
    type:
      | 'tenant_added'
      | 'tenant_removed'
      | 'suspects'
      | 'call_answered'
      | 'worker_ready'
      | 'served_elsewhere'
      | 'worker_failed'
      | 'release'
      | 'give_up';
  }
>;

export class TenantDirectory {
  readonly #tenants = new Map<string, PlacedTenant>();
  /** Tenants with a link or waiting requests: few, however many tenants there are. */
  readonly #placed = new Set<PlacedTenant>();
  /** Tenants that are being replaced. */
  readonly #returning: Set<string>;
  #active: PlacedTenant[] = [];
  /** Tenants with requests since the last report of traffic, or with sockets then. */
  readonly #trafficked = new Set<PlacedTenant>();
  /** Set once the server listens; no socket can be open before that. */
  #hub: SocketHub | null = null;
  readonly #send: Send;
  readonly #log: Logger;
  /** Bytes that the router holds for all tenants. */
  readonly #bytes: ReservedTotal;
  readonly #limits: RouterLimits;
  readonly #hasPeers: boolean;
  /** Null: the server is not part of a cluster. */
  #hosts: PeerHosts | null = null;
  readonly #cache: CacheSpace;
  readonly #metrics: RouterMetrics;

  /** @param routers number of routers of this host. @param isInCluster other hosts have routers, too */
  constructor(
    {tenants, returning, suspects}: Pick<RouterState, 'tenants' | 'returning' | 'suspects'>,
    routers: number,
    send: Send,
    log: Logger,
    metrics: RouterMetrics,
    isInCluster = false,
  ) {
    this.#returning = new Set(returning);
    this.#send = send;
    this.#log = log;
    this.#metrics = metrics;
    this.#measure();
    this.#hasPeers = routers > 1 || isInCluster;
    this.#limits = limitsOfOne(routers);
    this.#cache = new CacheSpace(this.#limits.cachedAnswersBytes);
    this.#bytes = reservedTotal(this.#limits);
    for (const tenant of tenants) this.#add(tenant);
    for (const state of suspects) this.#tenants.get(state.tenant)?.suspect(state);
    setInterval(() => this.#tick(), ACTIVITY_INTERVAL_MS);
    setInterval(() => this.#reportTraffic(), TRAFFIC_INTERVAL_MS);
  }

  /** From now on, sockets publish through this hub. */
  useHub(hub: SocketHub): void {
    this.#hub = hub;
  }

  /** From now on, tenants can be reached on these hosts. */
  joinHosts(hosts: PeerHosts): void {
    this.#hosts = hosts;
  }

  find(id: string): PlacedTenant | undefined {
    return this.#tenants.get(id);
  }

  /** Why there is no tenant of this id: session.tenant_not_found 404, session.worker_unavailable 503 */
  refusalOf(id: string): ServiceError {
    return this.#returning.has(id) ? tenantReplaced(id) : tenantNotFound(id);
  }

  /** All ids in code unit order. */
  ids(): string[] {
    return [...this.#tenants.keys()].sort();
  }

  /**
   * Sends the request to the tenant's worker, waking it if necessary.
   * @throws session.overloaded, session.tenant_not_found
   */
  forward(tenant: PlacedTenant, request: Forwarded): void {
    this.#isActive(tenant);
    if (tenant.link === null) this.#placed.add(tenant);
    tenant.forward(request);
  }

  /** Instead of `forward`: null if only the worker can answer. @param atMs when the request was here */
  cached(tenant: PlacedTenant, name: CacheName, atMs: number): CachedAnswer | null {
    const cached = tenant.cached(name, atMs);
    if (cached !== null) this.#isActive(tenant);
    return cached;
  }

  /**
   * The parameters of the path of a document that was answered from memory; undefined: its parts must be found. They are
   * the texts that name the tenant and the answer here, so that comparing them costs nothing.
   */
  namesIn(path: string): DocumentNames | undefined {
    return this.#cache.namesIn(path);
  }

  #isActive(tenant: PlacedTenant): void {
    if (tenant.isActive) return;
    tenant.isActive = true;
    this.#active.push(tenant);
  }

  /** The tenant, once awake, stays awake while the socket is open. */
  socketOpened(tenant: PlacedTenant, connection: LiveConnection): void {
    this.#placed.add(tenant);
    this.#trafficked.add(tenant);
    tenant.live.connections.add(connection);
  }

  /** As `socketOpened`, for a function socket. */
  functionSocketOpened(tenant: PlacedTenant, socket: PipeEnd): void {
    this.#placed.add(tenant);
    this.#trafficked.add(tenant);
    tenant.pipes.opened(socket);
  }

  /** A router of another host needs the worker. Its host can know of a tenant before this one does. */
  peerArrived(id: string, link: PeerLink): void {
    const tenant = this.#tenants.get(id);
    if (tenant === undefined) {
      link.moved();
      return;
    }
    this.#placed.add(tenant);
    tenant.peerArrived(link);
  }

  peerClosed(id: string, link: PeerLink): void {
    this.#tenants.get(id)?.peerClosed(link);
  }

  /** A router of another host reports about a worker of this one. */
  peerReported(router: object, report: PeerReport): void {
    const tenant = this.#tenants.get(report.tenant);
    if (tenant === undefined) return;
    switch (report.type) {
      case 'lost':
        tenant.peers.reported(router, report.worker, report.calls);
        return;
      case 'answered':
        tenant.innocent(report.key);
        this.#send({type: 'call_answered', tenant: report.tenant, key: report.key});
        return;
      case 'malformed':
        this.#metrics.count('svc_malformed_links_total');
        this.#send({type: 'link_malformed', tenant: report.tenant, worker: report.worker, why: report.why});
        return;
    }
  }

  /** The host of the tenant's worker suspects these calls. */
  peerSuspects(state: TenantSuspects): void {
    this.#tenants.get(state.tenant)?.suspect(state);
  }

  /** Another host asks to give the worker up. */
  peerGivesUp(id: string, worker: WorkerName, why: ServiceError): void {
    this.#tenants.get(id)?.peerGivesUp(worker, why);
  }

  liveQueries(): number {
    let queries = 0;
    for (const tenant of this.#placed) queries += tenant.live.size;
    return queries;
  }

  receive(message: PlacementMessage): void {
    switch (message.type) {
      case 'tenant_added':
        this.#add(message.tenant);
        return;
      case 'tenant_removed':
        this.#tenants.get(message.tenant)?.remove(message.returns);
        this.#tenants.delete(message.tenant);
        if (message.returns) this.#returning.add(message.tenant);
        return;
      case 'suspects':
        this.#tenants.get(message.tenant)?.suspect(message);
        return;
      case 'call_answered':
        this.#tenants.get(message.tenant)?.innocent(message.key);
        return;
      case 'worker_ready':
        this.#workerReady(message.address);
        return;
      case 'served_elsewhere':
        this.#servedElsewhere(message.address);
        return;
      case 'worker_failed':
        this.#tenants.get(message.tenant)?.workerFailed(errorIn(message.error), message.retryAfterS);
        return;
      case 'release': {
        const busy = this.#tenants.get(message.tenant)?.release() ?? false;
        this.#send({type: 'released', tenant: message.tenant, busy});
        return;
      }
      case 'give_up':
        this.#tenants.get(message.tenant)?.giveUp(errorIn(message.error));
        return;
    }
  }

  #measure(): void {
    const metrics = this.#metrics;
    const links = () => [...this.#placed].map(({link}) => link).filter(link => link !== null);
    const sum = (of: (link: WorkerLink) => number) => links().reduce((total, link) => total + of(link), 0);
    metrics.measure('svc_router_links', () => links().length);
    metrics.measure('svc_router_waiting_requests', () =>
      [...this.#placed].reduce((total, {waiting}) => total + waiting, 0),
    );
    metrics.measure('svc_router_held_bytes', () => this.#bytes.reserved);
    metrics.measure('svc_router_cached_bytes', () => this.#cache.bytes);
    metrics.measure('svc_router_cached_answers_total', () => this.#cache.answers);
    metrics.measure('svc_ipc_in_flight_requests', () => sum(link => link.inFlight));
    metrics.measure('svc_ipc_in_flight_bytes', () => sum(link => link.inFlightBytes));
    metrics.measure('svc_ipc_buffered_bytes', () => sum(link => link.bufferedBytes));
  }

  readonly #hubNow = (): SocketHub => {
    assert(this.#hub !== null, 'the server listens');
    return this.#hub;
  };

  #add(id: string): void {
    this.#returning.delete(id);
    if (this.#tenants.has(id)) return;
    const tenant: PlacedTenant = new PlacedTenant(id, {
      log: this.#log,
      hub: this.#hubNow,
      metrics: this.#metrics,
      bytes: this.#bytes,
      cache: this.#cache,
      limits: this.#limits,
      hasPeers: this.#hasPeers,
      wake: (forCode, forPeer) => this.#send({type: 'wake', tenant: id, forCode, forPeer}),
      dial: (remote, forCode, done) => {
        assert(this.#hosts !== null, 'a server that is no host of a cluster serves all its tenants');
        return this.#hosts.dial(remote, forCode, done);
      },
      givenUp: () => this.#send({type: 'given_up', tenant: id}),
      lost: (worker, calls) => this.#send({type: 'link_lost', tenant: id, worker, calls}),
      malformed: (worker, why) => {
        this.#metrics.count('svc_malformed_links_total');
        this.#send({type: 'link_malformed', tenant: id, worker, why});
      },
      answered: key => this.#send({type: 'call_answered', tenant: id, key}),
      onRefused: () => {
        this.#metrics.count('svc_quarantined_calls_total');
      },
      onTraffic: () => this.#trafficked.add(tenant),
    });
    this.#tenants.set(id, tenant);
  }

  #workerReady(address: WorkerAddress): void {
    const tenant = this.#tenants.get(address.tenant);
    if (tenant === undefined) return; // removed while its worker started
    this.#placed.add(tenant);
    tenant.workerReady(address);
  }

  #servedElsewhere(remote: RemoteAddress): void {
    const tenant = this.#tenants.get(remote.tenant);
    if (tenant === undefined) return;
    this.#placed.add(tenant);
    tenant.servedElsewhere(remote);
  }

  #reportTraffic(): void {
    const reports: TrafficReport[] = [];
    for (const tenant of this.#trafficked) {
      if (!tenant.isRemoved) reports.push(tenant.takeTraffic());
      // One more report when its last socket has closed.
      if (tenant.isRemoved || reports.at(-1)!.sockets === 0) this.#trafficked.delete(tenant);
    }
    if (reports.length > 0) this.#send({type: 'traffic', reports});
  }

  #tick(): void {
    const nowMs = performance.now();
    const busy: string[] = [];
    for (const tenant of this.#placed) {
      tenant.expire(nowMs);
      if (tenant.isBusy) busy.push(tenant.id);
      else if (tenant.link === null) this.#placed.delete(tenant);
    }
    const active = this.#active.filter(tenant => !tenant.isRemoved);
    this.#active = [];
    for (const tenant of active) tenant.isActive = false;
    if (active.length > 0 || busy.length > 0) {
      this.#send({type: 'activity', active: active.map(tenant => tenant.id), busy});
    }
  }
}

function errorIn({code, message, detail}: ErrorObject): ServiceError {
  return new ServiceError(code, message, detail);
}
