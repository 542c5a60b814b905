/**
 * All router processes of the service: one, or several that share the port. Each is started, monitored and restarted by
 * itself. The rest of the supervisor addresses them by index, 0 to n - 1. The first one also has the
 * other listeners: metrics, and --dashboard-port.
 */
import type {RouterSettings, SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {PortClaim} from '../files/port-claim.ts';
import {KillRate} from './kill-rate.ts';
import {type Listening, type RouterMessage, type RouterOptions, RouterProcess} from './router-process.ts';

export type RoutersOptions = Omit<RouterOptions, 'settings' | 'rate' | 'onMessage' | 'onEnd'> & {
  settings: Omit<RouterSettings, 'place'>;
  onMessage: (place: number, message: RouterMessage) => void;
  /** A router ended unexpectedly and will be restarted. */
  onEnd: (place: number) => void;
};

export class Routers {
  readonly #options: RoutersOptions;
  #all: RouterProcess[] = [];
  #claim: PortClaim | null = null;

  constructor(options: RoutersOptions) {
    this.#options = options;
  }

  /** Resolves when all of them listen. @throws StartError when one cannot listen */
  async start(): Promise<Listening> {
    const {host, port, routers} = this.#options.settings;
    if (routers > 1) this.#claim = await PortClaim.take(host, port);
    const settings = {...this.#options.settings, port: this.#claim?.port ?? port};
    // A separate budget: a hung router is killed however many workers were just killed.
    const rate = new KillRate(() => performance.now());
    this.#all = Array.from(
      {length: routers},
      (_, place) =>
        new RouterProcess({
          ...this.#options,
          settings: place === 0 ? {...settings, place} : {...settings, place, ...withoutListeners(settings)},
          rate,
          onMessage: message => this.#options.onMessage(place, message),
          onEnd: () => this.#options.onEnd(place),
        }),
    );
    const listening = await Promise.all(this.#all.map(router => router.start()));
    await this.#claim?.routersListen();
    return listening[0]!;
  }

  /** @returns false when the router with this index is not running */
  send(place: number, message: SupervisorToRouter): boolean {
    return this.#all[place]?.send(message) ?? false;
  }

  broadcast(message: SupervisorToRouter): void {
    for (const router of this.#all) router.send(message);
  }

  /** Resolves when every router has applied everything sent to it so far, or has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#all.map(router => router.settled()));
  }

  /** Metrics of each router, by index; null: no answer. */
  reports(): Promise<MetricJson[] | null>[] {
    return this.#all.map(router => router.report());
  }

  pids(): number[] {
    return this.#all.flatMap(({pid}) => pid ?? []);
  }

  async drain(): Promise<void> {
    await Promise.all(this.#all.map(router => router.drain()));
    this.#claim?.release();
  }

  kill(): void {
    for (const router of this.#all) router.kill();
  }
}

function withoutListeners({
  dashboard,
}: Pick<RouterSettings, 'dashboard'>): Pick<RouterSettings, 'metricsPort' | 'dashboard'> {
  return {metricsPort: null, dashboard: dashboard === null ? null : {...dashboard, port: null}};
}
