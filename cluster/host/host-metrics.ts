/** The metrics of this host in the cluster. Gauges are read for each report. */
import {CLUSTER_METRICS} from '../../shared/metrics/cluster-metrics.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import type {HostLease} from '../members/host-lease.ts';
import type {Members} from '../members/members.ts';
import type {NatsEngine} from '../nats/nats-engine.ts';
import type {StreamCopies} from '../nats/stream-copies.ts';
import type {HostTenants} from '../ownership/host-tenants.ts';
import type {Standbys} from '../standby/standbys.ts';
import type {FreeSpace} from './free-space.ts';

export type HostGauges = {
  readonly members: Pick<Members, 'serving'>;
  readonly lease: Pick<HostLease, 'holds' | 'untilMs'>;
  readonly tenants: Pick<HostTenants, 'serving'>;
  readonly standbys: Pick<Standbys, 'lag'>;
  readonly engine: Pick<NatsEngine, 'isConnected' | 'reconnects'>;
  readonly freeSpace: Pick<FreeSpace, 'all'>;
  readonly copies: Pick<StreamCopies, 'different'>;
  readonly nowMs: () => number;
};

export class HostMetrics extends Metrics<typeof CLUSTER_METRICS> {
  constructor() {
    super(CLUSTER_METRICS);
  }

  read({members, lease, tenants, standbys, engine, freeSpace, copies, nowMs}: HostGauges): void {
    this.measure('svc_cluster_members', () => {
      const states = members.serving().map(({record}) => record.state);
      return CLUSTER_METRICS.svc_cluster_members.from.map(state => [
        {state},
        states.filter(each => each === state).length,
      ]);
    });
    this.measure('svc_cluster_lease', () => (lease.holds() ? 1 : 0));
    this.measure('svc_cluster_lease_seconds', () => Math.max(0, lease.untilMs - nowMs()) / 1_000);
    this.measure('svc_cluster_tenants_owned', () => tenants.serving().size);
    this.measure('svc_cluster_standbys', () => standbys.lag().size);
    const lags = () => [...standbys.lag().values()];
    this.measure('svc_cluster_standby_lag_records', () => lags().reduce((sum, {records}) => sum + records, 0));
    this.measure('svc_cluster_standby_lag_seconds', () => Math.max(0, ...lags().map(({ms}) => ms)) / 1_000);
    this.measure('svc_cluster_nats_connected', () => (engine.isConnected ? 1 : 0));
    this.measure('svc_cluster_nats_reconnects_total', () => engine.reconnects);
    this.measure('svc_cluster_log_copies_differing', () => copies.different);
    this.measure('svc_cluster_log_free_bytes', () => [...freeSpace.all()].map(([shard, bytes]) => [{shard}, bytes]));
  }
}
