/**
 * Ends all processes that still run as a worker's user. Code that escaped its isolate can have started programs that
 * outlive their parent. They would keep the tenant's files in use, and after the tenant's deletion its user may be
 * given to another tenant.
 *
 * This runs as root, not as that user, because the user's processes could kill ours. Processes are first stopped,
 * because a stopped process cannot fork or send signals. They are killed only when two scans in a row find none
 * running.
 */
import {readdirSync, readFileSync} from 'node:fs';
import {setTimeout as delay} from 'node:timers/promises';
import {LEFTOVER_POLL_MS, LEFTOVER_POLLS_MAX} from '../limits.ts';

/** Whether a uid is one of the users in question. */
export type UserTest = (uid: number) => boolean;

/** `left`: pids that could not be ended; empty: no process of these users runs. */
export type Ended = {ended: number[]; left: number[]};

const KILL_POLLS = 100;

type Found = {pid: number; isStopped: boolean};

/** Ends all processes of these users. */
export async function endAllOf(isTheirs: UserTest): Promise<Ended> {
  const ended = new Set<number>();
  let quiet = 0;
  for (let polls = 0; polls < LEFTOVER_POLLS_MAX; polls++) {
    const found = processesOf(isTheirs);
    const running = found.filter(({isStopped}) => !isStopped);
    quiet = running.length === 0 ? quiet + 1 : 0;
    // A process that waits for its vfork child or for a disk does not stop, so now and then all are killed without
    // being stopped.
    if (quiet < 2 && polls % KILL_POLLS !== KILL_POLLS - 1) {
      for (const {pid} of running) signal(pid, 'SIGSTOP');
    } else {
      if (found.length === 0 && quiet >= 2) return {ended: [...ended], left: []};
      for (const {pid} of found) {
        ended.add(pid);
        signal(pid, 'SIGKILL');
      }
    }
    if (found.length > 0) await delay(LEFTOVER_POLL_MS);
  }
  return {ended: [...ended], left: processesOf(isTheirs).map(({pid}) => pid)};
}

/** Whether any process of these users exists. */
export function isAnyLeft(isTheirs: UserTest): boolean {
  return processesOf(isTheirs).length > 0;
}

function processesOf(isTheirs: UserTest): Found[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => found(Number(name), isTheirs) ?? []);
}

/**
 * Reads the status file, because the owner of a process's directory in /proc is root once the process has changed its
 * user.
 */
function found(pid: number, isTheirs: UserTest): Found | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    // Real, effective, saved and file-system uid: the process can switch back to any of them.
    const uids = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1).map(Number) ?? [];
    const state = /^State:\s+(\S)/m.exec(status)?.[1] ?? '';
    // It has ended, and waits for its parent to collect the exit code.
    if (state === 'Z' || state === 'X' || !uids.some(isTheirs)) return null;
    return {pid, isStopped: state === 'T' || state === 't'};
  } catch {
    return null; // The process has ended.
  }
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (caught) {
    // EPERM: the next scan finds the process again, and it counts as left.
    const {code} = caught as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw caught;
  }
}
