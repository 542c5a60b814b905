/**
 * What the system says of another process, from /proc: what it does when it says nothing itself. Other systems than
 * Linux tell nothing here: null.
 */
import {readdirSync, readFileSync} from 'node:fs';
import {PAGE_BYTES} from '../../shared/own-memory.ts';

/** The kernel counts CPU time for user programs in hundredths of a second, whatever its own clock. */
const CLOCK_TICK_MS = 10;

/**
 * `runnable`: runs, or would if it were given the processor. `sleeping`: waits for an event, a lock for instance. `disk`:
 * waits in the kernel and cannot be interrupted, or a debugger holds it. `stopped`: by a signal. `ended`: only its exit code is left.
 */
export type Doing = 'runnable' | 'sleeping' | 'disk' | 'stopped' | 'ended';

export type ProcessLook = {
  /** Of the main thread, whose loop sends the heartbeats. */
  doing: Doing;
  /** CPU time of the main thread since it started. */
  cpuMs: number;
  /** The main thread sleeps, and another one runs or waits for the disk: what is waited for may come. */
  othersWork: boolean;
};

/** One look at a process; null when there is nothing to see. */
export function lookAt(pid: number): ProcessLook | null {
  const main = threadOf(pid, pid);
  if (main === null) return null;
  return {...main, othersWork: main.doing === 'sleeping' && othersWork(pid)};
}

function othersWork(pid: number): boolean {
  let threads: string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return false; // it has ended meanwhile
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

/** The kernel's line about one thread. */
export function parseThreadStat(stat: string): {doing: Doing; cpuMs: number} | null {
  const fields = fieldsOf(stat);
  const doing = DOING[fields[0] ?? ''];
  const cpuMs = cpuMsIn(fields);
  return doing === undefined || !Number.isFinite(cpuMs) ? null : {doing, cpuMs};
}

/** Of a whole process. */
export type ProcessFigures = {
  pid: number;
  parent: number;
  /** Since the machine started, in ticks of the kernel. */
  startTicks: number;
  /** Of all its threads, those that ended included. */
  cpuMs: number;
  /** With pages that it shares with others. */
  residentBytes: number;
};

/** Null: it has ended, or there is no /proc. */
export function figuresOf(pid: number): ProcessFigures | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = fieldsOf(stat);
  const [parent, startTicks, pages] = [fields[1], fields[19], fields[21]].map(Number) as [number, number, number];
  const cpuMs = cpuMsIn(fields);
  const areNumbers = [parent, startTicks, pages, cpuMs].every(Number.isFinite);
  return areNumbers ? {pid, parent, startTicks, cpuMs, residentBytes: pages * PAGE_BYTES} : null;
}

/** From its state on. What stands before is its pid and a name in parentheses, which may hold anything. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** utime and stime. */
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
    return null; // It has ended, or there is no /proc.
  }
}
