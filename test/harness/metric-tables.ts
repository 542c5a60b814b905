/** The tables of all metrics that the page shows, by name. */
import {CLUSTER_METRICS} from '../../shared/metrics/cluster-metrics.ts';
import {COPIER_METRICS} from '../../shared/metrics/copier-metrics.ts';
import {EGRESS_METRICS} from '../../shared/metrics/egress-metrics.ts';
import type {MetricTable} from '../../shared/metrics/metrics.ts';
import {ROUTER_METRICS} from '../../shared/metrics/router-metrics.ts';
import {PAGE_METRICS, SUPERVISOR_METRICS} from '../../shared/metrics/supervisor-metrics.ts';
import {WORKER_METRICS} from '../../shared/metrics/worker-metrics.ts';

export const METRIC_TABLES: MetricTable = {
  ...WORKER_METRICS,
  ...ROUTER_METRICS,
  ...EGRESS_METRICS,
  ...COPIER_METRICS,
  ...CLUSTER_METRICS,
  ...SUPERVISOR_METRICS,
  ...PAGE_METRICS,
};
