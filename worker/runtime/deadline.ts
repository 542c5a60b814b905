/**
 * Limits the time of one invocation: that of its isolate and its host together. CPU time of the thread counts, because
 * waiting for a disk or a busy machine is not the function's fault. Wall time has an upper limit too, for the sake of
 * the calls that wait behind it.
 *
 * isolated-vm's own time-out ends code that never calls the host, but it stops during a host call. So each host call
 * checks this deadline, and so does long work of the host, every few rows.
 */
import {readFileSync} from 'node:fs';

/** The invocation is out of time. The host ends its isolate; user code cannot catch this error. */
export class TimeIsUp extends Error {
  override name = 'TimeIsUp';
}

/** Wall time, and CPU time of this thread, in milliseconds. */
export type Clocks = {wallMs(): number; cpuMs(): number};

export class Deadline {
  readonly #clocks: Clocks;
  #cpuMsMax = 0;
  #startedMs = 0;
  #startedCpuMs = 0;
  /** The last reading of CPU time, and when it was taken. */
  #readCpuMs = 0;
  #readMs = Number.NEGATIVE_INFINITY;
  /** CPU time cannot be used up before this, so it is not read: a read is a system call. */
  #pollAtMs = 0;
  #endMs = 0;

  constructor(clocks: Clocks = CLOCKS) {
    this.#clocks = clocks;
  }

  begin(cpuMsMax: number, wallMsMax: number): void {
    this.#cpuMsMax = cpuMsMax;
    this.#startedMs = this.#clocks.wallMs();
    this.#startedCpuMs = this.#cpuMsAt(this.#startedMs);
    this.#pollAtMs = this.#startedMs + cpuMsMax;
    this.#endMs = this.#startedMs + wallMsMax;
  }

  get wallMs(): number {
    return this.#clocks.wallMs() - this.#startedMs;
  }

  get cpuMs(): number {
    return Math.max(0, this.#clocks.cpuMs() - this.#startedCpuMs);
  }

  /** Approximate, and never too low: a read is a system call, and invocations follow each other closely. */
  #cpuMsAt(nowMs: number): number {
    if (nowMs - this.#readMs > CPU_READ_EVERY_MS) {
      this.#readMs = nowMs;
      this.#readCpuMs = this.#clocks.cpuMs();
    }
    return this.#readCpuMs + (nowMs - this.#readMs);
  }

  /** @throws TimeIsUp */
  check(): void {
    const nowMs = this.#clocks.wallMs();
    if (nowMs < this.#pollAtMs) return;
    const leftMs = this.#cpuMsMax - this.cpuMs;
    if (leftMs <= 0 || nowMs >= this.#endMs) throw new TimeIsUp('the invocation has had its time');
    this.#pollAtMs = Math.min(nowMs + leftMs, this.#endMs);
  }
}

/** Maximum age of a reading of CPU time, and so the most extra CPU time that an invocation can get. */
const CPU_READ_EVERY_MS = 5;

/** CPU time of this thread so far. Node reports it since 22.19; before that, Linux does. */
const threadCpuMs: () => number =
  typeof process.threadCpuUsage === 'function'
    ? () => {
        const {user, system} = process.threadCpuUsage();
        return (user + system) / 1_000;
      }
    : () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;

const CLOCKS: Clocks = {wallMs: () => performance.now(), cpuMs: threadCpuMs};
