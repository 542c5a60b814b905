/** What the supervisor holds of one tenant in memory: its state and, while it has one, its worker. */
import type {ErrorObject} from '../../shared/errors.ts';
import type {WorkerAddress} from '../../shared/ipc/control.ts';
import type {DoorKey} from '../../shared/ipc/egress.ts';
import type {Worker} from '../processes/worker-pool.ts';
import type {Deaths} from './deaths.ts';
import type {Residence} from './residence.ts';
import type {Reporter} from './worker-figures.ts';
import {WorkerUsers} from './worker-users.ts';

export type PlacedTenant = {id: string; generation: number; createdMs: number};
export type PlaceMarks = {isMarkedAwake: boolean; isToOpen: boolean};

export class Place {
  readonly id: string;
  readonly generation: number;
  readonly createdMs: number;
  residence: Residence = {state: 'asleep', deaths: 0};
  worker: Worker | null = null;
  /** Where `worker` listens, from the moment it is told to. */
  address: WorkerAddress | null = null;
  /** `worker`, as the metrics know it. */
  reporter: Reporter | null = null;
  /** The way out of `worker`. */
  door: DoorKey | null = null;
  /** Which routers use `worker`, or wait for one. */
  readonly users = new WorkerUsers();
  /** Made with the first worker that ended unasked. */
  deaths: Deaths | null = null;
  /** A worker serves, and whoever asked is told when it is known what the last one's death is held against. */
  isReadyOwed = false;
  /** Why `worker` could not open the tenant, when it said so. */
  openError: ErrorObject | null = null;
  /** It has a deployment, or may have one: its worker has to be one that runs code. */
  hasCode = true;
  /** The registry's mark, so that a second worker of the same tenant costs no second write. */
  isMarkedAwake: boolean;
  /** When `worker` was told to open the tenant. */
  wakingSinceMs = 0;
  /** It is opened when the server starts: it has work, or may have. */
  readonly isToOpen: boolean;
  /** When a router last reported traffic or requests under way. */
  lastActiveMs = 0;
  /** `worker` wants to stay awake until then; 0: it does not. */
  inUseUntilMs = 0;
  /** Not asked to let go before this: it answered that requests are under way. */
  busyUntilMs = 0;
  /** The pause after a death, or the rest, or what a move may take. */
  laterTimer: NodeJS.Timeout | null = null;
  /** Resolved when a deletion may remove the files. */
  onRemovable: (() => void) | null = null;

  constructor({id, generation, createdMs}: PlacedTenant, {isMarkedAwake, isToOpen}: PlaceMarks) {
    this.id = id;
    this.generation = generation;
    this.createdMs = createdMs;
    this.isMarkedAwake = isMarkedAwake;
    this.isToOpen = isToOpen;
  }
}
