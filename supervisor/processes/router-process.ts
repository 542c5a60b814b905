/**
 * One router process: started, monitored and restarted with growing pauses, on the same port. Workers and other routers
 * keep running while it is down.
 */

import {Answers} from '../../shared/answers.ts';
import type {RouterSettings, RouterState, RouterToSupervisor, SupervisorToRouter} from '../../shared/ipc/control.ts';
import {ROUTER_DRAIN_MS} from '../../shared/limits.ts';
import type {Logger} from '../../shared/log.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {StartError} from '../files/start-error.ts';
import {METRICS_TIMEOUT_MS} from '../limits.ts';
import {Child, type ChildEnd, type KillReason} from './child.ts';
import type {KillRate} from './kill-rate.ts';
import {RestartPauses} from './restart-pause.ts';

export type Listening = Extract<RouterToSupervisor, {type: 'listening'}>;
/** Messages of a router that are not about the router itself. */
export type RouterMessage = Exclude<
  RouterToSupervisor,
  {type: 'listening' | 'listen_failed' | 'synced' | 'metrics' | 'heartbeat'}
>;

export type RouterOptions = {
  entry: string;
  env: Record<string, string>;
  /** The command in front of its executable. */
  confinement: readonly string[];
  settings: RouterSettings;
  state: () => RouterState;
  /** The kill budget that it shares with the other routers. */
  rate: KillRate;
  onMessage: (message: RouterMessage) => void;
  /** It ended unexpectedly and will be restarted. */
  onEnd: () => void;
  onKill: (reason: KillReason) => void;
  log: Logger;
};

export class RouterProcess {
  readonly #options: RouterOptions;
  #settings: RouterSettings;
  #child: Child<SupervisorToRouter, RouterToSupervisor> | null = null;
  /** Set until the first router listens or fails to listen. */
  #starting: {resolve: (listening: Listening) => void; reject: (error: StartError) => void} | null = null;
  readonly #pauses = new RestartPauses();
  readonly #syncs = new Answers<true>();
  readonly #reports = new Answers<MetricJson[]>();
  #onDrained: (() => void) | null = null;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  /** Resolves when the first router listens. @throws StartError when it cannot listen */
  start(): Promise<Listening> {
    return new Promise((resolve, reject) => {
      this.#starting = {resolve, reject};
      this.#spawn();
    });
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** @returns false when the router is not running */
  send(message: SupervisorToRouter): boolean {
    this.#child?.send(message);
    return this.#child !== null;
  }

  /** Resolves when it has applied everything sent to it so far, or has ended. */
  async settled(): Promise<void> {
    await this.#syncs.ask(null, id => {
      if (!this.send({type: 'sync', id})) this.#syncs.settle(id, null);
    });
  }

  /** Its metrics; null: it does not answer in time. */
  report(): Promise<MetricJson[] | null> {
    return this.#reports.ask(METRICS_TIMEOUT_MS, id => {
      if (!this.send({type: 'metrics', id})) this.#reports.settle(id, null);
    });
  }

  /** Lets it finish requests under way, within limits. Resolves when it has ended; it is not restarted. */
  drain(): Promise<void> {
    return new Promise(resolve => {
      this.#onDrained = resolve;
      if (this.#child === null) {
        resolve();
        return;
      }
      this.#child.send({type: 'drain'});
      this.#child.killAfter(ROUTER_DRAIN_MS);
    });
  }

  kill(): void {
    this.#child?.kill();
  }

  #spawn(): void {
    if (this.#onDrained !== null) return;
    this.#pauses.started();
    const child = new Child<SupervisorToRouter, RouterToSupervisor>({
      kind: 'router',
      confinement: this.#options.confinement,
      entry: this.#options.entry,
      nodeFlags: ['--enable-source-maps'],
      env: this.#options.env,
      log: this.#options.log,
      rate: this.#options.rate,
      onKill: this.#options.onKill,
      onMessage: message => this.#received(message),
      onEnd: end => this.#ended(end),
    });
    this.#child = child;
    child.send({type: 'start', settings: this.#settings, ...this.#options.state()});
  }

  #received(message: RouterToSupervisor): void {
    switch (message.type) {
      case 'listening':
        this.#child?.serves();
        // A restarted router uses the same ports, so that clients can reconnect.
        this.#settings = settingsAt(this.#settings, message);
        this.#starting?.resolve(message);
        this.#starting = null;
        return;
      case 'listen_failed':
        if (this.#starting === null) this.#options.log.error('the router cannot listen', {reason: message.message});
        this.#starting?.reject(new StartError(message.message));
        this.#starting = null;
        return;
      case 'synced':
        this.#syncs.settle(message.id, true);
        return;
      case 'metrics':
        this.#reports.settle(message.id, message.report);
        return;
      case 'heartbeat':
        return;
      default:
        this.#options.onMessage(message);
    }
  }

  #ended(end: ChildEnd): void {
    const pid = this.#child?.pid;
    this.#child = null;
    this.#syncs.end();
    this.#reports.end();
    if (this.#onDrained !== null) {
      this.#onDrained();
      return;
    }
    if (this.#starting !== null) {
      this.#starting.reject(new StartError(`the router ended while it started (${describe(end)}); the log says why`));
      this.#starting = null;
      return;
    }
    const pauseMs = this.#pauses.next();
    this.#options.log.error('the router ended; starting it again', {
      pid,
      place: this.#settings.place,
      ...end,
      pauseMs,
    });
    this.#options.onEnd();
    setTimeout(() => this.#spawn(), pauseMs);
  }
}

function settingsAt(settings: RouterSettings, {port, metricsPort, dashboardPort}: Listening): RouterSettings {
  const dashboard = settings.dashboard === null ? null : {...settings.dashboard, port: dashboardPort};
  return {...settings, port, metricsPort, dashboard};
}

function describe({code, signal}: ChildEnd): string {
  return signal === null ? `exit code ${code}` : signal;
}
