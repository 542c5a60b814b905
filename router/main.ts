/**
 * A router process: receives its settings from the supervisor, listens and serves until it is drained.
 *
 *   waiting ──start──▶ listening ──drain──▶ draining ──nothing under way | ROUTER_DRAIN_MS──▶ exit 0
 *      └ port taken: listen_failed, exit 1
 *   any ──channel to the supervisor closes──▶ exit at once: the workers end as well
 *
 * SIGINT and SIGTERM reach the whole process group on Ctrl-C. The supervisor decides what happens, so the router
 * ignores both.
 */
import {unreachable} from '../shared/assert.ts';
import {BufferedBytes} from '../shared/byte-accounts.ts';
import {
  portTaken,
  type RouterSettings,
  type RouterToSupervisor,
  type SupervisorToRouter,
} from '../shared/ipc/control.ts';
import {HEARTBEAT_INTERVAL_MS, ROUTER_DRAIN_MS} from '../shared/limits.ts';
import {createLogger} from '../shared/log.ts';
import {RouterMetrics} from '../shared/metrics/router-metrics.ts';
import {Credentials} from './auth/credentials.ts';
import {FailedCredentials} from './auth/failed-credentials.ts';
import {KeyRing} from './auth/key-ring.ts';
import {Refusals} from './auth/refusals.ts';
import {SessionRing} from './auth/session-ring.ts';
import {ControlChannel} from './control-channel.ts';
import {Downloads} from './dashboard/downloads.ts';
import {Surfaces} from './dashboard/surfaces.ts';
import {Callers} from './edge/callers.ts';
import {Health} from './edge/health.ts';
import {Intake} from './edge/intake.ts';
import {stopping} from './edge/steps.ts';
import type {Exchange} from './http/exchange.ts';
import {OriginRule} from './http/origin.ts';
import {ShippedFiles} from './http/shipped-files.ts';
import {Traffic} from './http/traffic.ts';
import {REFUSAL_POLL_MS} from './limits.ts';
import {SocketHub} from './live/tenant-live.ts';
import {mountMetrics} from './metrics/listener.ts';
import {LongestDelay} from './metrics/longest-delay.ts';
import {PeerHosts} from './peers/peer-hosts.ts';
import {PeerPort} from './peers/peer-port.ts';
import {RateLimits} from './rates/rate-limits.ts';
import {limitsOfOne} from './router-limits.ts';
import {Server} from './server.ts';
import {TenantDirectory} from './tenants/directory.ts';
import {FunctionSockets} from './ws/function-sockets.ts';
import {Sockets} from './ws/sockets.ts';

const METRICS_HOST = '127.0.0.1';

let log = createLogger({process: 'router'});
const control = new ControlChannel(send);
const logsRequests = log.writes('debug');
const metrics = new RouterMetrics();
const refusals = new Refusals(
  refused => send({type: 'refused', refused}),
  () => performance.now(),
  metrics,
);
let directory: TenantDirectory | null = null;
let keys: KeyRing | null = null;
let sessions: SessionRing | null = null;
let traffic: Traffic | null = null;
let intake: Intake | null = null;
let sockets: Sockets | null = null;
let functionSockets: FunctionSockets | null = null;
let health: Health | null = null;
let peerPort: PeerPort | null = null;
let servers: Pick<Server, 'stopAccepting'>[] = [];

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit(1));
process.on('uncaughtException', error => {
  log.error('the router ends after an unexpected error', {error});
  process.exit(1);
});
process.on('message', (message: SupervisorToRouter) => receive(message));
setInterval(() => send({type: 'heartbeat'}), HEARTBEAT_INTERVAL_MS);
setInterval(() => refusals.poll(), REFUSAL_POLL_MS);

/** If a send fails, the supervisor is gone; `disconnect` follows and ends this process. */
function send(message: RouterToSupervisor): void {
  if (!process.connected) return;
  process.send?.(message, (error: Error | null) => {
    if (error !== null) log.debug('the supervisor cannot be reached', {error});
  });
}

