/** One metric as prom-client's `getMetricsAsJSON` shows it: the form in which processes exchange them. */
export type MetricJson = {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** How the values of several processes become one. */
  aggregator: 'sum' | 'max';
  values: {value: number; labels: Record<string, string | number>; metricName?: string}[];
};

export function gauge(name: string, help: string, value: number, aggregator: 'sum' | 'max' = 'sum'): MetricJson {
  return {name, help, type: 'gauge', aggregator, values: [{labels: {}, value}]};
}
