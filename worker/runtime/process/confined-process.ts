/**
 * A process that runs code of tenants, as its worker sees it: how it starts, its memory measurements, and its end.
 *
 *   starting ──started()──▶ serving ──▶ ended
 *       └──late | ended by itself | kill()──▶ ended   (from both)
 *
 * It has its own session, none of our environment, and only two descriptors: standard error and the pipe, which is
 * descriptor 3. It ends with its worker: the kernel kills it if `setpriv` can request that (parent-watch.ts) and it has not
 * changed its user since, and it exits when the pipe closes. When the machine runs out of memory, it is killed before its
 * worker.
 */
import type {Buffer} from 'node:buffer';
import {type ChildProcess, spawn} from 'node:child_process';
import type {Socket} from 'node:net';
import {STDERR_TAIL_CHARS} from '../../../shared/limits.ts';
import {lowerPriority} from '../../../shared/lower-priority.ts';
import {firstToGo, ownBytes} from '../../../shared/own-memory.ts';
import {CHILD_PIPES_MS_MAX, NODE_STDERR_CHUNKS_MAX} from '../limits.ts';
import {Pipe, type PipeFault, type PipeRules} from './pipe.ts';
import {ReadLimiter} from './read-limiter.ts';

export type EndCause = 'told' | 'start' | 'memory' | 'time' | 'silent' | 'crash' | Exclude<PipeFault, 'closed'>;

export type ProcessEnd = {
  cause: EndCause;
  /** The argument of `kill`, or how it ended by itself. */
  how: string;
  /** Whether it ended by itself. */
  isUnexpected: boolean;
  /** The tail of its standard error, where V8 writes why it aborts. */
  stderrTail: string;
};

export type ConfinedOptions<Received> = {
  /** Executable, flags, script. */
  command: readonly string[];
  /** Command prefix that makes it end with this process (parent-watch.ts). */
  parentWatch: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** `nice` value relative to its worker. */
  niceness?: number;
  /** It is killed if it has not started within this time. */
  startMsMax?: number;
  /** Memory limit while it is watched, without mapped files; below, how often it is measured. */
  bytesMax: number;
  pollMs: number;
  pipe: PipeRules<Received>;
};

export type ConfinedEvents<Received> = {
  /** `tail` is a view into the received chunk. */
  onMessage(message: Received, tail: Buffer): void;
  /** Its memory was measured, and is within the limit. */
  onPoll?(): void;
  /** Called once, however it ended, including a failed start. */
  onEnd(end: ProcessEnd): void;
};

