/**
 * The metrics of a process, from a table that declares each of them once: its type, help text, labels and buckets.
 * Counting looks a series up by the values of its labels; code on a hot path looks it up once and keeps it. The report
 * has the form of prom-client, which only the supervisor loads: its start-up time and memory would be paid per worker.
 */
import {Histogram, type MetricJson} from './metric-json.ts';

export type MetricShape = {
  type: MetricJson['type'];
  help: string;
  /** Default: `sum`. */
  aggregator?: MetricJson['aggregator'];
  /** Default: none. */
  labels?: readonly string[];
  /** Values of the only label that alarms and rates depend on: these series exist with 0 from the start. */
  from?: readonly string[];
  /** Upper bounds of the buckets of a histogram, rising. */
  buckets?: readonly number[];
};
export type MetricTable = Readonly<Record<string, MetricShape>>;

type Names<T extends MetricTable, K extends MetricShape['type']> = {
  [N in keyof T & string]: T[N]['type'] extends K ? N : never;
}[keyof T & string];
type Labels<S extends MetricShape> = S extends {labels: readonly (infer L extends string)[]}
  ? Record<L, string | number>
  : never;
/** Labels as the last argument, for metrics that have some. */
type Rest<S extends MetricShape> = S extends {labels: readonly string[]} ? [labels: Labels<S>] : [labels?: undefined];
/** A series of a counter or a gauge. */
export type Series = MetricJson['values'][number];
type Measured<S extends MetricShape> = S extends {labels: readonly string[]}
  ? Iterable<readonly [labels: Labels<S>, value: number]>
  : number;
type AnyLabels = Record<string, string | number>;

export class Metrics<T extends MetricTable> {
  readonly #families: ReadonlyMap<string, Family>;

  constructor(table: T) {
    this.#families = new Map(Object.entries(table).map(([name, shape]) => [name, new Family(name, shape)]));
  }

  /** Adds 1. */
  count<N extends Names<T, 'counter'>>(name: N, ...[labels]: Rest<T[N]>): void {
    this.#families.get(name)!.series(labels).value++;
  }

  add<N extends Names<T, 'counter'>>(name: N, amount: number, ...[labels]: Rest<T[N]>): void {
    this.#families.get(name)!.series(labels).value += amount;
  }

  observe<N extends Names<T, 'histogram'>>(name: N, value: number, ...[labels]: Rest<T[N]>): void {
    this.#families.get(name)!.histogram(labels).observe(value);
  }

  /** The series of a counter, to add to it without looking it up. */
  series<N extends Names<T, 'counter'>>(name: N, ...[labels]: Rest<T[N]>): Series {
    return this.#families.get(name)!.series(labels);
  }

  /** The series of a histogram, to observe values without looking it up. */
  histogram<N extends Names<T, 'histogram'>>(name: N, ...[labels]: Rest<T[N]>): Histogram {
    return this.#families.get(name)!.histogram(labels);
  }

  /** @param read called for each report; the metric has no series but those it returns */
  measure<N extends Names<T, 'counter' | 'gauge'>>(name: N, read: () => Measured<T[N]>): void {
    this.#families.get(name)!.read = read as () => Measured<MetricShape>;
  }

  report(): MetricJson[] {
    return [...this.#families.values()].map(family => family.json());
  }
}

class Family {
  readonly #name: string;
  readonly #shape: MetricShape;
  readonly #labels: readonly string[];
  readonly #series = new Map<string | number, Series>();
  readonly #histograms = new Map<string | number, {labels: AnyLabels; histogram: Histogram}>();
  read: (() => number | Iterable<readonly [AnyLabels, number]>) | null = null;

  constructor(name: string, shape: MetricShape) {
    this.#name = name;
    this.#shape = shape;
    this.#labels = shape.labels ?? [];
    const [first, ...others] = this.#labels;
    let known: AnyLabels[] = [];
    if (first === undefined) known = [{}];
    else if (others.length === 0) known = (shape.from ?? []).map(value => ({[first]: value}));
    for (const labels of known)
      if (shape.type === 'histogram') this.histogram(labels);
      else this.series(labels);
  }

  series(labels: AnyLabels = {}): Series {
    const key = this.#key(labels);
    let series = this.#series.get(key);
    if (series === undefined) {
      series = {labels, value: 0};
      this.#series.set(key, series);
    }
    return series;
  }

  histogram(labels: AnyLabels = {}): Histogram {
    const key = this.#key(labels);
    let entry = this.#histograms.get(key);
    if (entry === undefined) {
      entry = {labels, histogram: new Histogram(this.#shape.buckets ?? [])};
      this.#histograms.set(key, entry);
    }
    return entry.histogram;
  }

  json(): MetricJson {
    const {type, help, aggregator = 'sum'} = this.#shape;
    return {name: this.#name, help, type, aggregator, values: this.#values()};
  }

  #values(): MetricJson['values'] {
    const measured = this.read?.();
    if (typeof measured === 'number') return [{labels: {}, value: measured}];
    if (measured !== undefined) return [...measured].map(([labels, value]) => ({labels, value}));
    if (this.#shape.type !== 'histogram') return [...this.#series.values()].map(series => ({...series}));
    return [...this.#histograms.values()].flatMap(({labels, histogram}) => histogram.values(this.#name, labels));
  }

  #key(labels: AnyLabels): string | number {
    const names = this.#labels;
    if (names.length === 0) return '';
    if (names.length === 1) return labels[names[0]!]!;
    // Without an array, which would cost as much as the rest of the call.
    if (names.length === 2) return `${labels[names[0]!]}\n${labels[names[1]!]}`;
    return names.map(name => labels[name]).join('\n');
  }
}
