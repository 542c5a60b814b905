/**
 * The supervisor, process 0: composes registry, placement, spare workers and the router processes. It carries no
 * traffic, so starting a process or waiting for the disk here does not delay requests under way.
 *
 *   start:  own the data directory → finish interrupted deletions → routers listen → spares, and tenants that were awake
 *   drain:  routers stop accepting and finish → workers close their files → exit 0, all within DRAIN_MS
 */
import {hash, randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {asServiceError, errorEnvelope, ServiceError} from '../shared/errors.ts';
import type {SupervisorToRouter} from '../shared/ipc/control.ts';
import type {Logger} from '../shared/log.ts';
import type {OwnerLock} from '../shared/owner-lock.ts';
import type {ProcessKind} from '../shared/process-kinds.ts';
import {rewriteFile} from '../shared/rewrite-file.ts';
import {BUILD, VERSION} from '../shared/version.ts';
import type {Confinement} from './confinement/confinement.ts';
import {findGroups, type WorkerGroups} from './confinement/groups.ts';
import {Figures} from './figures/figures.ts';
import {TenantsTraffic} from './figures/tenant-traffic.ts';
import {refuseOfCluster} from './files/cluster-mark.ts';
import {orStartError, ownDataDirectory} from './files/data-directory.ts';
import {DiskReserve} from './files/disk-reserve.ts';
import {removeOldSetAsideDaily} from './files/old-set-aside.ts';
import {requireFree} from './files/port-claim.ts';
import type {Registry} from './files/registry.ts';
import {RunDirectory} from './files/run-directory.ts';
import {TenantFiles} from './files/tenant-files.ts';
import {AuditLog} from './keys/audit-log.ts';
import {type Credentials, loadCredentials} from './keys/credentials.ts';
import {Keys} from './keys/keys.ts';
import {RefusalLog} from './keys/refusal-log.ts';
import {Sessions} from './keys/sessions.ts';
import {DRAIN_MS, TRAFFIC_POLL_MS} from './limits.ts';
import {SupervisorMetrics} from './metrics/metrics.ts';
import {MetricsPage} from './metrics/metrics-page.ts';
import {childEnvironment, childKinds, copierEnvironment, type KillReason, nodeEnvironment} from './processes/child.ts';
import {EgressProcess} from './processes/egress-process.ts';
import {KillRate} from './processes/kill-rate.ts';
import {NodeInstalls} from './processes/node-installs.ts';
import type {Listening, RouterMessage} from './processes/router-process.ts';
import {Routers} from './processes/routers.ts';
import {type ConfinedCode, confinedCode} from './processes/worker-code.ts';
import {WorkerPool} from './processes/worker-pool.ts';
import {performRequest, type RequestParts} from './requests.ts';
import {type RouterReceivers, receivedFromRouter} from './router-messages.ts';
import {Backups} from './server/backups.ts';
import {Cluster} from './server/cluster.ts';
import {DiskUse} from './server/disk-use.ts';
import {ServerState} from './server/server-status.ts';
import {type SupervisorSettings, settingsShown} from './server/settings.ts';
import {serverState} from './server/state-copies.ts';
import {openRegistry} from './start/open-registry.ts';
import {claimServerFiles} from './start/server-files.ts';
import {registryRefusal, requireAll} from './start/start-refusal.ts';
import {warnOfUnfinishedRestore} from './start/unfinished-restore.ts';
import {Adoptions} from './tenants/adoptions.ts';
import {Clones} from './tenants/clones.ts';
import {Errands} from './tenants/errands.ts';
import {suspectsOf, workerPids, workerReports} from './tenants/placed-workers.ts';
import {Placement} from './tenants/placement.ts';
import {TenantCode} from './tenants/tenant-code.ts';
import {TenantControl} from './tenants/tenant-control.ts';
import {TenantEgress} from './tenants/tenant-egress.ts';
import {TenantOverview} from './tenants/tenant-overview.ts';
import {TenantUsers} from './tenants/tenant-users.ts';
import {Tenants} from './tenants/tenants.ts';
import {Upgrades} from './tenants/upgrades.ts';

/** Located next to this file after bundling. */
export const BUNDLED_ENTRIES = {
  router: fileURLToPath(new URL('./router.js', import.meta.url)),
  worker: fileURLToPath(new URL('./worker.js', import.meta.url)),
  egress: fileURLToPath(new URL('./egress.js', import.meta.url)),
  copier: fileURLToPath(new URL('./copier.js', import.meta.url)),
  cluster: fileURLToPath(new URL('./cluster.js', import.meta.url)),
};

const REGISTRY_FILE = 'registry.sqlite';

export class Supervisor {
  readonly credentials: Credentials;
  /** The sandbox layers of workers, for the operator. */
  readonly sandboxLayers: Confinement['sandboxLayers'];
  /** For all parts that need something done in a directory with a tenant's file. */
  readonly errands: Errands;
  readonly #log: Logger;
  readonly #lock: OwnerLock;
  readonly #registryPath: string;
  readonly #registry: Registry;
  readonly #reserve: DiskReserve;
  readonly #runDirectory: RunDirectory;
  readonly #users: TenantUsers;
  readonly #installs: NodeInstalls;
  readonly #code: TenantCode;
  readonly #pool: WorkerPool;
  readonly #egress: EgressProcess;
  readonly #metrics: SupervisorMetrics;
  readonly #placement: Placement;
  readonly #tenants: Tenants;
  readonly #backups: Backups;
  /** Null: this server is not part of a cluster. */
  readonly #cluster: Cluster | null;
  readonly #adoptions: Adoptions;
  readonly #traffic: TenantsTraffic;
  readonly #figures: Figures;
  readonly #overview: TenantOverview;
  readonly #keys: Keys;
  readonly #sessions: Sessions;
  readonly #audit: AuditLog;
  readonly #refusals: RefusalLog;
  readonly #routers: Routers;
  readonly #page: MetricsPage;
  readonly #state: ServerState;
  readonly #requests: RequestParts;
  readonly #receivers: RouterReceivers;
  readonly #drainTimeoutMs: number;
  #listening: Listening | null = null;

  /** Opens everything except the routers and the workers. @throws StartError */
  static async open(settings: SupervisorSettings, env: NodeJS.ProcessEnv, log: Logger): Promise<Supervisor> {
    if (!existsSync(settings.data)) {
      await requireFree(settings.host, settings.port);
      if (settings.metricsPort !== null) await requireFree('127.0.0.1', settings.metricsPort);
    }
    const lock = await ownDataDirectory(settings.data);
    await orStartError(settings.data, claimServerFiles(settings.data));
    if (settings.cluster === null) refuseOfCluster(settings.data);
    const credentials = await orStartError(settings.data, loadCredentials(settings.data, env));
    const files = await orStartError(settings.data, TenantFiles.open(settings.data));
    await orStartError(settings.data, rewriteFile(`${join(settings.data, REGISTRY_FILE)}-wal`));
    const own = {executable: process.execPath, entry: settings.entries.worker};
    // Must run before any child exists.
    const {groups, missing} = findGroups(log);
    const confined = await confinedCode(own, settings.workerUsers, settings.data, log);
    const sandboxLayers: Confinement['sandboxLayers'] = [
      ...confined.confinement.sandboxLayers,
      {name: 'memory', missing},
    ];
    if (settings.requireSandbox) requireAll(sandboxLayers);
    return new Supervisor(settings, env, log, lock, credentials, files, {...confined, groups, sandboxLayers});
  }

  private constructor(
    settings: SupervisorSettings,
    env: NodeJS.ProcessEnv,
    log: Logger,
    lock: OwnerLock,
    credentials: Credentials,
    files: TenantFiles,
    {
      code,
      confinement,
      groups,
      sandboxLayers,
    }: ConfinedCode & {groups: WorkerGroups | null; sandboxLayers: Confinement['sandboxLayers']},
  ) {
    this.credentials = credentials;
    this.sandboxLayers = sandboxLayers;
    this.#log = log;
    this.#drainTimeoutMs = settings.cluster?.drainTimeoutMs ?? 0;
    this.#lock = lock;
    const {entries} = settings;
    const childSettings = {SVC_LOG_LEVEL: settings.logLevel, NODE_COMPILE_CACHE: join(settings.data, 'cache')};
    const childEnv = childEnvironment(env, childSettings);
    this.#registryPath = join(settings.data, REGISTRY_FILE);
    this.#registry = openRegistry(this.#registryPath, files);
    this.#reserve = new DiskReserve(join(settings.data, 'reserve'), log);
    this.#runDirectory = new RunDirectory(log, confinement.users?.first ?? null);
    this.#users = new TenantUsers(confinement.users, files.root, log);
    process.on('exit', () => this.#runDirectory.remove());
    // Isolates inherit their process's time zone; functions must see UTC wherever the server runs.
    const workerEnv = {...childEnv, ...nodeEnvironment(env, settings.data, code.executable), TZ: 'UTC'};
    this.#code = new TenantCode(this.#registry, log);
    const pool = {
      executable: code.executable,
      entry: code.entry,
      env: workerEnv,
      // V8 accepts cached code only from processes of the same kind.
      codeEnv: {NODE_COMPILE_CACHE: join(settings.data, 'cache', 'isolates')},
      confinement: confinement.worker,
      groups,
      sparesWanted: settings.spareWorkers,
      sparesRunCode: () => this.#code.isAnywhere,
      warmUpDirectory: () => join(this.#runDirectory.path, 'rehearsal'),
      rate: new KillRate(() => performance.now()),
      onKill: (reason: KillReason) => this.#metrics.count('svc_process_kills_total', {process: 'worker', reason}),
      onUnended: (user: number) => this.#users.unended(user),
    };
    this.#pool = new WorkerPool(pool, log);
    this.#metrics = new SupervisorMetrics(sandboxLayers, {
      tenants: () => this.#placement.size,
      spares: () => this.#pool.spares,
      isUnwritable: () => this.#registry.isUnwritable,
      states: () => this.#placement.states(),
      children: () => this.#children(),
    });
    this.#egress = new EgressProcess({
      entry: entries.egress,
      confinement: confinement.egress,
      env: childEnv,
      rate: new KillRate(() => performance.now()),
      onEnd: () => {
        this.#metrics.count('svc_process_deaths_total', {process: 'egress'});
        this.#page.egressEnded();
      },
      onKill: reason => this.#metrics.count('svc_process_kills_total', {process: 'egress', reason}),
      log,
    });
    const grantKey = randomBytes(32).toString('hex');
    const egress = new TenantEgress({
      registry: this.#registry,
      process: this.#egress,
      nextEndpointPath: user => this.#runDirectory.nextEndpointPath(user),
      grantKey,
      log,
    });
    this.#installs = new NodeInstalls({env, directory: join(settings.data, 'node'), log});
    this.#cluster =
      settings.cluster === null
        ? null
        : new Cluster({
            ...{settings: settings.cluster, data: settings.data, entry: entries.cluster, env: childEnv, log},
            tenants: () => this.#tenants,
            control: () => control,
            pathOf: (tenant, generation) => files.path(tenant, generation),
            grants: () => this.#placement.grants!,
            tellRouters: message => this.#routers.broadcast(message),
            keys: () => this.#keys,
            sweepSessions: () => this.#sessions.sweep(),
            metrics: () => this.#metrics,
          });
    this.#placement = new Placement({
      settings,
      cluster: this.#cluster?.process ?? null,
      slept: (tenant, dueMs) => this.#cluster?.asleep(tenant, dueMs),
      egress,
      installNode: version => this.#installs.install(version),
      registry: this.#registry,
      code: this.#code,
      files,
      users: this.#users,
      reservePath: this.#reserve.path,
      runDirectory: this.#runDirectory,
      pool: this.#pool,
      metrics: this.#metrics,
      sendToRouter: (place, message) => this.#routers.send(place, message),
      sendToRouters: message => this.#routers.broadcast(message),
      functionsCounted: (generation, counts) => this.#figures.addFunctions(generation, counts),
      workerEnded: (worker, lastReport) => this.#page.workerEnded(worker, lastReport),
      tenantChanged: (entry, before) => this.#backups.changed(entry, before),
      tenantDeleted: tenant => {
        this.#page.tenantDeleted(tenant);
        this.#traffic.forget(tenant);
      },
      now: Date.now,
      log,
    });
    this.errands = new Errands({
      pool: this.#pool,
      placement: this.#placement,
      users: this.#users,
      files,
      settings,
      reservePath: this.#reserve.path,
      log,
    });
    const control = new TenantControl({placement: this.#placement, paused: this.#registry.paused, now: Date.now});
    this.#backups = new Backups({
      settings: settings.backup,
      fromLog: this.#cluster?.copies ?? null,
      control,
      beginTimeline: tenant => this.#tenants.beginTimeline(tenant),
      runErrand: (...errand) => this.errands.runIn(...errand),
      takeIn: (adoption, make) => this.#adoptions.takeIn(adoption, make),
      letPass: directory => this.#users.letPass(directory),
      ...{data: settings.data, files, placement: this.#placement, errands: this.errands, metrics: this.#metrics, log},
      state: serverState(this.#registry, () => ({keys: this.#keys, audit: this.#audit, refusals: this.#refusals})),
      entry: entries.copier,
      env: copierEnvironment(env, childSettings),
    });
    const tellRouters = (message: SupervisorToRouter) => {
      this.#routers.broadcast(message);
      return this.#routers.settled();
    };
    this.#tenants = new Tenants({
      cluster: this.#cluster?.files ?? null,
      registry: this.#registry,
      files,
      placement: this.#placement,
      tellRouters,
      now: Date.now,
      log,
    });
    this.#adoptions = new Adoptions({
      tenants: this.#tenants,
      errands: this.errands,
      users: this.#users,
      directoryOf: tenant => {
        const entry = this.#placement.find(tenant);
        return entry === undefined ? null : files.path(tenant, entry.generation);
      },
      directory: join(settings.data, 'incoming'),
      log,
      statusOf: tenant => this.#overview.perform({action: 'tenant_status', tenant}),
    });
    this.#figures = new Figures(join(settings.data, 'figures.ring'), log);
    this.#traffic = new TenantsTraffic(Date.now, (minute, traffic) =>
      this.#figures.finish(minute, traffic, tenant => this.#placement.find(tenant)?.generation),
    );
    setInterval(() => this.#traffic.advance(), TRAFFIC_POLL_MS).unref();
    this.#overview = new TenantOverview({
      figures: this.#figures,
      placement: this.#placement,
      control,
      traffic: this.#traffic,
      files,
      documentsOf: tenant => this.#page.documentsOf(tenant),
    });
    const clones = new Clones({
      ...{tenants: this.#tenants, placement: this.#placement, control, files, log},
      cluster: this.#cluster?.files ?? null,
      adopt: (...adoption) => this.#adoptions.adopt(...adoption),
      directory: join(settings.data, 'incoming'),
    });
    const upgrades = new Upgrades({tenants: this.#registry, placement: this.#placement, files, control, log});
    this.#audit = new AuditLog(join(settings.data, 'audit.sqlite'), Date.now, log);
    this.#refusals = new RefusalLog(join(settings.data, 'refusals.sqlite'), Date.now, log, count =>
      this.#metrics.add('svc_refusals_unrecorded_total', count),
    );
    const path = join(settings.data, 'keys.sqlite');
    this.#keys = new Keys({path, cluster: this.#cluster, tellRouters, now: Date.now, log});
    const {host, port, metricsPort, routers} = settings;
    const {allowedHosts, allowedOrigins, trustedProxies, dashboard, rateLimits} = settings;
    const {accessTokenSha256, adminTokenSha256} = credentials;
    this.#sessions = new Sessions({
      path: join(settings.data, 'sessions.sqlite'),
      adminSha256: hash('sha256', `${accessTokenSha256}:${adminTokenSha256}`, 'hex'),
      keys: this.#keys,
      ...{tellRouters, now: Date.now, log},
    });
    this.#routers = new Routers({
      entry: entries.router,
      env: childEnv,
      confinement: confinement.router,
      settings: {
        ...{host, port, metricsPort, allowedHosts, allowedOrigins, trustedProxies, dashboard, rateLimits, routers},
        ...{accessTokenSha256, adminTokenSha256, grantKey, peers: this.#cluster?.peers ?? null},
        ...{version: VERSION, build: BUILD},
      },
      state: () => ({
        tenants: this.#tenants.ids(),
        returning: this.#tenants.returning(),
        suspects: suspectsOf(this.#placement.entries()),
        keys: this.#keys.records(),
        sessions: this.#sessions.records(),
      }),
      hostState: () => this.#cluster?.hostState ?? null,
      onMessage: (place, message) => receivedFromRouter(this.#receivers, place, message),
      onEnd: place => {
        this.#metrics.count('svc_process_deaths_total', {process: 'router'});
        this.#page.routerEnded(place);
        this.#placement.routerEnded(place);
        this.#traffic.routerEnded(place);
        this.#adoptions.routerEnded(place);
      },
      onKill: reason => this.#metrics.count('svc_process_kills_total', {process: 'router', reason}),
      log,
    });
    this.#page = new MetricsPage(
      {
        routers: () => this.#routers.reports(),
        workers: () => workerReports(this.#placement.entries()),
        egress: () => this.#egress.report(),
        supervisor: async () => {
          const reports = [this.#metrics.json(), this.#backups.report(), this.#cluster?.report() ?? []];
          return (await Promise.all(reports)).flat();
        },
      },
      error => log.error('metrics were not taken', {error}),
    );
    this.#state = new ServerState({
      layers: sandboxLayers,
      settings: () => settingsShown(settings, this.#listening),
      disk: new DiskUse({
        directory: settings.data,
        tenants: () => this.#placement.entries(),
        bytesOf: (id, generation) => files.fileState(id, generation).bytes,
        now: Date.now,
      }),
      tenants: () => this.#overview.states(),
      processes: () => this.#metrics.processes(),
      routers: () => this.#routers.reports(),
      counts: () => ({
        isUnwritable: this.#registry.isUnwritable,
        damage: this.#page.damage(),
        kills: this.#metrics.kills(),
      }),
      now: Date.now,
    });
    this.#receivers = {
      ...{placement: this.#placement, audit: this.#audit, refusals: this.#refusals, traffic: this.#traffic},
      ...{keys: this.#keys, sessions: this.#sessions},
      answer: (place, message) => void this.#answer(place, message),
    };
    this.#requests = {
      ...{tenants: this.#tenants, adoptions: this.#adoptions, overview: this.#overview, state: this.#state},
      ...{backups: this.#backups, upgrades, clones, cluster: this.#cluster},
      ...{page: this.#page, audit: this.#audit, refusals: this.#refusals, sessions: this.#sessions, keys: this.#keys},
    };
  }

  /** Resolves when clients can connect. @throws StartError */
  async start(): Promise<Listening> {
    // First, because nothing of a tenant may run while its files are removed or given to its user.
    await this.#users.endLeftovers();
    void this.#runDirectory.removeStale();
    removeOldSetAsideDaily(dirname(this.#registryPath), this.#log);
    const recovered = this.#tenants.recover(unknown => {
      throw registryRefusal(this.#registryPath, 'does not name these directories, which hold tenants:', unknown);
    });
    await orStartError(dirname(this.#registryPath), recovered);
    warnOfUnfinishedRestore(dirname(this.#registryPath), this.#log);
    await orStartError(dirname(this.#registryPath), this.#adoptions.begin());
    await orStartError(dirname(this.#registryPath), this.#installs.removeUnfinished());
    if (this.#users.isOn) await orStartError(dirname(this.#registryPath), this.#installs.letAllRead());
    await this.#backups.start();
    await this.#cluster?.start();
    this.#listening = await this.#routers.start();
    this.#pool.refill();
    this.#placement.start();
    return this.#listening;
  }

  /** The code of a one-time link to the dashboard, with all rights. */
  dashboardCode(): string {
    return this.#sessions.makeCode(null).code;
  }

  /** Ends all children in order, within DRAIN_MS; then this process can exit. */
  async drain(): Promise<void> {
    this.#log.info('draining');
    // Clients are served meanwhile: this host has as long as its operator allows.
    await this.#cluster?.drain(this.#drainTimeoutMs);
    const endMs = performance.now() + DRAIN_MS;
    const deadline = setTimeout(() => {
      this.#log.warn('not everything ended in time; ending it');
      this.#routers.kill();
      this.#placement.killAll();
    }, DRAIN_MS);
    this.#pool.close();
    this.#backups.endDrills();
    await this.#routers.drain();
    await this.#placement.drain();
    await this.#backups.close(endMs - performance.now());
    await this.#cluster?.close();
    this.#egress.close();
    this.#page.close();
    await this.#figures.close();
    clearTimeout(deadline);
    this.#reserve.close();
    this.#sessions.close();
    this.#keys.close();
    this.#audit.close();
    this.#refusals.close();
    this.#registry.close();
    this.#lock.release();
  }

  #children(): Map<number, ProcessKind> {
    const single = {egress: this.#egress.pid, copier: this.#backups.pid, cluster: this.#cluster?.process.pid ?? null};
    const many = {
      router: this.#routers.pids(),
      worker: workerPids(this.#placement.entries()),
      spare: this.#pool.sparePids(),
    };
    return childKinds(many, single);
  }

  async #answer(place: number, message: RouterMessage & {type: 'request'}): Promise<void> {
    const {id} = message;
    try {
      const result = await performRequest(this.#requests, place, message);
      this.#routers.send(place, {type: 'reply', id, result});
    } catch (caught) {
      if (!(caught instanceof ServiceError)) {
        // A failure to create or remove a file concerns one tenant. Any other error is a bug.
        if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
        this.#log.error('a request of a router failed', {action: message.action, error: caught});
      }
      this.#routers.send(place, {type: 'reply_error', id, error: errorEnvelope(asServiceError(caught)).error});
    }
  }
}
