/**
 * The egress process, one per server: started with the first worker that needs it, monitored, and restarted with
 * growing pauses. A new process gets the grants of all workers, so requests only wait for it.
 *
 *   none ──wanted──▶ running ──ends──▶ pausing ──▶ running      (drained: none, for good)
 */

import {Answers} from '../../shared/answers.ts';
import type {EgressGrant, EgressToSupervisor, SupervisorToEgress} from '../../shared/ipc/egress.ts';
import type {Logger} from '../../shared/log.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {METRICS_TIMEOUT_MS} from '../limits.ts';
import {Child, type ChildEnd, type KillReason} from './child.ts';
import type {KillRate} from './kill-rate.ts';
import {RestartPauses} from './restart-pause.ts';

export type EgressProcessOptions = {
  entry: string;
  /** The command in front of its executable. */
  confinement: readonly string[];
  env: Record<string, string>;
  rate: KillRate;
  /** It ended unexpectedly and will be restarted. */
  onEnd: () => void;
  onKill: (reason: KillReason) => void;
  log: Logger;
};

export class EgressProcess {
  readonly #options: EgressProcessOptions;
  /** By socket path. */
  readonly #grants = new Map<string, EgressGrant>();
  readonly #granted = new Answers<true>();
  readonly #reports = new Answers<MetricJson[]>();
  #child: Child<SupervisorToEgress, EgressToSupervisor> | null = null;
  #pauseTimer: NodeJS.Timeout | null = null;
  #isWanted = false;
  #isClosed = false;
  readonly #pauses = new RestartPauses();

  constructor(options: EgressProcessOptions) {
    this.#options = options;
  }

  /** Starts the process, because connections will be requested soon. */
  want(): void {
    if (this.#isWanted || this.#isClosed) return;
    this.#isWanted = true;
    this.#spawn();
  }

  /** Resolves when the process has this policy, or will get it when it starts. */
  async grant(grant: EgressGrant): Promise<void> {
    this.#grants.set(grant.socketPath, grant);
    await this.#granted.ask(null, id => {
      if (this.#child === null) this.#granted.settle(id, null);
      else this.#child.send({type: 'grant', id, grant});
    });
  }

  revoke(socketPath: string): void {
    this.#grants.delete(socketPath);
    this.#child?.send({type: 'revoke', socketPath});
  }

  /** Its metrics; null: it is not running, or does not answer in time. */
  report(): Promise<MetricJson[] | null> {
    return this.#reports.ask(METRICS_TIMEOUT_MS, id => {
      if (this.#child === null) this.#reports.settle(id, null);
      else this.#child.send({type: 'metrics', id});
    });
  }

  /** Null: it is not running. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** It is no longer needed. */
  close(): void {
    this.#isClosed = true;
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#child?.kill();
  }

  #spawn(): void {
    const {entry, confinement, env, log, rate, onKill} = this.#options;
    this.#pauseTimer = null;
    this.#pauses.started();
    const child = new Child<SupervisorToEgress, EgressToSupervisor>({
      kind: 'egress',
      entry,
      confinement,
      nodeFlags: ['--enable-source-maps'],
      env,
      log,
      rate,
      onKill,
      onMessage: message => this.#received(message),
      onEnd: end => this.#ended(end),
    });
    this.#child = child;
    child.send({type: 'start', grants: [...this.#grants.values()]});
  }

  #received(message: EgressToSupervisor): void {
    switch (message.type) {
      case 'started':
        this.#child?.serves();
        return;
      case 'granted':
        this.#granted.settle(message.id, true);
        return;
      case 'metrics':
        this.#reports.settle(message.id, message.report);
        return;
      case 'heartbeat':
        return;
    }
  }

  #ended(end: ChildEnd): void {
    const pid = this.#child?.pid;
    this.#child = null;
    this.#granted.end();
    this.#reports.end();
    if (this.#isClosed) return;
    const pauseMs = this.#pauses.next();
    this.#options.log.error('the egress process ended; starting it again', {pid, ...end, pauseMs});
    this.#options.onEnd();
    this.#pauseTimer = setTimeout(() => this.#spawn(), pauseMs);
  }
}
