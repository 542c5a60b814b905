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

/** How many values were up to each bound, their sum and their count; prom-client's form only when it is asked for. */
export class Histogram {
  readonly #bounds: readonly number[];
  /** Of values above the bound before; the last is for what is above all. */
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

  get isEmpty(): boolean {
    return this.#counts.every(count => count === 0);
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

  json(name: string, help: string): MetricJson {
    return {name, help, type: 'histogram', aggregator: 'sum', values: this.values(name)};
  }
}
