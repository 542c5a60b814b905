/**
 * The metrics of the copier over the life of the server, also while it does not run or does not answer: its counts go on,
 * the last success stays, and the age of the oldest commit grows, because nothing says that it was copied.
 */
import {COPIER_METRICS} from '../../shared/metrics/copier-metrics.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import {countsOf, sumOfCounts} from './metric-sums.ts';

const AGE = 'svc_backup_age_seconds';
const SUCCESS = 'svc_backup_last_success_timestamp_seconds';

export class CopierReports {
  readonly #now: () => number;
  /** Gauges of the last report, and when that was. */
  #gauges: MetricJson[];
  #reportedMs: number;
  /** Counts of the process that runs, and of those before. */
  #counts: MetricJson[] = [];
  #ended: MetricJson[] = [];

  /** @param lastSuccessMs of an earlier server; null: never */
  constructor(now: () => number, lastSuccessMs: number | null) {
    this.#now = now;
    this.#reportedMs = now();
    const metrics = new Metrics(COPIER_METRICS);
    metrics.measure(AGE, () => 0);
    metrics.measure(SUCCESS, () => (lastSuccessMs ?? 0) / 1_000);
    this.#gauges = metrics.report().filter(isGauge);
  }

  /** Null: never. */
  get lastSuccessMs(): number | null {
    const seconds = this.#gauges.find(({name}) => name === SUCCESS)?.values[0]?.value ?? 0;
    return seconds === 0 ? null : Math.round(seconds * 1_000);
  }

  /** @param report null: the copier does not run, or did not answer. @returns what is shown */
  taken(report: MetricJson[] | null): MetricJson[] {
    if (report !== null) {
      this.#gauges = report.filter(isGauge);
      this.#counts = countsOf(report);
      this.#reportedMs = this.#now();
    }
    const silentSeconds = report === null ? (this.#now() - this.#reportedMs) / 1_000 : 0;
    return [
      ...this.#gauges.map(gauge => (gauge.name === AGE ? olderBy(gauge, silentSeconds) : gauge)),
      ...sumOfCounts(this.#ended, this.#counts),
    ];
  }

  /** The process has ended. */
  ended(): void {
    this.#ended = sumOfCounts(this.#ended, this.#counts);
    this.#counts = [];
  }
}

function isGauge({type}: MetricJson): boolean {
  return type === 'gauge';
}

function olderBy(gauge: MetricJson, seconds: number): MetricJson {
  return {...gauge, values: gauge.values.map(one => ({...one, value: one.value + seconds}))};
}
