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
import type {WorkerUser} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import type {NodeVersion} from '../../shared/node-version.ts';
import type {RunDirectory} from '../files/run-directory.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import type {SupervisorMetrics} from '../metrics/metrics.ts';
import type {ChildEnd} from '../processes/child.ts';
import type {Worker, WorkerMessage, WorkerPool} from '../processes/worker-pool.ts';
import type {Input} from './lifecycle.ts';
import type {Place} from './place.ts';
import type {TenantCode} from './tenant-code.ts';
import type {TenantEgress} from './tenant-egress.ts';
import {NoUser, type TenantUsers} from './tenant-users.ts';
import type {Reporter} from './worker-figures.ts';

export type AssignmentSettings = {
  journalKeepRecords: number;
  /** Bytes that a tenant can store; 0: unlimited. */
  tenantStorageMax: number;
  /** Total `memory_mb` of the services of a tenant that are to run. */
  tenantServicesMemoryMb: number;
  redactErrors: boolean;
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
  /** @throws Error with a reason for people */
  installNode: (version: NodeVersion) => Promise<void>;
  metrics: SupervisorMetrics;
  /** @param lastReport the report it sent as it closed; null: none */
  workerEnded: (worker: Reporter, lastReport: string | null) => void;
  now: () => number;
  log: Logger;
};

export type AssignmentEnd = ChildEnd & {pid: number | undefined; socketPath: string};

export type AssignmentEvents = {
  give: (place: Place, input: Input) => void;
  /** The tenant has no worker any more. */
  ended: (place: Place, end: AssignmentEnd) => void;
};

export class Assignments {
  readonly #parts: AssignmentParts;
  readonly #events: AssignmentEvents;
  readonly #log: Logger;

  constructor(parts: AssignmentParts, events: AssignmentEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#log = parts.log;
  }

  /** @param fresh do not use a spare */
  start(place: Place, fresh: boolean): void {
    const {pool, files, runDirectory, settings} = this.#parts;
    place.openError = null;
    const startedMs = performance.now();
    let isOpening = true;
    const openingEnded = (): void => {
      if (isOpening) pool.opened();
      isOpening = false;
    };
    const {worker, kind} = pool.take(
      {fresh, runsCode: place.hasCode},
      {
        onMessage: message => {
          if (message.type === 'opened') {
            this.#parts.metrics.woke(kind, (performance.now() - startedMs) / 1000);
            place.lastActiveMs = this.#parts.now();
          }
          this.#said(place, message);
          if (message.type === 'opened') openingEnded();
        },
        onEnd: end => {
          this.#ended(place, worker, end);
          openingEnded();
        },
      },
    );
    place.worker = worker;
    place.reporter = {tenant: place.id};
    const directory = files.path(place.id, place.generation);
    const user = this.#userOf(place, worker, directory);
    if (user === undefined) return;
    place.address = {
      tenant: place.id,
      socketPath: runDirectory.nextSocketPath(user),
      secret: randomBytes(24).toString('hex'),
      owner: user?.id ?? process.geteuid!(),
      runsCode: worker.runsCode,
    };
    place.door = this.#parts.egress.begin(place, user);
    worker.open({
      ...place.address,
      egress: place.door,
      user,
      generation: place.generation,
      createdMs: place.createdMs,
      directory,
      reservePath: this.#parts.reservePath,
      journalKeepRecords: settings.journalKeepRecords,
      storageBytesMax: settings.tenantStorageMax,
      servicesMemoryMbMax: settings.tenantServicesMemoryMb,
      redactErrors: settings.redactErrors,
      routers: settings.routers,
    });
  }

  /** Undefined: no user is available, and the worker ends without having opened anything. */
  #userOf(place: Place, worker: Worker, directory: string): WorkerUser | null | undefined {
    try {
      return this.#parts.users.own(directory);
    } catch (caught) {
      if (!(caught instanceof NoUser)) throw caught;
      this.#log.error('a tenant cannot be opened under a user of its own', {tenant: place.id, error: caught});
      place.openError = {
        code: 'session.worker_unavailable',
        message: 'the tenant could not be opened; the log says why',
      };
      worker.child.kill();
      return undefined;
    }
  }

  #said(place: Place, message: WorkerMessage): void {
    switch (message.type) {
      case 'opened':
        if (place.door !== null) this.#parts.egress.opened(place, place.door, message.egress);
        this.#events.give(place, {type: 'opened'});
        return;
      case 'egress_wanted':
        this.#parts.egress.wanted();
        return;
      case 'node_wanted':
        void this.#installNode(place, message);
        return;
      case 'egress_put':
        void this.#putEgress(place, message);
        return;
      case 'open_failed':
        this.#log.error('a tenant could not be opened', {tenant: place.id, error: message.error});
        place.openError = message.error;
        return;
      case 'needs_isolates':
        this.#parts.code.is(place, true);
        return;
      case 'closed':
        // A worker that cannot run code has none, whatever its tenant is about to get.
        if (place.worker?.runsCode === true) this.#parts.code.is(place, message.hasCode);
        this.#events.give(place, {type: 'closed', nextDueMs: message.nextDueMs});
        return;
      case 'in_use':
        place.inUseUntilMs = message.untilMs ?? 0;
        return;
      case 'spare':
      case 'heartbeat':
        return;
      default:
        unreachable(message);
    }
  }

  async #installNode(place: Place, {id, version}: Extract<WorkerMessage, {type: 'node_wanted'}>): Promise<void> {
    const {worker} = place;
    const error = await this.#parts.installNode(version).then(
      () => null,
      (caught: unknown) => (caught as Error).message,
    );
    worker?.child.send({type: 'node_settled', id, error});
  }

  async #putEgress(place: Place, {id, body, signedGrant}: Extract<WorkerMessage, {type: 'egress_put'}>): Promise<void> {
    const {worker, door} = place;
    if (worker === null || door === null) return;
    let error: ErrorObject | null = null;
    try {
      await this.#parts.egress.put(place, door, body, signedGrant);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      error = errorEnvelope(caught).error;
    }
    worker.child.send({type: 'egress_taken', id, error});
  }

  #ended(place: Place, worker: Worker, end: ChildEnd): void {
    assert(place.worker === worker, 'a tenant has one worker at a time');
    const socketPath = place.address?.socketPath ?? '';
    if (place.door !== null) {
      this.#parts.egress.ended(place.door);
      this.#parts.runDirectory.forget(place.door.socketPath);
    }
    this.#parts.runDirectory.forget(socketPath);
    if (place.reporter !== null) this.#parts.workerEnded(place.reporter, worker.lastReport);
    place.reporter = null;
    place.worker = null;
    place.address = null;
    place.door = null;
    place.inUseUntilMs = 0;
    this.#events.ended(place, {...end, pid: worker.child.pid, socketPath});
  }
}
