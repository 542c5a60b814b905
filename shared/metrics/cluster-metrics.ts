/** The metrics of the cluster process. */
import type {MetricTable} from './metrics.ts';

export const CLUSTER_METRICS = {
  svc_cluster_members: {
    type: 'gauge',
    help: 'Hosts of the cluster that this host hears, itself included, by state',
    labels: ['state'],
    from: ['live', 'draining'],
  },
  svc_cluster_lease: {type: 'gauge', help: '1 while this host has its lease, without which it answers no reads'},
  svc_cluster_lease_seconds: {type: 'gauge', help: 'Time until the lease of this host ends unless it is renewed'},
  svc_cluster_tenants_owned: {type: 'gauge', help: 'Tenants that a worker of this host serves in the cluster'},
  svc_cluster_standbys: {type: 'gauge', help: 'Tenants whose file this host keeps at the tail of the log as a standby'},
  svc_cluster_standby_lag_records: {type: 'gauge', help: 'Records that standbys of this host have not applied yet'},
  svc_cluster_standby_lag_seconds: {
    type: 'gauge',
    help: 'Age of the oldest record that a standby of this host has noticed and not applied',
    aggregator: 'max',
  },
  svc_cluster_append_seconds: {
    type: 'histogram',
    help: 'Time until the log answered an append of a record by a worker of this host',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  svc_cluster_appends_total: {
    type: 'counter',
    help: 'Attempts of workers of this host to append a record, by answer; failed: none, so it is unknown and tried again',
    labels: ['answer'],
    from: ['stored', 'refused', 'full', 'failed'],
  },
  svc_cluster_takeovers_total: {
    type: 'counter',
    help: 'Tenants that this host opened because the host that owned them was lost or had stopped',
  },
  svc_cluster_hand_overs_total: {
    type: 'counter',
    help: 'Tenants that this host closed in order because they got another owner',
  },
  svc_cluster_bases_total: {type: 'counter', help: 'Bases that this host made and stored in the log of the cluster'},
  svc_cluster_base_bytes_total: {
    type: 'counter',
    help: 'Bytes of bases that this host stored in the log of the cluster',
  },
  svc_cluster_nats_connected: {type: 'gauge', help: '1 while the cluster process is connected to a NATS server'},
  svc_cluster_nats_reconnects_total: {
    type: 'counter',
    help: 'Times that the cluster process was connected to a NATS server again after it lost the connection',
  },
  svc_cluster_log_copies_differing: {
    type: 'gauge',
    help: 'Copies of streams on NATS servers that are another one than that of their leader, or do not follow it',
    aggregator: 'max',
  },
  svc_cluster_log_free_bytes: {
    type: 'gauge',
    help: 'Space of the NATS servers for logs of tenants that this host serves, by shard; 0 if someone has changed the stream',
    labels: ['shard'],
    aggregator: 'max',
  },
} as const satisfies MetricTable;
