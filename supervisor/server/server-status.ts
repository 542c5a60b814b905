/** The state of the whole server, for operators: GET /api/server. Routers report on request, workers by themselves. */
import {availableParallelism, loadavg, totalmem} from 'node:os';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import type {ROUTER_METRICS} from '../../shared/metrics/router-metrics.ts';
import {PROCESS_KINDS} from '../../shared/process-kinds.ts';
import type {ServerProcesses, ServerRouter, ServerStatus} from '../../shared/protocol/server.ts';
import {BUILD, VERSION} from '../../shared/version.ts';
import type {SandboxLayer} from '../confinement/layers.ts';
import type {ProcessesNow} from '../metrics/metrics.ts';
import type {DiskUse} from './disk-use.ts';
import {layersShown} from './layer-texts.ts';
import {type Counts, warningsOf} from './warnings.ts';

export type ServerStatusParts = {
  layers: readonly SandboxLayer[];
  settings: () => ServerStatus['settings'];
  disk: DiskUse;
  tenants: () => ServerStatus['tenants'];
  processes: () => Promise<ProcessesNow>;
  /** By router index; null: no answer. */
  routers: () => Promise<MetricJson[] | null>[];
  counts: () => Counts;
  now: () => number;
};

export class ServerState {
  readonly #parts: ServerStatusParts;

  constructor(parts: ServerStatusParts) {
    this.#parts = parts;
  }

  async status(): Promise<ServerStatus> {
    const {layers, settings, disk, tenants, processes, routers, counts, now} = this.#parts;
    const [measured, polled, reports] = await Promise.all([disk.measured(), processes(), Promise.all(routers())]);
    const uptime = process.uptime();
    const shown = {
      host: hostNow(),
      disk: measured,
      tenants: tenants(),
      processes: processesShown(polled),
      routers: reports.map(routerShown),
      sandbox_layers: layersShown(layers),
      settings: settings(),
    };
    return {
      ...{version: VERSION, build: BUILD, node: process.versions.node},
      ...{started_at: Math.round(now() - uptime * 1_000), uptime_seconds: Math.floor(uptime)},
      warnings: warningsOf(shown, counts()),
      ...shown,
    };
  }
}

/** In a container, its limit counts instead of the machine's memory. */
function hostNow(): ServerStatus['host'] {
  const constrained = process.constrainedMemory();
  const all = totalmem();
  return {
    platform: process.platform,
    cores: availableParallelism(),
    load: loadavg()[0]!,
    memory_bytes: constrained > 0 && constrained < all ? constrained : all,
    memory_available_bytes: process.availableMemory(),
  };
}

function processesShown({use, shares, cpuMs}: ProcessesNow): ServerProcesses[] {
  return PROCESS_KINDS.filter(kind => use[kind].count > 0 || cpuMs[kind] > 0).map(kind => ({
    kind,
    count: use[kind].count,
    private_bytes: use[kind].privateBytes,
    resident_bytes: use[kind].residentBytes,
    cpu: shares[kind],
    cpu_seconds: cpuMs[kind] / 1_000,
  }));
}

function routerShown(report: MetricJson[] | null, router: number): ServerRouter {
  const sum = (metric: keyof typeof ROUTER_METRICS) =>
    report?.find(({name}) => name === metric)?.values.reduce((total, {value}) => total + value, 0) ?? 0;
  return {
    router,
    is_answering: report !== null,
    requests: sum('svc_router_requests_total'),
    requests_in_flight: sum('svc_http_requests_in_flight'),
    waiting_requests: sum('svc_router_waiting_requests'),
    sockets: sum('svc_socket_connections'),
    function_sockets: sum('svc_function_sockets'),
    worker_connections: sum('svc_router_links'),
    buffered_bytes: sum('svc_router_held_bytes'),
    event_loop_delay_ms: sum('svc_router_event_loop_lag_seconds') * 1_000,
  };
}
