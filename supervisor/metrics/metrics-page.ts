/**
 * The metrics page: the sum of the metrics of all routers, all workers and the supervisor, whichever router was
 * scraped. Each process has METRICS_TIMEOUT_MS to report. A worker that does not is omitted and counted, so a stuck one
 * is visible instead of hiding the rest.
 *
 * Counters never decrease when a process ends: for each router index, and for the egress process, the page retains the
 * counts that earlier processes last reported; for workers, see `worker-metric-sums.ts`. A process that does not report is
 * shown with its last metrics. All processes report every METRICS_REPORT_MS, even without scrapes, so a killed process
 * loses at most the counts of that time.
 */
import {AggregatorRegistry} from 'prom-client';
import {EgressMetrics} from '../../shared/metrics/egress-metrics.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import {PAGE_METRICS} from '../../shared/metrics/supervisor-metrics.ts';
import {METRICS_REPORT_MS} from '../limits.ts';
import {type Reporter, WorkerMetricSums} from '../tenants/worker-metric-sums.ts';
import {countsOf, sumOfCounts} from './metric-sums.ts';

export type Reporters = {
  /** By router index; null: no answer. */
  routers: () => Promise<MetricJson[] | null>[];
  /** Of workers that serve. The text is a report as JSON. */
  workers: () => {worker: Reporter; report: Promise<string | null>}[];
  /** Null: it is not running, or does not answer. */
  egress: () => Promise<MetricJson[] | null>;
  supervisor: () => Promise<MetricJson[]>;
};

type Taken = {shown: MetricJson[][]; missing: number};

export class MetricsPage {
  readonly #reporters: Reporters;
  readonly #workers = new WorkerMetricSums();
  /** The last report of each router. */
  readonly #last: MetricJson[][] = [];
  /** Counts of routers and egress processes that have ended. */
  #ended: MetricJson[] = [];
  /** The last report of the egress process, which is zero if the process was never needed. */
  #lastOfEgress: MetricJson[] = new EgressMetrics().report();
  readonly #own = new Metrics(PAGE_METRICS);
  #taking: Promise<Taken> | null = null;
  readonly #timer: NodeJS.Timeout;

  /** @param failed called when a report that nothing waits for fails */
  constructor(reporters: Reporters, failed: (error: unknown) => void) {
    this.#reporters = reporters;
    this.#timer = setInterval(() => void this.#taken().catch(failed), METRICS_REPORT_MS).unref();
  }

  /** Prometheus text. Overlapping scrapes share one report. */
  async render(): Promise<string> {
    const taken = await this.#taken();
    this.#own.add('svc_metrics_missing_total', taken.missing);
    taken.missing = 0; // Counted once, however many scrapes share the report.
    return AggregatorRegistry.aggregate([...taken.shown, this.#own.report()]).metrics();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Rounds of reports do not overlap, because an older report would decrease counters. */
  #taken(): Promise<Taken> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = null;
    });
    return this.#taking;
  }

  /** The router with this index has ended; its replacement counts from 0. */
  routerEnded(place: number): void {
    const last = this.#last[place];
    if (last !== undefined) this.#ended = sumOfCounts(this.#ended, last);
    delete this.#last[place];
  }

  /** The egress process has ended; its replacement counts from 0. */
  egressEnded(): void {
    this.#ended = sumOfCounts(this.#ended, this.#lastOfEgress);
    this.#lastOfEgress = new EgressMetrics().report();
  }

  /** @param lastReport the report it sent as it closed; null: none */
  workerEnded(worker: Reporter, lastReport: string | null): void {
    this.#workers.ended(worker, lastReport);
  }

  /** The number of documents, as last reported; null: no worker of the tenant has reported. */
  documentsOf(tenant: string): number | null {
    return this.#workers.documentsOf(tenant);
  }

  /** Reads that found damaged data, as last reported. */
  damage(): number {
    return this.#workers.sumOf('svc_storage_damage_total');
  }

  tenantDeleted(tenant: string): void {
    this.#workers.forget(tenant);
  }

  async #take(): Promise<Taken> {
    const {routers, workers, egress, supervisor} = this.#reporters;
    const [ofRouters, ofWorkers, ofEgress, own] = await Promise.all([
      Promise.all(routers()),
      Promise.all(workers().map(async ({worker, report}) => ({worker, text: await report}))),
      egress(),
      supervisor(),
    ]);
    this.#lastOfEgress = ofEgress ?? this.#lastOfEgress;
    let missing = 0;
    const shown: MetricJson[][] = [own, this.#ended, this.#lastOfEgress];
    for (const [place, report] of ofRouters.entries()) {
      if (report !== null) this.#last[place] = report;
      else missing++;
      const last = report ?? countsOf(this.#last[place] ?? []);
      shown.push(last);
    }
    for (const {worker, text} of ofWorkers) {
      const report = this.#workers.taken(worker, text);
      if (report === null) missing++;
      shown.push(report ?? this.#workers.known(worker));
    }
    shown.push(...this.#workers.kept());
    return {shown, missing};
  }
}
