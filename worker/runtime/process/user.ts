/**
 * Drops root for an unprivileged user. On servers where tenants have users of their own, a worker starts as root, with
 * the right to change its user and no other. It changes the user once, before it opens any tenant file and before any
 * code but svc's is loaded. A process of isolates that a spare worker has started does the same, and its worker says so
 * before it has a tenant. This cannot be undone. The kernel applies the change to all threads, and afterwards no process
 * of that user can inspect or trace this one.
 */
import {assert} from '../../../shared/assert.ts';
import type {WorkerUser} from '../../../shared/ipc/control.ts';

export function become({id, group}: WorkerUser): void {
  const {setgroups, setgid, setuid, getuid, geteuid, getgid, getegid} = process;
  assert(setgroups !== undefined && setgid !== undefined && setuid !== undefined, 'users are what POSIX has');
  setgroups([group]);
  setgid(id);
  setuid(id);
  const now = [getuid?.(), geteuid?.(), getgid?.(), getegid?.()];
  assert(
    now.every(number => number === id),
    `this process is ${now.join(', ')} and not ${id}`,
  );
  assert(!canReturn(setuid), 'there is no way back to root');
}

function canReturn(setuid: (id: number) => void): boolean {
  try {
    setuid(0);
    return true;
  } catch {
    return false; // as expected
  }
}
