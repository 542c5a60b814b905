/**
 * Metrics that only the supervisor knows: workers, wakes, crashes, tenants. The page adds them to those of other
 * processes.
 */
import {Counter, Gauge, Histogram, Registry} from 'prom-client';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {BUILD, VERSION} from '../../shared/version.ts';
import type {SandboxLayer} from '../confinement/layers.ts';
import {KILL_REASONS, type KillReason} from '../processes/child.ts';
import {PROCESS_KINDS, type ProcessKind, ProcessUse} from '../processes/process-use.ts';
import type {Lifecycle} from '../tenants/lifecycle.ts';

const STATES = ['queued', 'waking', 'awake', 'releasing', 'moving', 'closing', 'resting', 'deleting'] as const;
const PROCESSES = ['router', 'worker', 'egress'] as const;
type Child = (typeof PROCESSES)[number];
type ShownState = (typeof STATES)[number];

/** Read when metrics are requested. */
export type Gauges = {
  tenants: number;
  spares: number;
  isUnwritable: boolean;
  /** States of tenants that are not asleep; the rest sleep. */
  states: Iterable<Lifecycle['state']>;
  /** Children, by pid. */
  children: ReadonlyMap<number, ProcessKind>;
};

export class SupervisorMetrics {
  readonly #registry = new Registry();
  readonly #gauges: () => Gauges;
  readonly #wakeSeconds: Histogram<'kind'>;
  readonly #wakeFailures: Counter;
  readonly #crashes: Counter<'process'>;
  readonly #kills: Counter<'process' | 'reason'>;
  readonly #refusalsUnrecorded: Counter;
  readonly #tenants: Gauge;
  readonly #spares: Gauge;
  readonly #unwritable: Gauge;
  readonly #workers: Gauge<'state'>;
  readonly #use = new ProcessUse();
  readonly #residentBytes: Gauge<'kind'>;
  readonly #cpuSeconds: Counter<'kind'>;

  constructor(sandboxLayers: readonly SandboxLayer[], gauges: () => Gauges) {
    this.#gauges = gauges;
    const registers = [this.#registry];
    const wall = new Gauge({
      name: 'svc_wall',
      help: 'Sandbox layers around workers: 1 where the layer is active, 0 where this machine does not provide it',
      labelNames: ['wall'],
      registers,
    });
    for (const {name, missing} of sandboxLayers) wall.set({wall: name}, missing === null ? 1 : 0);
    new Gauge({
      name: 'svc_build_info',
      help: 'The version and build of this server, and of its Node, as labels; always 1',
      labelNames: ['version', 'build', 'node'],
      registers,
    }).set({version: VERSION, build: BUILD, node: process.versions.node}, 1);
    this.#wakeSeconds = new Histogram({
      name: 'svc_wake_seconds',
      help: 'Time from taking a worker for a tenant until it serves, by whether it was a spare or a new process',
      labelNames: ['kind'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    this.#wakeFailures = new Counter({
      name: 'svc_wake_failures_total',
      help: 'Wakes of tenants that failed to bring up a worker',
      registers,
    });
    this.#crashes = new Counter({
      name: 'svc_process_deaths_total',
      help: 'Processes that ended without being told to, by kind',
      labelNames: ['process'],
      registers,
    });
    this.#kills = new Counter({
      name: 'svc_process_kills_total',
      help: 'Processes that the supervisor killed, by reason: hung, too much memory, or a protocol violation',
      labelNames: ['process', 'reason'],
      registers,
    });
    this.#refusalsUnrecorded = new Counter({
      name: 'svc_refusals_unrecorded_total',
      help: 'Refused requests that were counted only, because the log of refusals records a limited number of kinds per minute.',
      registers,
    });
    this.#tenants = new Gauge({name: 'svc_tenants', help: 'Tenants that exist', registers});
    this.#spares = new Gauge({name: 'svc_spare_workers', help: 'Started workers without a tenant', registers});
    this.#unwritable = new Gauge({
      name: 'svc_data_unwritable',
      help: '1 after the disk did not take the last change of the registry, though it is not full: changes are refused',
      registers,
    });
    this.#workers = new Gauge({
      name: 'svc_workers',
      help: 'Tenants by the state of their worker; tenants asleep are not counted',
      labelNames: ['state'],
      registers,
    });
    this.#residentBytes = new Gauge({
      name: 'svc_process_resident_bytes',
      help: 'Resident memory of the processes of the server, by kind; a shared page counts once per process',
      labelNames: ['kind'],
      registers,
    });
    this.#cpuSeconds = new Counter({
      name: 'svc_process_cpu_seconds_total',
      help: 'CPU time of the processes of the server, by kind, as of their last scrape',
      labelNames: ['kind'],
      registers,
    });
    for (const kind of ['spare', 'cold']) this.#wakeSeconds.zero({kind});
    for (const process of PROCESSES) {
      this.#crashes.inc({process}, 0);
      for (const reason of KILL_REASONS) this.#kills.inc({process, reason}, 0);
    }
  }

  woke(kind: 'spare' | 'cold', seconds: number): void {
    this.#wakeSeconds.observe({kind}, seconds);
  }

  wakeFailed(): void {
    this.#wakeFailures.inc();
  }

  died(process: Child): void {
    this.#crashes.inc({process});
  }

  killed(process: Child, reason: KillReason): void {
    this.#kills.inc({process, reason});
  }

  refusalsUnrecorded(requests: number): void {
    this.#refusalsUnrecorded.inc(requests);
  }

  async json(): Promise<MetricJson[]> {
    const {tenants, spares, isUnwritable, states, children} = this.#gauges();
    const use = await this.#use.poll(children);
    for (const kind of PROCESS_KINDS) {
      this.#residentBytes.set({kind}, use[kind].residentBytes);
      this.#cpuSeconds.inc({kind}, use[kind].cpuMs / 1000);
    }
    this.#unwritable.set(isUnwritable ? 1 : 0);
    this.#tenants.set(tenants);
    this.#spares.set(spares);
    for (const state of STATES) this.#workers.set({state}, 0);
    for (const state of states) if (isShown(state)) this.#workers.inc({state});
    return (await this.#registry.getMetricsAsJSON()) as unknown as MetricJson[];
  }
}

function isShown(state: Lifecycle['state']): state is ShownState {
  return (STATES as readonly string[]).includes(state);
}
