/** Counts the requests of one tenant between two reports. Counting is on the hottest path. */
import type {TrafficReport} from '../../shared/ipc/control.ts';
import {LATENCY_BUCKETS, latencyBucket} from '../../shared/metrics/latency.ts';

const SERVER_ERROR = 500;

export class TrafficCounts {
  #requests = 0;
  #errors = 0;
  #bytesIn = 0;
  #bytesOut = 0;
  readonly #latencies = new Uint32Array(LATENCY_BUCKETS);

  /** @param ms null: an endless answer, whose time means nothing */
  add(status: number, ms: number | null, bytesIn: number, bytesOut: number): void {
    this.#requests++;
    if (status >= SERVER_ERROR) this.#errors++;
    this.#bytesIn += bytesIn;
    this.#bytesOut += bytesOut;
    if (ms !== null) this.#latencies[latencyBucket(ms)]!++;
  }

  report(tenant: string, sockets: number): TrafficReport {
    return {
      tenant,
      requests: this.#requests,
      errors: this.#errors,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      sockets,
      latencies: [...this.#latencies],
    };
  }
}
