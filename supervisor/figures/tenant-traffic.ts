/**
 * Requests of tenants in this minute and the one before, as the routers report them. Only tenants with requests or open
 * sockets take memory.
 */
import type {TrafficReport} from '../../shared/ipc/control.ts';
import {latencyQuantile} from '../../shared/metrics/latency.ts';
import {TrafficCounts} from './traffic-counts.ts';

export const MINUTE_MS = 60_000;

/** The figures of the last minute. */
export type Recent = {
  requestsPerSecond: number;
  errorRate: number;
  p50Ms: number | null;
  p99Ms: number | null;
  sockets: number;
};
const NOTHING: Recent = {requestsPerSecond: 0, errorRate: 0, p50Ms: null, p99Ms: null, sockets: 0};

/** What a tenant did in a minute that is over. `sockets`: open at its end. */
export type FinishedTraffic = {tenant: string; counts: TrafficCounts; sockets: number};

type Traffic = {current: TrafficCounts | null; last: TrafficCounts | null; sockets: number[]};

export class TenantsTraffic {
  readonly #tenants = new Map<string, Traffic>();
  readonly #now: () => number;
  readonly #finished: (minute: number, traffic: FinishedTraffic[]) => void;
  /** Whole minutes since 1970. */
  #minute: number;

  /** @param finished called with the counts of each tenant when a minute is over */
  constructor(now: () => number, finished: (minute: number, traffic: FinishedTraffic[]) => void = () => undefined) {
    this.#now = now;
    this.#finished = finished;
    this.#minute = minuteOf(now());
  }

  /** @param router its index */
  add(router: number, reports: readonly TrafficReport[]): void {
    this.advance();
    for (const report of reports) {
      const traffic = this.#of(report.tenant);
      traffic.sockets[router] = report.sockets;
      if (report.requests === 0) continue;
      traffic.current ??= new TrafficCounts();
      traffic.current.add(report);
    }
  }

  /** The router has ended, and its sockets are closed. */
  routerEnded(router: number): void {
    for (const traffic of this.#tenants.values()) traffic.sockets[router] = 0;
  }

  forget(tenant: string): void {
    this.#tenants.delete(tenant);
  }

  /** The part of the minute before that is less than a minute ago counts in proportion. */
  recent(tenant: string): Recent {
    this.advance();
    const traffic = this.#tenants.get(tenant);
    if (traffic === undefined) return NOTHING;
    const counts = new TrafficCounts();
    const passed = Math.min(1, Math.max(0, this.#now() / MINUTE_MS - this.#minute));
    if (traffic.last !== null) counts.add(traffic.last, 1 - passed);
    if (traffic.current !== null) counts.add(traffic.current);
    const {requests, errors, latencies} = counts;
    return {
      requestsPerSecond: Math.round((requests / 60) * 1_000) / 1_000,
      errorRate: requests === 0 ? 0 : errors / requests,
      p50Ms: latencyQuantile(latencies, 0.5),
      p99Ms: latencyQuantile(latencies, 0.99),
      sockets: socketsOf(traffic),
    };
  }

  #of(tenant: string): Traffic {
    let traffic = this.#tenants.get(tenant);
    if (traffic === undefined) {
      traffic = {current: null, last: null, sockets: []};
      this.#tenants.set(tenant, traffic);
    }
    return traffic;
  }

  /** Begins a new minute if it is time. */
  advance(): void {
    const minute = minuteOf(this.#now());
    if (minute === this.#minute) return;
    const isNext = minute === this.#minute + 1;
    const finished: FinishedTraffic[] = [];
    for (const [tenant, traffic] of this.#tenants) {
      const sockets = socketsOf(traffic);
      const counts = traffic.current ?? (sockets > 0 ? new TrafficCounts() : null);
      if (counts !== null) finished.push({tenant, counts, sockets});
    }
    this.#finished(this.#minute, finished);
    this.#minute = minute;
    for (const [tenant, traffic] of this.#tenants) {
      traffic.last = isNext ? traffic.current : null;
      traffic.current = null;
      if (traffic.last === null && socketsOf(traffic) === 0) this.#tenants.delete(tenant);
    }
  }
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

function socketsOf({sockets}: Traffic): number {
  return sockets.reduce((sum, each) => sum + (each ?? 0), 0);
}
