/** What services, sandboxes and sessions of one tenant are given. */

import type {BackgroundWrites} from '../../engine/commit/background.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import type {WorkerMetrics} from '../../engine/metrics.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import type {EgressDoor} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import type {FunctionPlatform} from '../functions/platform.ts';

export type ControlParts = {
  /** Of the tenant. */
  directory: string;
  /** The writer's. */
  db: Connection;
  groups: CommitGroups;
  background: BackgroundWrites;
  metrics: WorkerMetrics;
  log: Logger;
  clock: () => number;
  /** Where the tenant's code may connect to. */
  egress: () => EgressDoor;
  /** The function platform. @throws session.worker_unavailable 503 */
  functions: () => Promise<FunctionPlatform>;
  /** `memory_mb` of services that are to run, together. */
  servicesMemoryMbMax: number;
  /** Something began or ended, or lasts longer. */
  changed: () => void;
};
