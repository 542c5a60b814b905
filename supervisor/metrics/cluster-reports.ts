/**
 * The metrics of the cluster process over the life of the server: its counts go on while it does not run or does not
 * answer, and its gauges are 0 then, because such a host has no lease and no connection.
 */
import {CLUSTER_METRICS} from '../../shared/metrics/cluster-metrics.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import {countsOf, sumOfCounts} from './metric-sums.ts';

const NONE = new Metrics(CLUSTER_METRICS).report().filter(({type}) => type === 'gauge');

export class ClusterReports {
  /** Counts of the process that runs, and of those before. */
  #counts: MetricJson[] = [];
  #ended: MetricJson[] = [];

  /** @param report null: the process does not run, or did not answer. @returns what is shown */
  taken(report: MetricJson[] | null): MetricJson[] {
    if (report !== null) this.#counts = countsOf(report);
    const gauges = report?.filter(({type}) => type === 'gauge') ?? NONE;
    return [...gauges, ...sumOfCounts(this.#ended, this.#counts)];
  }

  /** The process has ended. */
  ended(): void {
    this.#ended = sumOfCounts(this.#ended, this.#counts);
    this.#counts = [];
  }
}
