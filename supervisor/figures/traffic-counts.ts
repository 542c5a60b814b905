/** What a tenant, a function or the server did in some time. */
import {LATENCY_BUCKETS} from '../../shared/metrics/latency.ts';

export class TrafficCounts {
  requests = 0;
  errors = 0;
  bytesIn = 0;
  bytesOut = 0;
  readonly latencies = new Float64Array(LATENCY_BUCKETS);

  add({requests, errors, bytesIn, bytesOut, latencies}: Counted, weight = 1): void {
    this.requests += requests * weight;
    this.errors += errors * weight;
    this.bytesIn += bytesIn * weight;
    this.bytesOut += bytesOut * weight;
    for (let i = 0; i < LATENCY_BUCKETS; i++) this.latencies[i]! += latencies[i]! * weight;
  }
}

type Counted = {
  requests: number;
  errors: number;
  bytesIn: number;
  bytesOut: number;
  latencies: ArrayLike<number>;
};
