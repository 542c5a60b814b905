/** Figures from the histograms of a page of metrics. */

/**
 * The median of what was observed between two pages, linear within its bucket; NaN if nothing was.
 * @param name of a histogram without labels
 */
export function histogramMedian(name: string, before: string, after: string): number {
  const earlier = bucketsOf(name, before);
  const buckets = [...bucketsOf(name, after)].map(([le, count]) => ({le, count: count - (earlier.get(le) ?? 0)}));
  const half = (buckets.at(-1)?.count ?? 0) / 2;
  let low = {le: 0, count: 0};
  for (const bucket of buckets) {
    if (half > 0 && bucket.count >= half)
      return low.le + ((bucket.le - low.le) * (half - low.count)) / (bucket.count - low.count);
    low = bucket;
  }
  return Number.NaN;
}

/** Upper limit → number of values up to it. */
function bucketsOf(name: string, page: string): Map<number, number> {
  const lines = page.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\S+)$`, 'gm'));
  return new Map(Array.from(lines, ([, le, count]) => [le === '+Inf' ? Infinity : Number(le), Number(count)]));
}
