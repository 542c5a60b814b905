/** The supervisor's in-memory state of one tenant and, while it has one, its worker. */
import type {ErrorObject} from '../../shared/errors.ts';
import type {LogGrant} from '../../shared/ipc/cluster.ts';
import type {RemoteAddress, WorkerAddress} from '../../shared/ipc/control.ts';
import type {EndpointKey} from '../../shared/ipc/egress.ts';
import type {Worker} from '../processes/worker-pool.ts';
import type {Crashes} from './crashes.ts';
import type {Effect, Lifecycle} from './lifecycle-states.ts';
import {Wakes} from './wakes.ts';
import type {Reporter} from './worker-metric-sums.ts';
import {WorkerUsers} from './worker-users.ts';

export type PlacedTenant = {id: string; generation: number; createdMs: number};
export type EntryMarks = {isMarkedAwake: boolean; isToOpen: boolean};

/** Shared, because there are many tenants, and few of them are watched. */
const NO_WATCHES: TenantEntry['watches'] = [];

export class TenantEntry {
  readonly id: string;
  readonly generation: number;
  readonly createdMs: number;
  lifecycle: Lifecycle = {state: 'asleep', crashes: 0};
  worker: Worker | null = null;
  /** Where `worker` listens, from the moment it is requested to. */
  address: WorkerAddress | null = null;
  /** The cluster process lets this host open the tenant; null: it does not, or there is no cluster. */
  grant: LogGrant | null = null;
  /** Where `worker` reaches the cluster process. */
  logEndpoint: EndpointKey | null = null;
  /** Where routers are referred to while another host serves the tenant. */
  remote: RemoteAddress | null = null;
  /** Another host has chosen this one for the tenant. */
  isForwarded = false;
  /** `worker`, as it is identified in the metrics. */
  reporter: Reporter | null = null;
  /** The proxy endpoint of `worker`. */
  endpoint: EndpointKey | null = null;
  /** Routers that use `worker`, or wait for one. */
  readonly users = new WorkerUsers();
  /** Created after the first unexpected end of a worker. */
  crashes: Crashes | null = null;
  /** The worker is up; `ready` is withheld until the last crash has been attributed. */
  isReadyPending = false;
  /** Why `worker` could not open the tenant, if it reported a reason. */
  openError: ErrorObject | null = null;
  /** It has a deployment, or may have one, so its worker must be able to run code. */
  hasCode = true;
  /** An operator paused it, and it goes on answering reads: its workers refuse everything else. */
  isReadOnly = false;
  /** Epoch of the entry in the cluster that last said whether it is paused. */
  pauseEpoch = 0;
  /** `worker` found a deployment and cannot hold isolates: it ends, and another one is started. */
  needsIsolates = false;
  /** The mark in the registry, cached so that a second worker of the same tenant costs no second write. */
  isMarkedAwake: boolean;
  /** It leaves to come back with a new timeline: it is not deleted. */
  isReturning = false;
  /** When `worker` was requested to open the tenant. */
  wakingSinceMs = 0;
  /** The tenant is opened when the server starts, because it has work or may have. */
  readonly isToOpen: boolean;
  /** When it has work again, as `worker` reported as it closed; null: never. Undefined: it has not closed. */
  closedDueMs: number | null | undefined = undefined;
  /** When a router last reported traffic or requests under way. */
  lastActiveMs = 0;
  /** Until when `worker` wants to stay awake; 0: it does not. */
  inUseUntilMs = 0;
  /** Until when it is not requested to give up its worker, because requests were under way, or it is being cloned. */
  busyUntilMs = 0;
  /** Timer of the pause after a crash, of the cool-down, or of a move. */
  laterTimer: NodeJS.Timeout | null = null;
  /** When and why it was woken. */
  readonly wakes = new Wakes();
  /** Called after each step of `lifecycle`, with its effects. */
  watches: readonly ((effects: readonly Effect[]) => void)[] = NO_WATCHES;
  /** Starts the process of its errand, which becomes its `worker`. */
  startErrand: (() => void) | null = null;
  /** Resolves the promise of a deletion that waits until the files can be removed. */
  onRemovable: (() => void) | null = null;

  constructor({id, generation, createdMs}: PlacedTenant, {isMarkedAwake, isToOpen}: EntryMarks) {
    this.id = id;
    this.generation = generation;
    this.createdMs = createdMs;
    this.isMarkedAwake = isMarkedAwake;
    this.isToOpen = isToOpen;
  }
}
