/**
 * Workers while they have a tenant: takes a worker, opens the tenant in it under its user, handles its messages, and
 * cleans up after it. `placement.ts` decides what follows for the tenant.
 *
 *   start ──▶ opening ──opened──▶ serving ──closed──▶ ended
 *                └── open_failed, killed, died ──────▶ ended
 */
import {randomBytes} from 'node:crypto';
import {performance} from 'node:perf_hooks';
import {assert, unreachable} from '../../shared/assert.ts';
import {type ErrorObject, errorEnvelope, ServiceError} from '../../shared/errors.ts';
import type {LogGrant} from '../../shared/ipc/cluster.ts';
import type {CopySettings, WorkerName, WorkerUser} from '../../shared/ipc/control.ts';
import type {EndpointKey} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import type {FunctionCount} from '../../shared/metrics/function-counts.ts';
import type {NodeVersion} from '../../shared/node-version.ts';
import type {RunDirectory} from '../files/run-directory.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import type {SupervisorMetrics} from '../metrics/metrics.ts';
import type {ChildEnd} from '../processes/child.ts';
import type {ClusterProcess} from '../processes/cluster-process.ts';
import type {Worker, WorkerMessage, WorkerPool} from '../processes/worker-pool.ts';
import type {Input} from './lifecycle-states.ts';
import type {TenantCode} from './tenant-code.ts';
import type {TenantEgress} from './tenant-egress.ts';
import type {TenantEntry} from './tenant-entry.ts';
import {NoUser, type TenantUsers} from './tenant-users.ts';
import type {Reporter} from './worker-metric-sums.ts';

export type AssignmentSettings = {
  journalKeepRecords: number;
  /** Bytes that a tenant can store; 0: unlimited. */
  tenantStorageMax: number;
  /** Total `memory_mb` of the services of a tenant that are to run. */
  tenantServicesMemoryMb: number;
  redactErrors: boolean;
  /** Null: no copies are made of tenants. */
  copies: CopySettings | null;
  /** Number of routers. */
  routers: number;
};

export type AssignmentParts = {
  settings: AssignmentSettings;
  files: TenantFiles;
  reservePath: string;
  users: TenantUsers;
  runDirectory: RunDirectory;
  pool: WorkerPool;
  egress: TenantEgress;
  code: TenantCode;
  /** Null: the server is not part of a cluster. */
  cluster: Pick<ClusterProcess, 'worker'> | null;
  /** @throws Error with a reason for people */
  installNode: (version: NodeVersion) => Promise<void>;
  metrics: SupervisorMetrics;
  /** @param lastReport the report it sent as it closed; null: none */
  workerEnded: (worker: Reporter, lastReport: string | null) => void;
  functionsCounted: (generation: number, counts: FunctionCount[]) => void;
  now: () => number;
  log: Logger;
};

export type AssignmentEnd = ChildEnd & {
  pid: number | undefined;
  /** Empty: it ended before it had one. */
  worker: WorkerName;
  /** It was able to run code, so its tenant may have had a first deployment. */
  ranCode: boolean;
};

export type AssignmentEvents = {
  give: (entry: TenantEntry, input: Input) => void;
  /** The tenant has no worker any more. */
  ended: (entry: TenantEntry, end: AssignmentEnd) => void;
};

export class Assignments {
  readonly #parts: AssignmentParts;
  readonly #events: AssignmentEvents;
  readonly #log: Logger;
  /** How many have been named. */
  #workers = 0;

  constructor(parts: AssignmentParts, events: AssignmentEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#log = parts.log;
  }

  /** @param fresh do not use a spare */
  start(entry: TenantEntry, fresh: boolean): void {
    const {pool, files, runDirectory, settings} = this.#parts;
    entry.openError = null;
    entry.needsIsolates = false;
    const startedMs = performance.now();
    let isOpening = true;
    const openingEnded = (hasCode: boolean | null): void => {
      if (isOpening) pool.opened(hasCode);
      isOpening = false;
    };
    const {worker, kind} = pool.take(
      {fresh, runsCode: entry.hasCode},
      {
        onMessage: message => {
          if (message.type === 'opened') {
            this.#parts.metrics.observe('svc_wake_seconds', (performance.now() - startedMs) / 1000, {kind});
            entry.lastActiveMs = this.#parts.now();
          }
          this.#said(entry, message);
          if (message.type === 'opened') openingEnded(entry.hasCode);
        },
        onEnd: end => {
          this.#ended(entry, worker, end);
          openingEnded(null);
        },
      },
    );
    entry.worker = worker;
    entry.reporter = {tenant: entry.id};
    const directory = files.path(entry.id, entry.generation);
    const user = this.#userOf(entry, worker, directory);
    if (user === undefined) return;
    entry.address = {
      tenant: entry.id,
      worker: String(++this.#workers),
      socketPath: runDirectory.nextSocketPath(user),
      secret: randomBytes(24).toString('hex'),
      owner: user?.id ?? process.geteuid!(),
      runsCode: worker.runsCode,
    };
    entry.endpoint = this.#parts.egress.begin(entry, user);
    const log = this.#logOf(entry, user);
    worker.open({
      ...entry.address,
      egress: entry.endpoint,
      user,
      generation: entry.generation,
      hasCode: entry.hasCode,
      isReadOnly: entry.isReadOnly,
      createdMs: entry.createdMs,
      directory,
      reservePath: this.#parts.reservePath,
      journalKeepRecords: settings.journalKeepRecords,
      storageBytesMax: settings.tenantStorageMax,
      servicesMemoryMbMax: settings.tenantServicesMemoryMb,
      redactErrors: settings.redactErrors,
      copies: settings.copies,
      log,
      routers: settings.routers,
    });
  }

  /** How the worker reaches the log of the cluster. */
  #logOf(entry: TenantEntry, user: WorkerUser | null): (LogGrant & EndpointKey) | null {
    const {cluster, runDirectory} = this.#parts;
    if (cluster === null) return null;
    const {grant} = entry;
    assert(grant !== null, 'on a host of a cluster, a worker has a grant');
    entry.logEndpoint = {socketPath: runDirectory.nextEndpointPath(user), secret: randomBytes(24).toString('hex')};
    cluster.worker(grant, entry.logEndpoint);
    return {...grant, ...entry.logEndpoint};
  }

