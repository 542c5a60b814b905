/**
 * Where tenants have users of their own, a worker starts as root, with nothing of root but the right to change its user, and does so
 * once: before it opens anything of the tenant, and before there is any code but ours in it. There is no way back. The system
 * applies it to all threads, and from then on lets nobody of that user look into the process or trace it.
 */
import {assert} from '../shared/assert.ts';
import type {WorkerUser} from '../shared/ipc/control.ts';

export function become({id, group}: WorkerUser): void {
  const {setgroups, setgid, setuid, getuid, geteuid, getgid, getegid} = process;
  assert(setgroups !== undefined && setgid !== undefined && setuid !== undefined, 'users are what POSIX has');
  setgroups([group]);
  setgid(id);
  setuid(id);
  const now = [getuid?.(), geteuid?.(), getgid?.(), getegid?.()];
  assert(
    now.every(number => number === id),
    `the worker is ${now.join(', ')} and not ${id}`,
  );
  assert(!canReturn(setuid), 'there is no way back to root');
}

function canReturn(setuid: (id: number) => void): boolean {
  try {
    setuid(0);
    return true;
  } catch {
    return false; // As it should be.
  }
}
