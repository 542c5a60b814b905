/** Latencies of requests and functions, counted in buckets: fine enough for p50 and p99, small enough to be stored. */

/** Upper bounds in milliseconds, rising; values above the last one have a bucket of their own. */
export const LATENCY_BOUNDS_MS = [
  0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 50, 75, 100, 150, 250, 500, 1_000, 2_500, 5_000,
  10_000, 30_000,
] as const;
export const LATENCY_BUCKETS = LATENCY_BOUNDS_MS.length + 1;

export function latencyBucket(ms: number): number {
  let bucket = 0;
  while (bucket < LATENCY_BOUNDS_MS.length && ms > LATENCY_BOUNDS_MS[bucket]!) bucket++;
  return bucket;
}

/**
 * Interpolated within the bucket that has the value.
 * @param share of the values that are at most as large: 0.5 for the median
 * @returns milliseconds; null: nothing was counted
 */
export function latencyQuantile(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let i = 0; i < LATENCY_BUCKETS; i++) total += counts[i]!;
  if (total <= 0) return null;
  const rank = share * total;
  let below = 0;
  for (let i = 0; i < LATENCY_BOUNDS_MS.length; i++) {
    const count = counts[i]!;
    if (below + count >= rank && count > 0) {
      const from = i === 0 ? 0 : LATENCY_BOUNDS_MS[i - 1]!;
      const ms = from + ((LATENCY_BOUNDS_MS[i]! - from) * (rank - below)) / count;
      return Math.round(ms * 1_000) / 1_000;
    }
    below += count;
  }
  return LATENCY_BOUNDS_MS.at(-1)!;
}
