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
import type {ChildEnd, KillReason} from './child.ts';
import type {KillRate} from './kill-rate.ts';
import {type OwnOf, RestartedChild} from './restarted-child.ts';

type HostState = Extract<SupervisorToRouter, {type: 'host_state'}>;
export type Listening = Extract<RouterToSupervisor, {type: 'listening'}>;
/** Messages of a router that are not about the router itself. */
export type RouterMessage = Exclude<OwnOf<RouterToSupervisor>, {type: 'listening' | 'listen_failed' | 'synced'}>;

export type RouterOptions = {
  entry: string;
  env: Record<string, string>;
  /** The command in front of its executable. */
  confinement: readonly string[];
  settings: RouterSettings;
  state: () => RouterState;
  /** Sent after `start`; null: nothing. */
  hostState: () => HostState | null;
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
  readonly #child: RestartedChild<SupervisorToRouter, OwnOf<RouterToSupervisor>>;
  /** Set until the first router listens or fails to listen. */
  #starting: {resolve: (listening: Listening) => void; reject: (error: StartError) => void} | null = null;
  readonly #syncs = new Answers<true>();
  #onDrained: (() => void) | null = null;

  constructor(options: RouterOptions) {
    this.#options = options;
    this.#settings = options.settings;
    const {confinement, entry, env, log, rate, onKill} = options;
    this.#child = new RestartedChild<SupervisorToRouter, OwnOf<RouterToSupervisor>>({
      ...{kind: 'router', confinement, entry, env, log, rate, onKill},
      fields: () => ({place: this.#settings.place}),
      onStart: () => {
        this.#child.send({type: 'start', settings: this.#settings, ...options.state()});
        const hostState = options.hostState();
        if (hostState !== null) this.#child.send(hostState);
      },
      onMessage: message => this.#received(message),
      onEnd: (isUnexpected, end) => this.#ended(isUnexpected, end),
    });
  }

  /** Resolves when the first router listens. @throws StartError when it cannot listen */
  start(): Promise<Listening> {
    return new Promise((resolve, reject) => {
      this.#starting = {resolve, reject};
      this.#child.start();
    });
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#child.pid;
  }

  /** @returns false when the router is not running */
  send(message: SupervisorToRouter): boolean {
    return this.#child.send(message);
  }

  /** Resolves when it has applied everything sent to it so far, or has ended. */
  async settled(): Promise<void> {
    await this.#syncs.ask(null, id => {
      if (!this.send({type: 'sync', id})) this.#syncs.settle(id, null);
    });
  }

  /** Its metrics; null: it is not running, or does not answer in time. */
  report(): Promise<MetricJson[] | null> {
    return this.#child.report();
  }

  /** Lets it finish requests under way, within limits. Resolves when it has ended; it is not restarted. */
  drain(): Promise<void> {
    return new Promise(resolve => {
      this.#onDrained = resolve;
      if (!this.#child.send({type: 'drain'})) resolve();
      this.#child.close(ROUTER_DRAIN_MS);
    });
  }

  kill(): void {
    this.#child.close();
  }

  #received(message: OwnOf<RouterToSupervisor>): void {
    switch (message.type) {
      case 'listening':
        this.#child.serves();
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
      default:
        this.#options.onMessage(message);
    }
  }

  #ended(isUnexpected: boolean, end: ChildEnd): void {
    this.#syncs.end();
    this.#onDrained?.();
    if (this.#starting !== null) {
      this.#starting.reject(new StartError(`the router ended while it started (${describe(end)}); the log says why`));
      this.#starting = null;
      this.#child.close();
      return;
    }
    if (isUnexpected) this.#options.onEnd();
  }
}

function settingsAt(settings: RouterSettings, {port, metricsPort, dashboardPort}: Listening): RouterSettings {
  const dashboard = settings.dashboard === null ? null : {...settings.dashboard, port: dashboardPort};
  return {...settings, port, metricsPort, dashboard};
}

function describe({code, signal}: ChildEnd): string {
  return signal === null ? `exit code ${code}` : signal;
}
