/**
 * A child process that serves all tenants of this server: watched, and restarted with growing pauses.
 *
 *   none ──start──▶ running ──ends──▶ pausing ──▶ running      (closed: none, for good)
 */
import {Child, type ChildEnd, type ChildOptions} from './child.ts';
import {RestartPauses} from './restart-pause.ts';

export type RestartedOptions<Received> = Omit<ChildOptions<Received>, 'nodeFlags' | 'onEnd'> & {
  /** Called with each new process, before anything else is sent to it. */
  onStart: () => void;
  /** It ended. @param isUnexpected it will be restarted */
  onEnd: (isUnexpected: boolean) => void;
};

export class RestartedChild<Sent extends object, Received extends {type: string}> {
  readonly #options: RestartedOptions<Received>;
  readonly #pauses = new RestartPauses();
  #child: Child<Sent, Received> | null = null;
  #pauseTimer: NodeJS.Timeout | null = null;
  #isWanted = false;
  #isClosed = false;

  constructor(options: RestartedOptions<Received>) {
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
    this.#child = new Child<Sent, Received>({
      ...this.#options,
      nodeFlags: ['--enable-source-maps'],
      onEnd: end => this.#ended(end),
    });
    this.#options.onStart();
  }

  #ended(end: ChildEnd): void {
    const {kind, log, onEnd} = this.#options;
    const pid = this.#child?.pid;
    this.#child = null;
    onEnd(!this.#isClosed);
    if (this.#isClosed) return;
    const pauseMs = this.#pauses.next();
    log.error(`the ${kind} process ended; starting it again`, {pid, ...end, pauseMs});
    this.#pauseTimer = setTimeout(() => this.#spawn(), pauseMs);
  }
}
