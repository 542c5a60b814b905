/** Reads from /proc what a process is doing when it sends nothing itself. On systems other than Linux: null. */
import {readdirSync, readFileSync} from 'node:fs';
import {PAGE_BYTES} from '../../shared/own-memory.ts';

/** The kernel reports CPU time to user programs in hundredths of a second, whatever its own clock is. */
const CLOCK_TICK_MS = 10;

/**
 * What a process is doing.
 * - `runnable`: runs, or waits for a processor.
 * - `sleeping`: waits for an event, such as a lock.
 * - `disk`: waits in the kernel and cannot be interrupted, or is held by a debugger.
 * - `stopped`: by a signal.
 * - `ended`: only its exit code is left.
 */
export type Doing = 'runnable' | 'sleeping' | 'disk' | 'stopped' | 'ended';

export type ProcessProbe = {
  /** State of the main thread, whose event loop sends the heartbeats. */
  doing: Doing;
  /** CPU time of the main thread since it started. */
  cpuMs: number;
  /** The main thread sleeps while another thread runs or waits for the disk, so the awaited event may still come. */
  othersWork: boolean;
};

/** Reads the state of a process; null: it is not available. */
export function probeProcess(pid: number): ProcessProbe | null {
  const main = threadOf(pid, pid);
  if (main === null) return null;
  return {...main, othersWork: main.doing === 'sleeping' && othersWork(pid)};
}

function othersWork(pid: number): boolean {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return false; // the process has ended meanwhile
  }
  return threads.some(thread => {
    const doing = Number(thread) === pid ? undefined : threadOf(pid, Number(thread))?.doing;
    return doing === 'runnable' || doing === 'disk';
  });
}

function threadOf(pid: number, thread: number): {doing: Doing; cpuMs: number} | null {
  const stat = read(`/proc/${pid}/task/${thread}/stat`);
  return stat === null ? null : parseThreadStat(stat);
}

/** Parses the kernel's line about one thread. */
export function parseThreadStat(stat: string): {doing: Doing; cpuMs: number} | null {
  const fields = fieldsOf(stat);
  const doing = DOING[fields[0] ?? ''];
  const cpuMs = cpuMsIn(fields);
  return doing === undefined || !Number.isFinite(cpuMs) ? null : {doing, cpuMs};
}

/** Figures of a whole process. */
export type ProcessCounts = {
  pid: number;
  parent: number;
  /** Since the machine started, in kernel ticks. */
  startTicks: number;
  /** Of all its threads, including ended ones. */
  cpuMs: number;
  /** Including pages that it shares with other processes. */
  residentBytes: number;
};

/** Null: the process has ended, or there is no /proc. */
export function countsOf(pid: number): ProcessCounts | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = fieldsOf(stat);
  const [parent, startTicks, pages] = [fields[1], fields[19], fields[21]].map(Number) as [number, number, number];
  const cpuMs = cpuMsIn(fields);
  const areNumbers = [parent, startTicks, pages, cpuMs].every(Number.isFinite);
  return areNumbers ? {pid, parent, startTicks, cpuMs, residentBytes: pages * PAGE_BYTES} : null;
}

/** The fields from the state on. Before them are the pid and a name in parentheses, which may contain anything. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** The sum of utime and stime. */
function cpuMsIn(fields: readonly string[]): number {
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
}

const DOING: Readonly<Record<string, Doing>> = {
  R: 'runnable',
  S: 'sleeping',
  I: 'sleeping',
  D: 'disk',
  t: 'disk',
  T: 'stopped',
  Z: 'ended',
  X: 'ended',
};

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null; // the process has ended, or there is no /proc
  }
}
