/**
 * The metrics page: the figures of all routers, all workers and the supervisor added up, whichever router was asked. Each
 * process has METRICS_TIMEOUT_MS to report; a worker that does not is left out and counted, so a stuck one shows instead of
 * hiding the rest.
 *
 * What counts up never goes down because a process ended: of each place for a router or the egress process the page keeps what its
 * earlier processes had counted when they last reported, and of workers what `worker-figures.ts` says. One that does not report is
 * shown with its last figures. All report every METRICS_REPORT_MS, whether or not anyone scrapes: a process that is killed takes no more with it.
 */
import {AggregatorRegistry} from 'prom-client';
import {EgressMetrics} from '../../shared/egress/metrics.ts';
import type {MetricJson} from '../../shared/metric-json.ts';
import {METRICS_REPORT_MS} from '../limits.ts';
import {type Reporter, WorkerFigures} from '../tenants/worker-figures.ts';
import {countsOf, sumOfCounts} from './metric-sums.ts';

export type Reporters = {
  /** By place; null: it does not answer. */
  routers: () => Promise<MetricJson[] | null>[];
  /** Those of workers that serve. Text: the JSON of a report. */
  workers: () => {worker: Reporter; report: Promise<string | null>}[];
  /** Null: it is not running, or does not answer. */
  egress: () => Promise<MetricJson[] | null>;
  supervisor: () => Promise<MetricJson[]>;
};

type Taken = {shown: MetricJson[][]; missing: number};

export class MetricsPage {
  readonly #reporters: Reporters;
  readonly #workers = new WorkerFigures();
  /** What each router said last. */
  readonly #last: MetricJson[][] = [];
  /** What routers and egress processes that ended had counted. */
  #ended: MetricJson[] = [];
  /** What the egress process said last; one that was never wanted has counted nothing. */
  #lastOfEgress: MetricJson[] = new EgressMetrics().report(0);
  #missing = 0;
  #taking: Promise<Taken> | null = null;
  readonly #timer: NodeJS.Timeout;

  /** @param failed a report that nobody waits for */
  constructor(reporters: Reporters, failed: (error: unknown) => void) {
    this.#reporters = reporters;
    this.#timer = setInterval(() => void this.#taken().catch(failed), METRICS_REPORT_MS).unref();
  }

  /** Prometheus text. Scrapes that overlap take one report. */
  async render(): Promise<string> {
    const {shown, missing} = await this.#taken();
    this.#missing += missing;
    const missed: MetricJson = {
      name: 'svc_metrics_missing_total',
      help: 'Processes that did not report in time for a scrape.',
      type: 'counter',
      aggregator: 'sum',
      values: [{labels: {}, value: this.#missing}],
    };
    return AggregatorRegistry.aggregate([...shown, [missed]]).metrics();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Reports are taken one round after another: an older one would count down. */
  #taken(): Promise<Taken> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = null;
    });
    return this.#taking;
  }

  /** The router at this place is gone; its next one counts from 0. */
  routerEnded(place: number): void {
    const last = this.#last[place];
    if (last !== undefined) this.#ended = sumOfCounts(this.#ended, last);
    delete this.#last[place];
  }

  /** The egress process is gone; its next one counts from 0. */
  egressEnded(): void {
    this.#ended = sumOfCounts(this.#ended, this.#lastOfEgress);
    this.#lastOfEgress = new EgressMetrics().report(0);
  }

  /** @param lastReport what it reported as it closed; null: it did not */
  workerEnded(worker: Reporter, lastReport: string | null): void {
    this.#workers.ended(worker, lastReport);
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
