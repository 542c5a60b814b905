/**
 * Errands (shared/ipc/errand.ts): a process does one thing in a directory, and others wait for it. For a tenant, only while it has
 * no worker, as a state of its lifecycle, so a wake kills the process and goes first. In any other directory, such as
 * one with a file that arrives, under a user of its own.
 */
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';
import type {Errand} from '../../shared/ipc/errand.ts';
import type {Logger} from '../../shared/log.ts';
import type {TenantFiles} from '../files/tenant-files.ts';
import {ERRAND_MS_MAX, ERRANDS_WAITING_MAX} from '../limits.ts';
import type {ChildEnd} from '../processes/child.ts';
import type {Worker, WorkerMessage, WorkerPool} from '../processes/worker-pool.ts';
import type {AssignmentSettings} from './assignments.ts';
import type {Placement} from './placement.ts';
import {NoUser, type TenantUsers} from './tenant-users.ts';

export type ErrandsParts = {
  pool: Pick<WorkerPool, 'forErrand'>;
  placement: Pick<Placement, 'errandEnded' | 'find' | 'give'>;
  users: TenantUsers;
  files: TenantFiles;
  settings: AssignmentSettings;
  reservePath: string;
  log: Logger;
};

/** The directory's name must not be one that tenants of the server have. */
export type ErrandPlace = {
  directory: string;
  tenant: string;
  generation: number;
  createdMs: number;
  /** In a process that can run code of tenants. */
  runsCode: boolean;
};

/** Errands one after another. */
class Lane {
  /** Ends when the errand that was queued last has ended. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** @throws session.overloaded 503 */
  async queued(run: () => Promise<unknown>): Promise<unknown> {
    if (this.#waiting > ERRANDS_WAITING_MAX) {
      throw new ServiceError('session.overloaded', 'too many checks of files are waiting; try again later');
    }
    this.#waiting++;
    const done = this.#last.then(run);
    this.#last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      this.#waiting--;
    }
  }
}

type Ended = (failure: ServiceError | null, result: unknown) => void;

export class Errands {
  readonly #parts: ErrandsParts;
  /** A base and a file that is taken in do not wait for a drill, which can take an hour. */
  readonly #lanes: Record<Errand['kind'], Lane> = {adopt: new Lane(), base: new Lane(), drill: new Lane()};

  constructor(parts: ErrandsParts) {
    this.#parts = parts;
  }

  /**
   * Runs an errand of a tenant that sleeps or is paused.
   * @throws op.conflict 409: it has a worker, or was woken meanwhile; session.worker_unavailable 503: it cools down
   * after failures; what the errand throws; session.overloaded 503
   */
  runFor(id: string, errand: Errand): Promise<unknown> {
    return this.#lanes[errand.kind].queued(() => {
      const {placement, files} = this.#parts;
      const entry = placement.find(id);
      if (entry === undefined) {
        throw new ServiceError('session.tenant_not_found', `there is no tenant ${JSON.stringify(id)}`);
      }
      if (entry.lifecycle.state === 'resting') throw coolsDown(id, entry.lifecycle.error);
      if (entry.lifecycle.state !== 'asleep' && entry.lifecycle.state !== 'paused') throw inUse(id);
      const {generation, createdMs, hasCode: runsCode} = entry;
      const place = {directory: files.path(id, generation), tenant: id, generation, createdMs, runsCode};
      return new Promise((resolve, reject) => {
        entry.startErrand = () => {
          entry.worker = this.#start(place, errand, ERRAND_MS_MAX, (failure, result) => {
            const isUnfinished = failure !== null && isWanted(entry.lifecycle);
            entry.startErrand = null;
            placement.errandEnded(entry);
            if (failure === null) resolve(result);
            else reject(isUnfinished ? inUse(id) : failure);
          });
        };
        placement.give(entry, {type: 'errand'});
      });
    });
  }

  /** Runs an errand in a directory that is no tenant's. @throws what the errand throws; session.overloaded 503 */
  runIn(place: ErrandPlace, errand: Errand, withinMs: number = ERRAND_MS_MAX): Promise<unknown> {
    return this.#lanes[errand.kind].queued(
      () =>
        new Promise((resolve, reject) => {
          this.#start(place, errand, withinMs, (failure, result) => {
            this.#parts.users.forget(place.directory);
            if (failure === null) resolve(result);
            else reject(failure);
          });
        }),
    );
  }

  #start({runsCode, ...place}: ErrandPlace, errand: Errand, withinMs: number, ended: Ended): Worker {
    const {pool, users, settings, reservePath, log} = this.#parts;
    let failure: ServiceError | null = null;
    let result: unknown;
    let isAnswered = false;
    const worker = pool.forErrand(runsCode, {
      onMessage: (message: WorkerMessage) => {
        if (message.type === 'errand_failed') failure = asThrown(message.error);
        if (message.type === 'errand_done') {
          const parsed = parsedJson(message.result);
          if (parsed === undefined) {
            worker.child.disbelieve('the answer to its errand is no JSON');
            return;
          }
          result = parsed;
        }
        isAnswered ||= message.type === 'errand_failed' || message.type === 'errand_done';
      },
      onEnd: (end: ChildEnd) => {
        if (!isAnswered) {
          log.warn('the process of an errand ended early', {tenant: place.tenant, errand: errand.kind, ...end});
          failure = unanswered();
        }
        ended(failure, result);
      },
    });
    worker.child.killAfter(withinMs);
    try {
      worker.runErrand(
        {
          ...place,
          user: users.own(place.directory),
          reservePath,
          journalKeepRecords: settings.journalKeepRecords,
          storageBytesMax: settings.tenantStorageMax,
          servicesMemoryMbMax: settings.tenantServicesMemoryMb,
          redactErrors: settings.redactErrors,
          copies: settings.copies,
        },
        errand,
      );
    } catch (caught) {
      if (!(caught instanceof NoUser)) throw caught;
      log.error('an errand cannot run under a user of its own', {tenant: place.tenant, error: caught});
      worker.child.kill();
    }
    return worker;
  }
}

function isWanted(lifecycle: {state: string; wanted?: boolean}): boolean {
  return lifecycle.state !== 'errand' || lifecycle.wanted === true;
}

/** Undefined: it is no JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (caught) {
    if (caught instanceof SyntaxError) return undefined;
    throw caught;
  }
}

function inUse(id: string): ServiceError {
  return new ServiceError('op.conflict', `tenant ${id} is in use: put it to sleep or pause it, and try again`);
}

function coolsDown(id: string, error: ErrorObject | null): ServiceError {
  const why = error === null ? 'its worker ended too often in a row' : error.message;
  return new ServiceError('session.worker_unavailable', `tenant ${id} is not opened for now: ${why}`);
}

function asThrown({code, message, detail}: ErrorObject): ServiceError {
  return new ServiceError(code, message, detail);
}

function unanswered(): ServiceError {
  return new ServiceError('session.worker_unavailable', 'the process that did this ended early; the log says why');
}
