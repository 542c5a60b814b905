/**
 * The metrics page: the figures of all routers, all workers and the supervisor added up, whichever router was asked. Each
 * process has METRICS_TIMEOUT_MS to report; a worker that does not is left out and counted, so a stuck one shows instead of
 * hiding the rest.
 *
 * What counts up never goes down because a process ended: of each place for a router or the egress process the page keeps what its
 * earlier processes had counted when they were last shown, and of workers what `worker-figures.ts` says. One that does not report is
 * shown with its last figures.
 */
import {AggregatorRegistry} from 'prom-client';
import {EgressMetrics} from '../shared/egress/metrics.ts';
import type {MetricJson} from '../shared/metric-json.ts';
import {countsOf, sumOfCounts} from './metric-sums.ts';
import {type Reporter, WorkerFigures} from './worker-figures.ts';

export type Reporters = {
  /** By place; null: it does not answer. */
  routers: () => Promise<MetricJson[] | null>[];
  /** Those of workers that serve. Text: the JSON of a report. */
  workers: () => {worker: Reporter; report: Promise<string | null>}[];
  /** Null: it is not running, or does not answer. */
  egress: () => Promise<MetricJson[] | null>;
  supervisor: () => Promise<MetricJson[]>;
};

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
  #rendering: Promise<string> | null = null;

  constructor(reporters: Reporters) {
    this.#reporters = reporters;
  }

  /** Prometheus text. Scrapes that overlap are one. */
  render(): Promise<string> {
    this.#rendering ??= this.#render().finally(() => {
      this.#rendering = null;
    });
    return this.#rendering;
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

  async #render(): Promise<string> {
    const {routers, workers, egress, supervisor} = this.#reporters;
    const [ofRouters, ofWorkers, ofEgress, own] = await Promise.all([
      Promise.all(routers()),
      Promise.all(workers().map(async ({worker, report}) => ({worker, text: await report}))),
      egress(),
      supervisor(),
    ]);
    this.#lastOfEgress = ofEgress ?? this.#lastOfEgress;
    const shown: MetricJson[][] = [own, this.#ended, this.#lastOfEgress];
    for (const [place, report] of ofRouters.entries()) {
      if (report !== null) this.#last[place] = report;
      else this.#missing++;
      const last = report ?? countsOf(this.#last[place] ?? []);
      shown.push(last);
    }
    for (const {worker, text} of ofWorkers) {
      const report = this.#workers.taken(worker, text);
      if (report === null) this.#missing++;
      shown.push(report ?? this.#workers.known(worker));
    }
    shown.push(...this.#workers.kept());
    shown.push([
      {
        name: 'svc_metrics_missing_total',
        help: 'Processes that did not report in time for a scrape.',
        type: 'counter',
        aggregator: 'sum',
        values: [{labels: {}, value: this.#missing}],
      },
    ]);
    return AggregatorRegistry.aggregate(shown).metrics();
  }
}
