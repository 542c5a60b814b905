/**
 * What a worker leaves behind: nothing that has its user runs on. Code that left its isolate can have started programs that do not
 * end with their parent; they would keep the tenant's files, and once the tenant is deleted the user may be another's.
 */
import {readdirSync, readFileSync} from 'node:fs';
import type {WorkerUser} from '../../shared/ipc/control.ts';
import {failureOf} from './layers.ts';
import {asUser} from './users.ts';

/** A shell of that user sends it to all that it may send to, which is all of that user's, in one go: none can fork away from it. */
const END_ALL = 'kill -KILL -1 2>/dev/null; true';

/** @returns why it could not be done; null: nothing of this user runs */
export function endAllOf({id, group}: WorkerUser): Promise<string | null> {
  return failureOf([...asUser(id, group), 'sh', '-c', END_ALL]);
}

/** What an earlier server's workers left, when that was killed: before any of these users is used again. */
export function endLeftovers(ids: ReadonlySet<number>): number[] {
  const pids = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => ids.has(userOf(pid) ?? -1));
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (caught) {
      if ((caught as NodeJS.ErrnoException).code !== 'ESRCH') throw caught;
    }
  }
  return pids;
}

/** The owner of its directory in /proc would not do: that of a process that has changed its user is root. */
function userOf(pid: number): number | null {
  try {
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return uid === undefined ? null : Number(uid);
  } catch {
    return null; // It has ended.
  }
}
