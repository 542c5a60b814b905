import {expect, test} from 'vitest';
import type {TrafficReport} from '../../shared/ipc/control.ts';
import {LATENCY_BUCKETS, latencyBucket, latencyQuantile} from '../../shared/metrics/latency.ts';
import {MINUTE_MS, TenantsTraffic} from '../../supervisor/figures/tenant-traffic.ts';

function report(requests: number, errors = 0, sockets = 0): TrafficReport {
  const latencies = new Array<number>(LATENCY_BUCKETS).fill(0);
  latencies[latencyBucket(4)] = requests;
  return {tenant: 'acme', requests, errors, bytesIn: 0, bytesOut: 0, sockets, latencies};
}

test('figures are of the last minute: what is older counts in proportion, then not at all', () => {
  let nowMs = 100 * MINUTE_MS;
  const traffic = new TenantsTraffic(() => nowMs);
  traffic.add(0, [report(60, 15)]);
  traffic.add(1, [report(60, 15)]);
  expect(traffic.recent('acme')).toMatchObject({requestsPerSecond: 2, errorRate: 0.25});
  nowMs += 1.5 * MINUTE_MS;
  expect(traffic.recent('acme').requestsPerSecond).toBe(1);
  nowMs += MINUTE_MS;
  expect(traffic.recent('acme')).toMatchObject({requestsPerSecond: 0, errorRate: 0, p50Ms: null});
});

test('open sockets are those of all routers that run', () => {
  const traffic = new TenantsTraffic(() => 0);
  traffic.add(0, [report(0, 0, 2)]);
  traffic.add(2, [report(0, 0, 3)]);
  expect(traffic.recent('acme').sockets).toBe(5);
  traffic.routerEnded(2);
  expect(traffic.recent('acme').sockets).toBe(2);
});

test('a quantile is within the bucket of the value', () => {
  const counts = new Array<number>(LATENCY_BUCKETS).fill(0);
  expect(latencyQuantile(counts, 0.5)).toBeNull();
  for (const ms of [...new Array<number>(98).fill(4), 40, 4_000]) counts[latencyBucket(ms)]!++;
  expect(latencyQuantile(counts, 0.5)).toBeGreaterThan(3);
  expect(latencyQuantile(counts, 0.5)).toBeLessThanOrEqual(5);
  expect(latencyQuantile(counts, 0.99)).toBeGreaterThan(30);
  expect(latencyQuantile(counts, 0.99)).toBeLessThanOrEqual(50);
});
