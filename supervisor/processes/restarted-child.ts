/**
 * A child process that serves all tenants of this server: watched, restarted with growing pauses, and queried for its metrics.
 *
 *   none ──start──▶ running ──ends──▶ pausing ──▶ running      (closed: none, for good)
 */
import {Answers} from '../../shared/answers.ts';
import type {MetricJson} from '../../shared/metrics/metric-json.ts';
import {METRICS_TIMEOUT_MS} from '../limits.ts';
import {Child, type ChildEnd, type ChildOptions} from './child.ts';
import {RestartPauses} from './restart-pause.ts';

/** Sent by each such process in addition to its own messages. */
type FromAll = {type: 'metrics'; id: number; report: MetricJson[]} | {type: 'heartbeat'};
type ToAll = {type: 'metrics'; id: number};

/** The messages that a process sends in addition to those. */
export type OwnOf<Received> = Exclude<Received, {type: FromAll['type']}>;

export type RestartedOptions<Own> = Omit<ChildOptions<Own>, 'nodeFlags' | 'onEnd'> & {
  /** Of the log line that it ended. */
  fields?: () => object;
  /** Called with each new process, before anything else is sent to it. */
  onStart: () => void;
  /** It ended. @param isUnexpected it will be restarted, unless it is closed now */
  onEnd: (isUnexpected: boolean, end: ChildEnd) => void;
};

export class RestartedChild<Sent extends object, Own extends {type: string}> {
  readonly #options: RestartedOptions<Own>;
  readonly #pauses = new RestartPauses();
  readonly #reports = new Answers<MetricJson[]>();
  #child: Child<Sent | ToAll, Own | FromAll> | null = null;
  #pauseTimer: NodeJS.Timeout | null = null;
  #isWanted = false;
  #isClosed = false;

  constructor(options: RestartedOptions<Own>) {
    this.#options = options;
  }

  /** Starts the process, unless it was started before. */
  start(): void {
    if (this.#isWanted || this.#isClosed) return;
    this.#isWanted = true;
    this.#spawn();
  }

  /** @returns false: it is not running */
  send(message: Sent): boolean {
    this.#child?.send(message);
    return this.#child !== null;
  }

  /** It has started, so that its silence is judged from now on. */
  serves(): void {
    this.#child?.serves();
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

  /** It is not restarted. @param afterMs until it is killed; it can end by itself before */
  close(afterMs = 0): void {
    this.#isClosed = true;
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    if (afterMs === 0) this.#child?.kill();
    else this.#child?.killAfter(afterMs);
  }

  #spawn(): void {
    this.#pauseTimer = null;
    this.#pauses.started();
    this.#child = new Child<Sent | ToAll, Own | FromAll>({
      ...this.#options,
      nodeFlags: ['--enable-source-maps'],
      onMessage: message => this.#received(message),
      onEnd: end => this.#ended(end),
    });
    this.#options.onStart();
  }

  #received(message: Own | FromAll): void {
    if (!isFromAll(message)) this.#options.onMessage(message);
    else if (message.type === 'metrics') this.#reports.settle(message.id, message.report);
  }

  #ended(end: ChildEnd): void {
    const {kind, log, onEnd, fields} = this.#options;
    const pid = this.#child?.pid;
    this.#child = null;
    this.#reports.end();
    onEnd(!this.#isClosed, end);
    if (this.#isClosed) return;
    const pauseMs = this.#pauses.next();
    log.error(`the ${kind} process ended; starting it again`, {pid, ...fields?.(), ...end, pauseMs});
    this.#pauseTimer = setTimeout(() => this.#spawn(), pauseMs);
  }
}

function isFromAll(message: {type: string}): message is FromAll {
  return message.type === 'metrics' || message.type === 'heartbeat';
}
