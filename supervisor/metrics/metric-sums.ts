/** Sums of the metrics of processes that have ended: counters, no gauges. */
import type {MetricJson} from '../../shared/metrics/metric-json.ts';

export function countsOf(report: readonly MetricJson[]): MetricJson[] {
  return report.filter(({type}) => type !== 'gauge');
}

/** The sum of both, for counters. @param seriesMax further series are dropped */
export function sumOfCounts(
  before: readonly MetricJson[],
  added: readonly MetricJson[],
  seriesMax = Number.POSITIVE_INFINITY,
): MetricJson[] {
  const sums = new Map(before.map(metric => [metric.name, metric]));
  let kept = before.reduce((sum, {values}) => sum + values.length, 0);
  for (const metric of countsOf(added)) {
    const values = new Map((sums.get(metric.name)?.values ?? []).map(value => [seriesOf(value), value]));
    for (const value of metric.values) {
      const series = seriesOf(value);
      const known = values.get(series);
      if (known === undefined && ++kept > seriesMax) continue;
      values.set(series, {...value, value: value.value + (known?.value ?? 0)});
    }
    sums.set(metric.name, {...metric, values: [...values.values()]});
  }
  return [...sums.values()];
}

export function seriesOf({metricName, labels}: MetricJson['values'][number]): string {
  return JSON.stringify([metricName, labels]);
}