function receive(message: SupervisorToRouter): void {
  switch (message.type) {
    case 'start':
      start(message).catch(error => {
        log.error('the router could not start', {error});
        process.exit(1);
      });
      return;
    case 'reply':
    case 'reply_error':
      control.settle(message);
      return;
    case 'tenant_added':
    case 'tenant_removed':
    case 'suspects':
    case 'call_answered':
    case 'worker_ready':
    case 'served_elsewhere':
    case 'worker_failed':
    case 'release':
    case 'give_up':
      directory?.receive(message);
      return;
    case 'key_put':
      keys?.put(message.key);
      return;
    case 'key_removed':
      keys?.remove(message.key);
      return;
    case 'session_put':
      sessions?.put(message.session);
      return;
    case 'session_removed':
      sessions?.remove(message.session);
      return;
    case 'host_state':
      health?.change(message);
      keys?.setCurrentUntil(message.keysUntilMs);
      return;
    case 'sync':
      send({type: 'synced', id: message.id});
      return;
    case 'metrics':
      send({type: 'metrics', id: message.id, report: metrics.report()});
      return;
    case 'drain':
      drain();
      return;
    default:
      unreachable(message);
  }
}

async function start({
  settings,
  keys: records,
  sessions: sessionRecords,
  ...state
}: Extract<SupervisorToRouter, {type: 'start'}>): Promise<void> {
  const {routers, place} = settings;
  if (routers > 1) log = createLogger({process: 'router', place});
  const limits = limitsOfOne(routers);
  const observer = new Traffic(metrics, limits.unsentReplyBytes, {log, logsAll: logsRequests, refusals, send});
  traffic = observer;
  const tenantDirectory = new TenantDirectory(state, routers, send, log, metrics, settings.peers !== null);
  directory = tenantDirectory;
  const ring = new KeyRing({
    ...{records, isInCluster: settings.peers !== null, now: Date.now},
    onUsed: used => send({type: 'keys_used', keys: used}),
  });
  keys = ring;
  const sessionRing = new SessionRing(sessionRecords, ring, Date.now);
  sessions = sessionRing;
  const lag = LongestDelay.ofThisProcess();
  metrics.measure('svc_router_event_loop_lag_seconds', () => lag.seconds());
  metrics.measure('svc_router_requests_total', () => [[{router: place}, observer.requests]]);
  const surfaces = new Surfaces(settings.dashboard);
  const hostHealth = new Health(settings.peers !== null);
  health = hostHealth;
  const sharing = routers > 1 ? 'shared' : 'exclusive';
  const server = await Server.listen(settings.host, settings.port, sharing, (port, app) => {
    const buffered = new BufferedBytes(limits.socketsBufferedBytes);
    const rateLimits = new RateLimits(settings.rateLimits, routers, () => performance.now(), metrics);
    const parts = {
      buffered,
      credentials: new Credentials(settings.accessTokenSha256, settings.adminTokenSha256, ring),
      grantKey: settings.grantKey,
      failedCredentials: new FailedCredentials(() => performance.now(), limits),
      directory: tenantDirectory,
      control,
      observer,
      rateLimits,
      metrics,
      callers: new Callers(settings.trustedProxies, logsRequests),
      keys: ring,
      sessions: sessionRing,
      surfaces,
      health: hostHealth,
      downloads: new Downloads(settings.grantKey, Date.now),
      files: new ShippedFiles(new URL('./api-docs/', import.meta.url)),
      dashboardFiles: new ShippedFiles(new URL('./dashboard/', import.meta.url)),
      socketsMax: limits.sockets,
      onBug: (exchange: Exchange, error: unknown) =>
        log.error('a request met an unexpected error', {request: exchange.requestId, error}),
    };
    const originRule = new OriginRule(settings.host, port, settings.allowedHosts, settings.allowedOrigins);
    const made = new Intake(parts, originRule);
    made.mount(app);
    const mounted = new Sockets({...parts, originRule, requestIds: made.requestIds});
    mounted.mount(app);
    const ofFunctions = new FunctionSockets({...parts, requestIds: made.requestIds});
    ofFunctions.mount(app);
    tenantDirectory.useHub(new SocketHub(app, metrics));
    ring.watch(() => {
      mounted.endInvalid();
      made.endInvalid();
    });
    sockets = mounted;
    functionSockets = ofFunctions;
    intake = made;
  });
  if (server === null) {
    listenFailed(settings.host, settings.port);
    return;
  }
  const metricsServer = await listenForMetrics(settings);
  if (metricsServer === undefined) {
    listenFailed(METRICS_HOST, settings.metricsPort!);
    return;
  }
  servers = metricsServer === null ? [server] : [server, metricsServer];
  if (!(await joinPeers(settings, tenantDirectory))) {
    const {host, port} = settings.peers!.listen;
    listenFailed(host, port);
    return;
  }
  const wanted = settings.dashboard?.port ?? null;
  surfaces.ownPort = wanted === null ? null : await server.alsoListen(settings.host, wanted);
  if (wanted !== null && surfaces.ownPort === null) {
    listenFailed(settings.host, wanted);
    return;
  }
  const {ownPort: dashboardPort} = surfaces;
  send({
    ...{type: 'listening', host: settings.host, port: server.port, dashboardPort},
    metricsPort: metricsServer?.port ?? null,
  });
}

