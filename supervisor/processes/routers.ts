/**
 * All router processes of the service: one, or several that share the port. Each is started, watched and replaced by itself;
 * to the rest of the supervisor they are places 0 to n - 1. The first one has the metrics listener, too.
 */
import type {RouterSettings, SupervisorToRouter} from '../../shared/ipc/control.ts';
import type {MetricJson} from '../../shared/metric-json.ts';
import {PortClaim} from '../files/port-claim.ts';
import {KillPace} from './kill-pace.ts';
import {type Listening, type RouterMessage, type RouterOptions, RouterProcess} from './router-process.ts';

export type RoutersOptions = Omit<RouterOptions, 'settings' | 'pace' | 'onMessage' | 'onEnd'> & {
  settings: Omit<RouterSettings, 'place'>;
  onMessage: (place: number, message: RouterMessage) => void;
  /** One ended unasked and will be started again. */
  onEnd: (place: number) => void;
};

export class Routers {
  readonly #options: RoutersOptions;
  #all: RouterProcess[] = [];
  #claim: PortClaim | null = null;

  constructor(options: RoutersOptions) {
    this.#options = options;
  }

  /** Resolves when all of them listen. @throws StartError when one cannot */
  async start(): Promise<Listening> {
    const {host, port, routers} = this.#options.settings;
    if (routers > 1) this.#claim = await PortClaim.take(host, port);
    const settings = {...this.#options.settings, port: this.#claim?.port ?? port};
    // Their own: a router that hangs is killed however many workers just were.
    const pace = new KillPace(() => performance.now());
    this.#all = Array.from(
      {length: routers},
      (_, place) =>
        new RouterProcess({
          ...this.#options,
          settings: {...settings, place, metricsPort: place === 0 ? settings.metricsPort : null},
          pace,
          onMessage: message => this.#options.onMessage(place, message),
          onEnd: () => this.#options.onEnd(place),
        }),
    );
    const listening = await Promise.all(this.#all.map(router => router.start()));
    await this.#claim?.routersListen();
    return listening[0]!;
  }

  /** @returns false when there is no router at this place now */
  send(place: number, message: SupervisorToRouter): boolean {
    return this.#all[place]?.send(message) ?? false;
  }

  broadcast(message: SupervisorToRouter): void {
    for (const router of this.#all) router.send(message);
  }

  /** Resolves when every router has taken all that was sent to it until now, or has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#all.map(router => router.settled()));
  }

  /** What each counts, by place; null: it does not say. */
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
