/**
 * The worker's side of a service's process: a Node process like those of actions, with one function running in it.
 * Requests that it makes through its ctx are carried out here. All its messages are outside input, and they are read no
 * faster than the worker can handle next to its own work.
 */

import {refusalOf} from '../../../engine/storage/failure.ts';
import {rateLimited, type ServiceError} from '../../../shared/errors.ts';
import type {EgressEndpoint} from '../../../shared/ipc/egress.ts';
import type {ExitReason} from '../../../shared/protocol/services.ts';
import type {LaidOut, ServiceHost} from '../../functions/service-host.ts';
import type {ServiceWatch} from '../../functions/service-watch.ts';
import {isOneOf, MAIN_OPERATIONS, refusal} from '../../runtime/actions/action-message.ts';
import {fieldsOf, numberOf, textOf} from '../../runtime/actions/operation-input.ts';
import {PendingOperations} from '../../runtime/actions/pending-operations.ts';
import {LOG_LINE_CHARS_MAX} from '../../runtime/guest/limits.ts';
import {errorIn, type Framed, type FromNode, SERVICE_ACTION} from '../../runtime/node/node-message.ts';
import {type NodeEnd, NodeProcess} from '../../runtime/node/node-process.ts';
import type {ParentWatch} from '../../runtime/process/parent-watch.ts';
import {ReadLimiter} from '../../runtime/process/read-limiter.ts';
import {
  SERVICE_FAILURES_LOGGED_MAX,
  SERVICE_LOAD_MS_MAX,
  SERVICE_MEMORY_BESIDE_MB,
  SERVICE_NICENESS,
  SERVICE_POLL_MS,
  SERVICE_WATCHES_MAX,
} from '../limits.ts';

export type ServiceExitReport = {reason: ExitReason; message: string | null};

export type ServiceProcessParts = {
  /** Identifies its requests in logs. */
  name: string;
  laidOut: LaidOut;
  memoryMb: number;
  env: Readonly<Record<string, string>>;
  egress: EgressEndpoint;
  parentWatch: ParentWatch;
  host: ServiceHost;
};

export type ServiceProcessEvents = {
  /** Its function has been called. */
  began(): void;
  line(line: string): void;
  /** One of its requests failed for a reason that belongs in the log of the service. */
  failed(error: ServiceError): void;
  /** Called once, when the process is gone. */
  ended(exit: ServiceExitReport): void;
};

const MIB = 1024 * 1024;

export class ServiceProcess {
  readonly #parts: ServiceProcessParts;
  readonly #events: ServiceProcessEvents;
  readonly #process: NodeProcess;
  readonly #pending = new PendingOperations();
  readonly #watches = new Map<number, ServiceWatch>();
  readonly #late: NodeJS.Timeout;
  #graceTimer: NodeJS.Timeout | null = null;
  readonly #readLimiter: ReadLimiter;
  #requests = 0;
  #failures = 0;
  #hasBegun = false;
  /** Its exit, while the process is still ending. */
  #exit: ServiceExitReport | null = null;

