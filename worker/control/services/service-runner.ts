/** Runs one service: carries out what service-state.ts decides, with one process at a time. */

import {refusalOf} from '../../../engine/storage/failure.ts';
import {assert, unreachable} from '../../../shared/assert.ts';
import type {ServiceExit, ServiceRecord, ServiceState} from '../../../shared/protocol/services.ts';
import type {ServiceHost} from '../../functions/service-host.ts';
import {confiningParentWatch} from '../../runtime/process/parent-watch.ts';
import {SERVICE_EXIT_CHARS_MAX, SERVICE_STOP_MS_MAX} from '../limits.ts';
import type {ServiceLog} from './service-log.ts';
import {type ServiceExitReport, ServiceProcess} from './service-process.ts';
import {type Effect, type Input, type Machine, step} from './service-state.ts';

export type ServiceRunnerParts = {
  /** The current definition. */
  definition: () => ServiceRecord;
  /** @throws session.worker_unavailable 503 */
  host: () => Promise<ServiceHost>;
  log: ServiceLog;
  clock: () => number;
  /** Its state or this part of its record has changed. */
  changed: (change: Partial<ServiceRecord>) => void;
  /** An unexpected error, for the log of the service. */
  failed: (error: unknown) => void;
  /** Its process ended. */
  ended: (exit: ServiceExit) => void;
};

/** One process, from its preparation until it is gone. */
type Attempt = {process: ServiceProcess | null; startedWith: string | null; isOver: boolean};

export class ServiceRunner {
  readonly #parts: ServiceRunnerParts;
  #machine: Machine;
  #attempt: Attempt | null = null;
  #pause: NodeJS.Timeout | null = null;
  #graceMs = SERVICE_STOP_MS_MAX;
  readonly #waiting = new Set<() => void>();

  constructor(parts: ServiceRunnerParts, state: 'stopped' | 'failed') {
    this.#parts = parts;
    this.#machine = {state};
  }

  get state(): ServiceState {
    return this.#machine.state;
  }

  /** Memory of its process; 0: it has none. */
  get bytes(): number {
    return this.#attempt?.process?.bytes ?? 0;
  }

  /** Digest of what its process was started with; null: it has none. */
  get startedWith(): string | null {
    return this.#attempt?.startedWith ?? null;
  }

  start(): void {
    this.#give({type: 'start'});
  }

  restart(): void {
    this.#give({type: 'restart'});
  }

  /** Resolves when its process is gone. */
  stop(graceMs = SERVICE_STOP_MS_MAX): Promise<void> {
    this.#graceMs = graceMs;
    this.#give({type: 'stop'});
    // The process may be ending already, with a longer grace period.
    if (graceMs < SERVICE_STOP_MS_MAX) this.#attempt?.process?.stop(graceMs);
    if (this.#machine.state !== 'stopping') return Promise.resolve();
    return new Promise(resolve => this.#waiting.add(resolve));
  }

  #give(input: Input): void {
    const {clock, changed, definition} = this.#parts;
    const before = this.#machine.state;
    const {next, effects} = step(this.#machine, input, definition().restart, clock(), Math.random());
    this.#machine = next;
    for (const effect of effects) this.#carryOut(effect);
    if (this.#machine.state === before) return;
    if (this.#machine.state !== 'stopping') for (const tell of this.#waiting) tell();
    if (this.#machine.state !== 'stopping') this.#waiting.clear();
    changed({state: this.#machine.state});
  }

  #carryOut(effect: Effect): void {
    const {changed, definition, log} = this.#parts;
    switch (effect.type) {
      case 'open':
        if (effect.isAgain) changed({restarts: definition().restarts + 1});
        void this.#open();
        return;
      case 'end':
        log.say('is to stop');
        this.#endAttempt();
        return;
      case 'pause':
        log.say(`starts again in ${effect.ms} ms`);
        this.#pause = setTimeout(() => this.#give({type: 'due'}), effect.ms);
        return;
      case 'cancel_pause':
        if (this.#pause !== null) clearTimeout(this.#pause);
        return;
      case 'done':
        changed({desired_state: 'stopped'});
        return;
      default:
        unreachable(effect);
    }
  }

  async #open(): Promise<void> {
    assert(this.#attempt === null, 'a service has one process at a time');
    const attempt: Attempt = {process: null, startedWith: null, isOver: false};
    this.#attempt = attempt;
    try {
      const [host, life] = [await this.#parts.host(), await confiningParentWatch()];
      if (attempt.isOver) return;
      const definition = this.#parts.definition();
      const startedWith = startingPoint(definition, host);
      attempt.startedWith = startedWith;
      const {env, egress} = {env: {...host.env, ...definition.env}, egress: host.egress};
      const laidOut = await host.layOut(definition);
      if (attempt.isOver) return;
      const {name, memory_mb: memoryMb} = definition;
      attempt.process = new ServiceProcess(
        {name, laidOut, memoryMb, env, egress, parentWatch: life, host},
        {
          began: () => this.#began(attempt),
          line: line => this.#parts.log.console(line),
          failed: error => this.#parts.failed(error),
          ended: exit => this.#ended(attempt, exit, false),
        },
      );
    } catch (unexpected) {
      const caught = refusalOf(unexpected);
      if (caught.cause !== undefined) this.#parts.failed(caught);
      // The module is missing, which stays so until the next deploy.
      const isFinal = caught.code === 'op.invalid_input' && attempt.startedWith === null;
      this.#ended(attempt, {reason: 'not_started', message: caught.message}, isFinal);
    }
  }

  #began(attempt: Attempt): void {
    if (attempt.isOver) return;
    const {changed, clock, log} = this.#parts;
    log.say(`runs as process ${attempt.process?.pid}`);
    changed({started_at: Math.floor(clock())});
    this.#give({type: 'began'});
  }

  #endAttempt(): void {
    const attempt = this.#attempt;
    assert(attempt !== null, 'what is ended was begun');
    if (attempt.process !== null) attempt.process.stop(this.#graceMs);
    // The process is still being prepared; nothing waits for it.
    else this.#ended(attempt, {reason: 'stopped', message: null}, false);
  }

  #ended(attempt: Attempt, exit: ServiceExitReport, isFinal: boolean): void {
    if (attempt.isOver) return;
    attempt.isOver = true;
    this.#attempt = null;
    const wasRequested = this.#machine.state === 'stopping' || (attempt.process === null && exit.reason === 'stopped');
    // After a stop signal every kind of exit counts as stopped.
    const reason = wasRequested ? 'stopped' : exit.reason;
    const message = wasRequested && exit.reason === 'returned' ? null : shortened(exit.message);
    const report: ServiceExit = {at: Math.floor(this.#parts.clock()), reason, message};
    this.#parts.log.say(`ended: ${reason}${message === null ? '' : `, ${message}`}`);
    this.#parts.ended(report);
    this.#parts.changed({last_exit: report});
    // Deferred, because a state change may be in progress when a preparation is dropped.
    queueMicrotask(() => this.#give({type: 'ended', hasReturned: exit.reason === 'returned', isFinal}));
  }
}

/** An error message of user code can have any length. */
function shortened(message: string | null): string | null {
  return message === null ? null : message.slice(0, SERVICE_EXIT_CHARS_MAX).toWellFormed();
}

/** What its process is started with; when this changes, the process is restarted. @throws op.invalid_input 400 */
export function startingPoint({source, node_version, env}: ServiceRecord, host: ServiceHost): string {
  return JSON.stringify([host.digest({source, node_version}), {...host.env, ...env}, host.egress]);
}
