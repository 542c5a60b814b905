/** The requests of routers about the cluster. Each is answered with the body of the route's response. */
import type {ClusterMembers, ClusterStatus, DrainedHost, MovedTenant} from '../protocol/cluster.ts';

export type ClusterRequest =
  | {action: 'cluster_status'; cursor: string | null; limit: number}
  | {action: 'cluster_members'}
  /** Another host is made the owner once. */
  | {action: 'cluster_move'; tenant: string; host: string}
  /** `host`: the one that should own it from now on; null: the placement decides again. */
  | {action: 'cluster_pin'; tenant: string; host: string | null}
  /** Answered once the host has stopped to take tenants; it hands those that it has to others. */
  | {action: 'cluster_drain'; host: string};

export type ClusterAnswer = ClusterStatus | ClusterMembers | MovedTenant | DrainedHost;
