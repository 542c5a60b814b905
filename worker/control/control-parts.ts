/** Dependencies of the services, sandboxes and sessions of one tenant. */

import type {BackgroundWrites} from '../../engine/commit/background.ts';
import type {CommitGroups} from '../../engine/commit/group.ts';
import type {Connection} from '../../engine/storage/connection.ts';
import type {EgressEndpoint} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import type {WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import type {FunctionPlatform} from '../functions/platform.ts';

export type ControlParts = {
  /** The tenant's directory. */
  directory: string;
  /** The writer's connection. */
  db: Connection;
  groups: CommitGroups;
  background: BackgroundWrites;
  metrics: WorkerMetrics;
  log: Logger;
  clock: () => number;
  /** The egress proxy endpoint of the tenant's code. */
  egress: () => EgressEndpoint;
  /** The function platform. @throws session.worker_unavailable 503 */
  functions: () => Promise<FunctionPlatform>;
  /** Maximum total `memory_mb` of services that are to run. */
  servicesMemoryMbMax: number;
  /** Something began, ended, or was extended. */
  changed: () => void;
};
