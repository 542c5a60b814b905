/** One metric as prom-client's `getMetricsAsJSON` shows it: the form in which processes exchange them. */
export type MetricJson = {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** How the values of several processes are combined. */
  aggregator: 'sum' | 'max';
  values: {value: number; labels: Record<string, string | number>; metricName?: string}[];
};

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** Parses a report from outside; null if it is not one that could be added to others. */
export function metricsIn(text: string): MetricJson[] | null {
  try {
    const report: unknown = JSON.parse(text);
    return Array.isArray(report) && report.every(isMetric) ? report : null;
  } catch {
    return null;
  }
}

function isMetric(given: unknown): given is MetricJson {
  const {name, help, type, aggregator, values} = fieldsOf(given);
  return (
    isName(name) &&
    typeof help === 'string' &&
    !help.includes('\n') &&
    (type === 'counter' || type === 'gauge' || type === 'histogram') &&
    (aggregator === 'sum' || aggregator === 'max') &&
    Array.isArray(values) &&
    values.every(isValue)
  );
}

function isValue(given: unknown): boolean {
  const {value, labels, metricName} = fieldsOf(given);
  if (typeof value !== 'number' || (metricName !== undefined && !isName(metricName))) return false;
  if (typeof labels !== 'object' || labels === null) return false;
  return Object.entries(labels).every(([name, label]) => isName(name) && /^(string|number)$/.test(typeof label));
}

function isName(given: unknown): given is string {
  return typeof given === 'string' && NAME.test(given);
}

function fieldsOf(given: unknown): Record<string, unknown> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
}

/** Counts of values up to each bound, with their sum and count; converted to prom-client's form only on request. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** Values above the previous bound; the last entry counts those above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds rising */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    this.#sum += value;
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
  }

  values(name: string, labels: Record<string, string | number> = {}): MetricJson['values'] {
    let below = 0;
    const values: MetricJson['values'] = [...this.#bounds, '+Inf'].map((le, i) => {
      below += this.#counts[i]!;
      return {labels: {...labels, le}, value: below, metricName: `${name}_bucket`};
    });
    values.push({labels, value: this.#sum, metricName: `${name}_sum`});
    values.push({labels, value: below, metricName: `${name}_count`});
    return values;
  }
}