  /** Undefined: no user is available, and the worker ends without having opened anything. */
  #userOf(entry: TenantEntry, worker: Worker, directory: string): WorkerUser | null | undefined {
    try {
      return this.#parts.users.own(directory);
    } catch (caught) {
      if (!(caught instanceof NoUser)) throw caught;
      this.#log.error('a tenant cannot be opened under a user of its own', {tenant: entry.id, error: caught});
      entry.openError = {
        code: 'session.worker_unavailable',
        message: 'the tenant could not be opened; the log says why',
      };
      worker.child.kill();
      return undefined;
    }
  }

  #said(entry: TenantEntry, message: WorkerMessage): void {
    switch (message.type) {
      case 'opened':
        if (entry.endpoint !== null) this.#parts.egress.opened(entry, entry.endpoint, message.egress);
        this.#events.give(entry, {type: 'opened'});
        return;
      case 'egress_wanted':
        this.#parts.egress.wanted();
        return;
      case 'node_wanted':
        void this.#installNode(entry, message);
        return;
      case 'egress_put':
        void this.#putEgress(entry, message);
        return;
      case 'open_failed':
        this.#log.error('a tenant could not be opened', {tenant: entry.id, error: message.error});
        entry.openError = message.error;
        return;
      case 'needs_isolates':
        // A worker that can run code has no reason to end for it.
        entry.needsIsolates = entry.worker?.runsCode === false;
        this.#parts.code.is(entry, true);
        return;
      case 'closed':
        // A worker that cannot run code has none, whatever its tenant is about to get.
        if (entry.worker?.runsCode === true) this.#parts.code.is(entry, message.hasCode);
        this.#events.give(entry, {type: 'closed', nextDueMs: message.nextDueMs});
        return;
      case 'in_use':
        entry.inUseUntilMs = message.untilMs ?? 0;
        return;
      case 'functions_counted':
        this.#parts.functionsCounted(entry.generation, message.counts);
        return;
      case 'errand_done':
      case 'errand_failed':
      case 'spare':
      case 'heartbeat':
        return;
      default:
        unreachable(message);
    }
  }

  async #installNode(entry: TenantEntry, {id, version}: Extract<WorkerMessage, {type: 'node_wanted'}>): Promise<void> {
    const {worker} = entry;
    const error = await this.#parts.installNode(version).then(
      () => null,
      (caught: unknown) => (caught as Error).message,
    );
    worker?.child.send({type: 'node_settled', id, error});
  }

  async #putEgress(
    entry: TenantEntry,
    {id, body, signedGrant}: Extract<WorkerMessage, {type: 'egress_put'}>,
  ): Promise<void> {
    const {worker, endpoint} = entry;
    if (worker === null || endpoint === null) return;
    let error: ErrorObject | null = null;
    try {
      await this.#parts.egress.put(entry, endpoint, body, signedGrant);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      error = errorEnvelope(caught).error;
    }
    worker.child.send({type: 'egress_taken', id, error});
  }

  #ended(entry: TenantEntry, worker: Worker, end: ChildEnd): void {
    assert(entry.worker === worker, 'a tenant has one worker at a time');
    const {address} = entry;
    if (entry.endpoint !== null) {
      this.#parts.egress.ended(entry.endpoint);
      this.#parts.runDirectory.forget(entry.endpoint.socketPath);
    }
    if (address !== null) this.#parts.runDirectory.forget(address.socketPath);
    if (entry.logEndpoint !== null) this.#parts.runDirectory.forget(entry.logEndpoint.socketPath);
    entry.logEndpoint = null;
    if (entry.reporter !== null) this.#parts.workerEnded(entry.reporter, worker.lastReport);
    entry.reporter = null;
    entry.worker = null;
    entry.address = null;
    entry.endpoint = null;
    entry.inUseUntilMs = 0;
    this.#events.ended(entry, {
      ...end,
      pid: worker.child.pid,
      worker: address?.worker ?? '',
      ranCode: worker.runsCode,
    });
  }
}
