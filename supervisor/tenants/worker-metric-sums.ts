/**
 * Metrics of workers, as the supervisor shows them. A report is untrusted input: only the metrics of
 * `worker-metrics.ts` with their own labels are shown, no tenant but the worker's own, no negative values, and no
 * counters that decrease.
 *
 * Counters never decrease when a tenant falls asleep or a worker ends, because their last values are retained. A worker
 * that closes in order sends a last report. Findings of scrubs of sleeping tenants are retained, too.
 */

import {type MetricJson, metricsIn} from '../../shared/metrics/metric-json.ts';
import type {MetricShape} from '../../shared/metrics/metrics.ts';
import {WORKER_METRICS, WorkerMetrics} from '../../shared/metrics/worker-metrics.ts';
import {WORKER_SERIES_KEPT_MAX, WORKER_SERIES_MAX} from '../limits.ts';
import {countsOf, seriesOf, sumOfCounts} from '../metrics/metric-sums.ts';

/** One worker with a tenant. */
export type Reporter = {tenant: string};
type Value = MetricJson['values'][number];

const FINDINGS = 'svc_scrub_findings';
const DOCUMENTS = 'svc_documents';
const LABEL_CHARS_MAX = 200;

export class WorkerMetricSums {
  readonly #last = new Map<Reporter, MetricJson[]>();
  /** Counts of workers that have ended. */
  #ended: MetricJson[] = [];
  /** Findings by tenant, for sleeping tenants. */
  readonly #findings = new Map<string, number>();
  /** Documents by tenant, as last reported. */
  readonly #documents = new Map<string, number>();

  /**
   * @param text a report as JSON; null: the worker does not answer in time.
   * @returns the metrics to show, or null: a protocol violation
   */
  taken(worker: Reporter, text: string | null): MetricJson[] | null {
    const last = this.#last.get(worker);
    const report = text === null ? null : reportIn(text, worker.tenant);
    if (report === null || (last !== undefined && countsDown(last, report))) return null;
    this.#last.set(worker, report);
    this.#findings.delete(worker.tenant);
    const documents = firstOf(report, DOCUMENTS);
    if (documents !== undefined) this.#documents.set(worker.tenant, Math.max(0, Math.floor(documents)));
    return report;
  }

  /** The last metrics of a worker that did not report. */
  known(worker: Reporter): MetricJson[] {
    return countsOf(this.#last.get(worker) ?? []);
  }

  /** @param text the worker's last report; null: none */
  ended(worker: Reporter, text: string | null): void {
    this.taken(worker, text);
    const last = this.#last.get(worker);
    this.#last.delete(worker);
    if (last === undefined) return;
    this.#ended = sumOfCounts(this.#ended, last, WORKER_SERIES_KEPT_MAX);
    const findings = firstOf(last, FINDINGS) ?? 0;
    if (findings > 0) this.#findings.set(worker.tenant, findings);
  }

  /** The tenant is deleted. */
  forget(tenant: string): void {
    this.#findings.delete(tenant);
    this.#documents.delete(tenant);
    this.#ended = this.#ended.map(metric => ({
      ...metric,
      values: metric.values.filter(({labels}) => labels.tenant !== tenant),
    }));
  }

  /** Null: no worker of it has reported. */
  documentsOf(tenant: string): number | null {
    return this.#documents.get(tenant) ?? null;
  }

  /** The sum of a counter over all workers, of ended ones, too. */
  sumOf(metric: keyof typeof WORKER_METRICS): number {
    const reports = [this.#ended, ...this.#last.values()];
    const values = reports.flatMap(report => report.find(({name}) => name === metric)?.values ?? []);
    return values.reduce((sum, {value}) => sum + value, 0);
  }

  /** Metrics of ended workers, and every metric with 0. */
  kept(): MetricJson[][] {
    const findings = [...this.#findings.values()].reduce((sum, each) => sum + each, 0);
    const zero = new WorkerMetrics();
    zero.measure(FINDINGS, () => findings);
    return [this.#ended, zero.report()];
  }
}

function firstOf(report: readonly MetricJson[], metric: string): number | undefined {
  return report.find(({name}) => name === metric)?.values[0]?.value;
}

/** Null: a protocol violation. Metrics that this build does not know are omitted. */
function reportIn(text: string, tenant: string): MetricJson[] | null {
  const said = metricsIn(text);
  if (said === null) return null;
  const report: MetricJson[] = [];
  let series = 0;
  for (const {name, values} of said) {
    if (!Object.hasOwn(WORKER_METRICS, name)) continue;
    const shape: MetricShape = WORKER_METRICS[name as keyof typeof WORKER_METRICS];
    series += values.length;
    if (series > WORKER_SERIES_MAX || !values.every(value => isValueOf(name, shape, value, tenant))) return null;
    const {type, help, aggregator = 'sum'} = shape;
    report.push({name, type, help, aggregator, values});
  }
  return report;
}

function isValueOf(name: string, {type, labels = []}: MetricShape, value: Value, tenant: string): boolean {
  const {metricName} = value;
  const isNamed =
    type === 'histogram'
      ? [`${name}_bucket`, `${name}_sum`, `${name}_count`].includes(metricName ?? '')
      : metricName === undefined;
  const isNumber = Number.isFinite(value.value) && (type === 'gauge' || value.value >= 0);
  const areLabels = Object.entries(value.labels).every(
    ([label, its]) =>
      (labels.includes(label) || (label === 'le' && type === 'histogram')) &&
      String(its).length <= LABEL_CHARS_MAX &&
      (label !== 'tenant' || its === tenant),
  );
  return isNamed && isNumber && areLabels;
}

function countsDown(before: readonly MetricJson[], now: readonly MetricJson[]): boolean {
  const counts = new Map(now.map(metric => [metric.name, new Map(metric.values.map(it => [seriesOf(it), it.value]))]));
  return countsOf(before).some(({name, values}) =>
    values.some(value => (counts.get(name)?.get(seriesOf(value)) ?? 0) < value.value),
  );
}
