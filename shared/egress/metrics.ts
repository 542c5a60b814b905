/** The metrics of the egress process. */
import {gauge, type MetricJson} from '../metrics/metric-json.ts';

const OUTCOMES = ['opened', 'refused', 'failed', 'busy'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export class EgressMetrics {
  /** Of all tenants, including connections that are being established. */
  connections = 0;
  receivedBytes = 0;
  sentBytes = 0;
  readonly #outcomes = new Map<Outcome, number>(OUTCOMES.map(outcome => [outcome, 0]));

  count(outcome: Outcome): void {
    this.#outcomes.set(outcome, this.#outcomes.get(outcome)! + 1);
  }

  report(endpoints: number): MetricJson[] {
    const outcomes = [...this.#outcomes].map(([outcome, value]) => ({labels: {outcome}, value}));
    const bytes = [
      {labels: {direction: 'in'}, value: this.receivedBytes},
      {labels: {direction: 'out'}, value: this.sentBytes},
    ];
    return [
      gauge(
        'svc_egress_connections',
        'Outgoing connections of tenants, including the ones being made',
        this.connections,
      ),
      gauge('svc_egress_doors', 'Workers that may ask the egress process for connections', endpoints),
      counter('svc_egress_connections_total', 'Outgoing connections that tenants requested, by outcome', outcomes),
      counter('svc_egress_bytes_total', 'Bytes of outgoing connections that are over', bytes),
    ];
  }
}

function counter(name: string, help: string, values: MetricJson['values']): MetricJson {
  return {name, help, type: 'counter', aggregator: 'sum', values};
}
