/**
 * What a worker leaves behind: nothing that has its user runs on. Code that left its isolate can have started programs that do not
 * end with their parent; they would keep the tenant's files, and once the tenant is deleted the user may be another's.
 *
 * It is done as root, not as that user, whose processes could end whoever comes for them. And they are stopped first: one that is
 * stopped forks no more and signals none. Only when two looks in a row find none that runs are they killed.
 */
import {readdirSync, readFileSync} from 'node:fs';
import {setTimeout as delay} from 'node:timers/promises';
import {LEFTOVER_LOOK_MS, LEFTOVER_LOOKS_MAX} from '../limits.ts';

/** Whether a number of the system's is of the users that are meant. */
export type UserTest = (uid: number) => boolean;

/** `left`: pids that could not be ended; empty: nothing of these users runs. */
export type Ended = {ended: number[]; left: number[]};

const KILL_LOOKS = 100;

type Found = {pid: number; isStopped: boolean};

/** Ends all that has one of these users. */
export async function endAllOf(isTheirs: UserTest): Promise<Ended> {
  const ended = new Set<number>();
  let quiet = 0;
  for (let looks = 0; looks < LEFTOVER_LOOKS_MAX; looks++) {
    const found = processesOf(isTheirs);
    const running = found.filter(({isStopped}) => !isStopped);
    quiet = running.length === 0 ? quiet + 1 : 0;
    // One that waits for a child it made by vfork, or for a disk, does not stop: now and then all are killed as they are.
    if (quiet < 2 && looks % KILL_LOOKS !== KILL_LOOKS - 1) {
      for (const {pid} of running) signal(pid, 'SIGSTOP');
    } else {
      if (found.length === 0 && quiet >= 2) return {ended: [...ended], left: []};
      for (const {pid} of found) {
        ended.add(pid);
        signal(pid, 'SIGKILL');
      }
    }
    if (found.length > 0) await delay(LEFTOVER_LOOK_MS);
  }
  return {ended: [...ended], left: processesOf(isTheirs).map(({pid}) => pid)};
}

/** Something of these users is there. */
export function isAnyLeft(isTheirs: UserTest): boolean {
  return processesOf(isTheirs).length > 0;
}

function processesOf(isTheirs: UserTest): Found[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => found(Number(name), isTheirs) ?? []);
}

/** The owner of its directory in /proc would not do: that of a process that has changed its user is root. */
function found(pid: number, isTheirs: UserTest): Found | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    // Real, effective, saved, of files: any of them is what it could be again.
    const uids = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1).map(Number) ?? [];
    const state = /^State:\s+(\S)/m.exec(status)?.[1] ?? '';
    // It has ended, and waits for its parent to ask how.
    if (state === 'Z' || state === 'X' || !uids.some(isTheirs)) return null;
    return {pid, isStopped: state === 'T' || state === 't'};
  } catch {
    return null; // It has ended.
  }
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (caught) {
    // EPERM: it is found again, and counts as left.
    const {code} = caught as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw caught;
  }
}