  constructor(parts: ServiceProcessParts, events: ServiceProcessEvents) {
    this.#parts = parts;
    this.#events = events;
    const {laidOut, memoryMb, env, egress, parentWatch} = parts;
    this.#process = new NodeProcess(
      {
        code: laidOut.code,
        env,
        egress,
        parentWatch,
        niceness: SERVICE_NICENESS,
        heapMb: memoryMb,
        bytesMax: (memoryMb + SERVICE_MEMORY_BESIDE_MB) * MIB,
        // It can compute for as long as it likes, at low priority.
        cpuMsMax: Number.POSITIVE_INFINITY,
        pollMs: SERVICE_POLL_MS,
      },
      {
        onReady: () => this.#process.send({type: 'serve', module: laidOut.module}),
        onAlive: () => undefined,
        onMessage: message => this.#received(message),
        onEnd: end => this.#ended(end),
      },
    );
    this.#readLimiter = new ReadLimiter(isHeard => this.#process.hear(isHeard));
    this.#late = setTimeout(
      () => this.#end({reason: 'not_started', message: `its code was not loaded in ${SERVICE_LOAD_MS_MAX / 1000} s`}),
      SERVICE_LOAD_MS_MAX,
    );
    this.#process.watch(true);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get bytes(): number {
    return this.#process.bytes;
  }

  /**
   * Sends the stop signal, and kills the process after this time. A process whose function has not been called is ended
   * at once.
   */
  stop(graceMs: number): void {
    if (!this.#hasBegun) {
      this.#end({reason: 'stopped', message: null});
      return;
    }
    this.#process.send({type: 'stop'});
    if (this.#graceTimer !== null) clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(
      () =>
        this.#end({reason: 'stopped', message: `it was killed: it had not ended ${graceMs / 1000} s after its signal`}),
      graceMs,
    );
  }

  #end(exit: ServiceExitReport): void {
    this.#exit ??= exit;
    this.#process.kill({cause: 'told', message: ''});
  }

  #received(message: Framed<Exclude<FromNode, {type: 'ready' | 'alive'}>>): void {
    this.#readLimiter.count();
    if (this.#exit !== null) return;
    switch (message.type) {
      case 'serving':
        clearTimeout(this.#late);
        this.#hasBegun = true;
        this.#events.began();
        return;
      case 'served':
        if (message.ok) this.#end({reason: 'returned', message: null});
        else this.#end(thrown(message.text));
        return;
      case 'uncaught':
        this.#end(thrown(message.text));
        return;
      case 'log':
        this.#events.line(message.text.slice(0, LOG_LINE_CHARS_MAX).toWellFormed());
        return;
      case 'start':
        void this.#start(message);
        return;
      case 'analyzed':
      case 'begun':
      case 'outcome':
      case 'executed':
        return; // not expected from a service
    }
  }

  async #start({call, operation, text}: Framed<{call: number; operation: string}>): Promise<void> {
    const refused = this.#pending.begin(call, operation);
    const answer = refused ?? (await this.#answerTo(operation, text));
    if (refused === null) this.#pending.settled(call);
    if (this.#exit === null) this.#process.send({type: 'answer', action: SERVICE_ACTION, call}, answer);
  }

  async #answerTo(operation: string, parameters: string): Promise<string> {
    try {
      if (isOneOf(MAIN_OPERATIONS, operation)) {
        const request = `service-${this.#parts.name}-${++this.#requests}`;
        return await this.#parts.host.call(operation, parameters, request);
      }
      return this.#watchCall(operation, parameters);
    } catch (caught) {
      const error = refusalOf(caught);
      // A service can send invalid requests without limit, so only the first failures are logged.
      if (error.cause !== undefined && ++this.#failures <= SERVICE_FAILURES_LOGGED_MAX) this.#events.failed(error);
      return refusal(error.isOurs ? "Your request couldn't be completed. Try again later." : error.message);
    }
  }

  #watchCall(operation: string, parameters: string): string {
    const fields = fieldsOf(parameters);
    const watch = numberOf(fields, 'watch');
    switch (operation) {
      case 'watch':
        this.#watch(watch, textOf(fields, 'path'), textOf(fields, 'args'));
        return '+';
      case 'unwatch':
        this.#watches.get(watch)?.end();
        this.#watches.delete(watch);
        return '+';
      case 'heard':
        this.#watches.get(watch)?.heard();
        return '+';
      default:
        return refusal(`there is no operation ${operation.slice(0, 40)}`);
    }
  }

  /** @throws op.rate_limited, session.overloaded */
  #watch(watch: number, path: string, args: string): void {
    if (this.#watches.size >= SERVICE_WATCHES_MAX || this.#watches.has(watch)) {
      throw rateLimited(`a service holds at most ${SERVICE_WATCHES_MAX} live queries`);
    }
    const tell = (ok: boolean, text: string) => this.#process.send({type: 'changed', watch, ok}, text);
    this.#watches.set(watch, this.#parts.host.watch(path, args, tell));
  }

  #ended(end: NodeEnd): void {
    clearTimeout(this.#late);
    if (this.#graceTimer !== null) clearTimeout(this.#graceTimer);
    this.#readLimiter.end();
    for (const watch of this.#watches.values()) watch.end();
    this.#watches.clear();
    this.#pending.clear();
    this.#exit ??= exitOf(end);
    this.#events.ended(this.#exit);
  }
}

function thrown(text: string): ServiceExitReport {
  const {name, message, stack} = errorIn(text);
  return {reason: 'threw', message: stack ?? (name === '' ? message : `${name}: ${message}`)};
}

function exitOf({cause, message}: NodeEnd): ServiceExitReport {
  if (cause === 'memory') return {reason: 'out_of_memory', message};
  if (cause === 'start') return {reason: 'not_started', message};
  return {reason: 'crashed', message};
}
