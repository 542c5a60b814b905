/**
 * Metrics that only the supervisor knows: workers, wakes, crashes, tenants. The page adds them to those of other
 * processes.
 */
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {Metrics} from '../../shared/metrics/metrics.ts';
import {SUPERVISOR_METRICS} from '../../shared/metrics/supervisor-metrics.ts';
import {PROCESS_KINDS, type ProcessKind} from '../../shared/process-kinds.ts';
import {BUILD, VERSION} from '../../shared/version.ts';
import type {SandboxLayer} from '../confinement/layers.ts';
import {PROCESSES_POLL_MS} from '../limits.ts';
import {KILL_REASONS, type KillReason} from '../processes/child.ts';
import {ProcessUse, type UseByKind} from '../processes/process-use.ts';
import type {Lifecycle} from '../tenants/lifecycle-states.ts';

const STATES = [
  ...['acquiring', 'remote', 'queued', 'waking', 'awake', 'releasing', 'moving', 'handing_over', 'closing'],
  ...['resting', 'deleting'],
] as const;

/** Read when metrics are requested. */
export type Gauges = {
  tenants: () => number;
  spares: () => number;
  isUnwritable: () => boolean;
  /** States of tenants that are not asleep; the rest sleep. */
  states: () => Iterable<Lifecycle['state']>;
  /** Children, by pid. */
  children: () => ReadonlyMap<number, ProcessKind>;
};

export class SupervisorMetrics extends Metrics<typeof SUPERVISOR_METRICS> {
  readonly #gauges: Gauges;
  readonly #use = new ProcessUse();
  /** CPU time until the last poll. */
  readonly #cpuMs = Object.fromEntries(PROCESS_KINDS.map(kind => [kind, 0])) as Record<ProcessKind, number>;
  #polledMs = 0;
  /** CPU time of each kind per elapsed time, over a window of at least PROCESSES_POLL_MS once there has been one. */
  #shares: ProcessesNow['shares'] | null = null;
  #window = {sinceMs: performance.now(), cpuMs: {...this.#cpuMs}};
  #last: Promise<ProcessesNow> | null = null;

  constructor(sandboxLayers: readonly SandboxLayer[], gauges: Gauges) {
    super(SUPERVISOR_METRICS);
    this.#gauges = gauges;
    this.measure('svc_wall', () => sandboxLayers.map(({name, missing}) => [{wall: name}, missing === null ? 1 : 0]));
    this.measure('svc_build_info', () => [[{version: VERSION, build: BUILD, node: process.versions.node}, 1]]);
    this.measure('svc_tenants', gauges.tenants);
    this.measure('svc_spare_workers', gauges.spares);
    this.measure('svc_data_unwritable', () => (gauges.isUnwritable() ? 1 : 0));
    this.measure('svc_workers', () => {
      const states = [...gauges.states()];
      return STATES.map(state => [{state}, states.filter(each => each === state).length]);
    });
    for (const process of SUPERVISOR_METRICS.svc_process_deaths_total.from)
      for (const reason of KILL_REASONS) this.series('svc_process_kills_total', {process, reason});
  }

  async json(): Promise<MetricJson[]> {
    const {use} = await this.#next();
    this.measure('svc_process_resident_bytes', () => PROCESS_KINDS.map(kind => [{kind}, use[kind].residentBytes]));
    return this.report();
  }

  /** Of the last poll, unless that is too old. */
  processes(): Promise<ProcessesNow> {
    const isOld = performance.now() - this.#polledMs >= PROCESSES_POLL_MS;
    return this.#last === null || isOld ? this.#next() : this.#last;
  }

  /** One after the other: each counts the CPU time since the one before. One that fails is not kept. */
  #next(): Promise<ProcessesNow> {
    const poll = (this.#last ?? Promise.resolve()).then(
      () => this.#poll(),
      () => this.#poll(),
    );
    this.#last = poll;
    poll.catch(() => {
      if (this.#last === poll) this.#last = null;
    });
    return poll;
  }

  /** Processes that the supervisor ended, of all kinds. */
  kills(): Record<KillReason, number> {
    const ended = Object.fromEntries(KILL_REASONS.map(reason => [reason, 0])) as Record<KillReason, number>;
    for (const process of SUPERVISOR_METRICS.svc_process_deaths_total.from)
      for (const reason of KILL_REASONS) {
        ended[reason] += this.series('svc_process_kills_total', {process, reason}).value;
      }
    return ended;
  }

  async #poll(): Promise<ProcessesNow> {
    const use = await this.#use.poll(this.#gauges.children());
    for (const kind of PROCESS_KINDS) {
      this.#cpuMs[kind] += use[kind].cpuMs;
      this.add('svc_process_cpu_seconds_total', use[kind].cpuMs / 1000, {kind});
    }
    this.#polledMs = performance.now();
    return {use, shares: this.#sharesNow(), cpuMs: {...this.#cpuMs}};
  }

  /** A scrape of a moment ago does not make them shares of a moment. */
  #sharesNow(): ProcessesNow['shares'] {
    const {sinceMs, cpuMs} = this.#window;
    const windowMs = this.#polledMs - sinceMs;
    if (this.#shares !== null && windowMs < PROCESSES_POLL_MS) return this.#shares;
    const shareOf = (kind: ProcessKind) => (windowMs > 0 ? (this.#cpuMs[kind] - cpuMs[kind]) / windowMs : 0);
    this.#shares = Object.fromEntries(PROCESS_KINDS.map(kind => [kind, shareOf(kind)])) as ProcessesNow['shares'];
    this.#window = {sinceMs: this.#polledMs, cpuMs: {...this.#cpuMs}};
    return this.#shares;
  }
}

/** `shares`: CPU time per elapsed time, of late; `cpuMs`: since the start. */
export type ProcessesNow = {
  use: UseByKind;
  shares: Record<ProcessKind, number>;
  cpuMs: Record<ProcessKind, number>;
};
