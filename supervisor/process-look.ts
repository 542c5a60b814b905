/**
 * What the system says of another process, from /proc: what it does when it says nothing itself. Other systems than
 * Linux tell nothing here: null.
 */
import {readdirSync, readFileSync} from 'node:fs';

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

/** The kernel's line about one thread. Its second field is a name in parentheses that may hold anything. */
export function parseThreadStat(stat: string): {doing: Doing; cpuMs: number} | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const doing = DOING[fields[0] ?? ''];
  const ticks = Number(fields[11]) + Number(fields[12]); // utime and stime
  return doing === undefined || !Number.isFinite(ticks) ? null : {doing, cpuMs: ticks * CLOCK_TICK_MS};
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
