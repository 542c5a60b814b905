/** The metrics of the egress process. */
import {Metrics, type MetricTable} from './metrics.ts';

export const EGRESS_METRICS = {
  svc_egress_connections: {
    type: 'gauge',
    help: 'Outgoing connections of tenants, including the ones being made',
  },
  svc_egress_doors: {type: 'gauge', help: 'Workers that may ask the egress process for connections'},
  svc_egress_connections_total: {
    type: 'counter',
    help: 'Outgoing connections that tenants requested, by outcome',
    labels: ['outcome'],
    from: ['opened', 'refused', 'failed', 'busy'],
  },
  svc_egress_bytes_total: {
    type: 'counter',
    help: 'Bytes of outgoing connections that are over',
    labels: ['direction'],
    from: ['in', 'out'],
  },
} as const satisfies MetricTable;

export class EgressMetrics extends Metrics<typeof EGRESS_METRICS> {
  /** Of all tenants, including connections that are being established. */
  connections = 0;

  constructor() {
    super(EGRESS_METRICS);
    this.measure('svc_egress_connections', () => this.connections);
  }
}