/** These processes must not keep a worker from ending. */
const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export class ConfinedProcess<Sent extends object, Received> {
  readonly pid: number | undefined;
  readonly #child: ChildProcess;
  readonly #pipe: Pipe<Sent, Received>;
  readonly #options: ConfinedOptions<Received>;
  readonly #events: ConfinedEvents<Received>;
  readonly #late: NodeJS.Timeout | null;
  #polls: NodeJS.Timeout | null = null;
  #isStarted = false;
  #isOver = false;
  #killed: Pick<ProcessEnd, 'cause' | 'how'> | null = null;
  #stderrTail = '';

  constructor(options: ConfinedOptions<Received>, events: ConfinedEvents<Received>) {
    this.#options = options;
    this.#events = events;
    const {parentWatch, startMsMax, niceness = 0} = options;
    const [command, ...args] = [...parentWatch, ...options.command];
    this.#child = spawn(command!, args, {
      // Not in the server's process group: Ctrl-C must reach the supervisor only.
      detached: true,
      cwd: options.cwd ?? '/',
      env: options.env,
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.#child.on('error', error => this.#over(error.message));
    this.#child.on('close', (code, signal) => this.#over(signal ?? `exit code ${code}`));
    this.pid = this.#child.pid;
    // If no descriptor is left, Node creates no streams, and reports the error in the next tick.
    const streams = this.#child as {stdio?: ChildProcess['stdio']; stderr?: ChildProcess['stderr']};
    this.#pipe = new Pipe((streams.stdio?.[3] ?? null) as Socket | null, options.pipe, {
      onMessage: (message, tail) => {
        if (!this.isEnding) events.onMessage(message, tail);
      },
      onFault: fault => this.kill(fault === 'closed' ? 'crash' : fault, FAULTS[fault]),
    });
    this.#keepStderrTail(streams.stderr ?? null);
    this.#late =
      startMsMax === undefined ? null : setTimeout(() => this.kill('start', 'it was not ready in time'), startMsMax);
    living.add(this.#child);
    firstToGo(this.pid);
    if (niceness > 0 && this.pid !== undefined) lowerPriority(this.pid, niceness);
  }

  /** From now on its end does not count as a failed start. */
  started(): void {
    this.#isStarted = true;
    if (this.#late !== null) clearTimeout(this.#late);
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** It has ended, or is about to. */
  get isEnding(): boolean {
    return this.#isOver || this.#killed !== null;
  }

  /** Memory without mapped files; 0: it has ended. */
  get bytes(): number {
    return this.pid === undefined || this.#isOver ? 0 : (ownBytes(this.pid) ?? 0);
  }

  send(message: Sent, tail?: string | Uint8Array): void {
    this.#pipe.send(message, tail);
  }

  /** Pauses or resumes reading from it. Unread messages wait in the pipe. */
  hear(isHeard: boolean): void {
    this.#pipe.hear(isHeard);
  }

  /** While it has work, its memory is measured. */
  watch(isWatched: boolean): void {
    if (this.#polls !== null && !isWatched) {
      clearInterval(this.#polls);
      this.#polls = null;
    } else if (isWatched && !this.#isOver) this.#polls ??= setInterval(() => this.#poll(), this.#options.pollMs);
  }

  /** Sends SIGSTOP or SIGCONT. */
  stop(isStopped: boolean): boolean {
    return this.#child.kill(isStopped ? 'SIGSTOP' : 'SIGCONT');
  }

  /**
   * If this process changed its user and that one has not done so yet, the signal is not permitted: then its pipe is
   * closed, and it ends itself.
   * @param how for people. The first call determines the reason.
   */
  kill(cause: EndCause, how: string): void {
    this.#killed ??= {cause, how};
    this.#child.kill('SIGKILL');
  }

  #poll(): void {
    if (this.bytes > this.#options.bytesMax) this.kill('memory', 'it needed too much memory');
    else this.#events.onPoll?.();
  }

  /**
   * Keeps the tail of its standard error only. Reading is rate-limited, so that the worker can continue its own work.
   */
  #keepStderrTail(stderr: ChildProcess['stderr']): void {
    const said = new ReadLimiter(
      isHeard => void (isHeard ? stderr?.resume() : stderr?.pause()),
      NODE_STDERR_CHUNKS_MAX,
    );
    stderr?.on('data', (chunk: Buffer) => {
      const end = chunk.toString('utf8', Math.max(0, chunk.length - 4 * STDERR_TAIL_CHARS));
      this.#stderrTail = (this.#stderrTail + end).slice(-STDERR_TAIL_CHARS);
      said.count();
    });
    stderr?.on('close', () => said.end());
    this.#child.on('exit', (code, signal) => {
      // What it wrote before its end is still in transit.
      stderr?.resume();
      // Its child processes can hold its pipes open indefinitely.
      setTimeout(() => this.#over(signal ?? `exit code ${code}`), CHILD_PIPES_MS_MAX).unref();
    });
  }

  #over(how: string): void {
    if (this.#isOver) return;
    this.watch(false);
    this.#isOver = true;
    if (this.#late !== null) clearTimeout(this.#late);
    living.delete(this.#child);
    this.#pipe.close();
    const end = this.#killed ?? {cause: this.#isStarted ? ('crash' as const) : ('start' as const), how};
    this.#events.onEnd({...end, isUnexpected: this.#killed === null, stderrTail: this.#stderrTail});
  }
}

const FAULTS: Record<PipeFault, string> = {
  malformed: 'it said what it never says',
  unread: 'it did not read what it requested',
  closed: 'it closed its pipe and went on',
};
