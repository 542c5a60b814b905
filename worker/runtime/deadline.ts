/**
 * How long one invocation may work, its isolate's time and its host's together. What counts is CPU time of the thread: waiting
 * for a disk, or for a machine that is busy with others, is no fault of the function. The wall clock is an upper bound, for
 * the sake of those who wait behind it.
 *
 * isolated-vm's own time-out ends code that never calls the host; it stands still during a call of the host. So each call
 * looks here, and so does work of the host that can be long, every so many rows.
 */
import {readFileSync} from 'node:fs';

/** The invocation has had its time. The host ends its isolate; no user code can catch it. */
export class TimeIsUp extends Error {
  override name = 'TimeIsUp';
}

/** Milliseconds of the clock, and of CPU time of this thread. */
export type Clocks = {wallMs(): number; cpuMs(): number};

export class Deadline {
  readonly #clocks: Clocks;
  #cpuMsMax = 0;
  #startedMs = 0;
  #startedCpuMs = 0;
  /** CPU time as it was last asked for, and when that was. */
  #askedCpuMs = 0;
  #askedMs = Number.NEGATIVE_INFINITY;
  /** Before this the CPU time cannot be used up, so nobody asks for it: asking is a system call. */
  #lookAtMs = 0;
  #endMs = 0;

  constructor(clocks: Clocks = CLOCKS) {
    this.#clocks = clocks;
  }

  begin(cpuMsMax: number, wallMsMax: number): void {
    this.#cpuMsMax = cpuMsMax;
    this.#startedMs = this.#clocks.wallMs();
    this.#startedCpuMs = this.#cpuMsAt(this.#startedMs);
    this.#lookAtMs = this.#startedMs + cpuMsMax;
    this.#endMs = this.#startedMs + wallMsMax;
  }

  get wallMs(): number {
    return this.#clocks.wallMs() - this.#startedMs;
  }

  get cpuMs(): number {
    return Math.max(0, this.#clocks.cpuMs() - this.#startedCpuMs);
  }

  /** About, and never too little: asking is a system call, and one invocation follows another. */
  #cpuMsAt(nowMs: number): number {
    if (nowMs - this.#askedMs > CPU_ASKED_EVERY_MS) {
      this.#askedMs = nowMs;
      this.#askedCpuMs = this.#clocks.cpuMs();
    }
    return this.#askedCpuMs + (nowMs - this.#askedMs);
  }

  /** @throws TimeIsUp */
  check(): void {
    const nowMs = this.#clocks.wallMs();
    if (nowMs < this.#lookAtMs) return;
    const leftMs = this.#cpuMsMax - this.cpuMs;
    if (leftMs <= 0 || nowMs >= this.#endMs) throw new TimeIsUp('the invocation has had its time');
    this.#lookAtMs = Math.min(nowMs + leftMs, this.#endMs);
  }
}

/** How much more CPU time than it may an invocation gets at most. */
const CPU_ASKED_EVERY_MS = 5;

/** CPU time of this thread so far. Node before 22.19 does not tell it, Linux does. */
const threadCpuMs: () => number =
  typeof process.threadCpuUsage === 'function'
    ? () => {
        const {user, system} = process.threadCpuUsage();
        return (user + system) / 1_000;
      }
    : () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;

const CLOCKS: Clocks = {wallMs: () => performance.now(), cpuMs: threadCpuMs};