/** Connects this router and those of other hosts, in a cluster. @returns false if the peer port is not available */
async function joinPeers({peers, place}: RouterSettings, tenants: TenantDirectory): Promise<boolean> {
  if (peers === null) return true;
  const parts = {settings: peers, log, metrics};
  tenants.joinHosts(
    new PeerHosts({
      ...parts,
      giveUp: (tenant, worker, why) => tenants.peerGivesUp(tenant, worker, why),
      suspects: state => tenants.peerSuspects(state),
    }),
  );
  if (place !== 0) return true;
  const port = await PeerPort.listen({
    ...parts,
    arrived: link => tenants.peerArrived(link.tenant, link),
    closed: link => tenants.peerClosed(link.tenant, link),
    reported: (router, report) => tenants.peerReported(router, report),
  });
  if (port !== null) servers.push(port);
  peerPort = port;
  return port !== null;
}

/** @returns null if no metrics listener is configured, undefined if its port is not available */
async function listenForMetrics(settings: RouterSettings): Promise<Server | null | undefined> {
  if (settings.metricsPort === null) return null;
  const onBug = (error: unknown) => log.error('metrics could not be shown', {error});
  const server = await Server.listen(METRICS_HOST, settings.metricsPort, 'exclusive', (port, app) => {
    const originRule = new OriginRule(METRICS_HOST, port, settings.allowedHosts);
    mountMetrics(app, () => control.metrics(), originRule, onBug);
  });
  return server ?? undefined;
}

function listenFailed(host: string, port: number): void {
  process.send?.({type: 'listen_failed', message: portTaken(host, port)} satisfies RouterToSupervisor, () =>
    process.exit(1),
  );
}

/** Requests under way continue; any that remain after ROUTER_DRAIN_MS end with the process. */
function drain(): void {
  for (const server of servers) server.stopAccepting();
  intake?.drain();
  sockets?.drain();
  functionSockets?.drain();
  setTimeout(() => process.exit(0), ROUTER_DRAIN_MS);
  if (traffic === null) process.exit(0);
  let used = peerPort === null ? 1 : 2;
  const idle = () => {
    used--;
    if (used > 0) return;
    refusals.close();
    process.exit(0);
  };
  traffic.whenIdle(idle);
  peerPort?.drain(stopping(), idle);
}
