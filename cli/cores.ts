/**
 * How many cores this process may use: those it may run on, or what the cgroup (a container, a systemd unit) allows, if that is
 * less. Node's availableParallelism knows nothing of the second.
 */
import {readFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {dirname, join} from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

export function coresToUse(): number {
  return Math.min(availableParallelism(), quota(read('/proc/self/cgroup'), read));
}

/**
 * The least quota of the group and those around it, in cores.
 * @param membership what /proc/self/cgroup says: a line `0::/path` in version 2; older ones are not looked at
 */
export function quota(membership: string, readFile: (path: string) => string): number {
  const group = /^0::(\/.*)$/m.exec(membership)?.[1];
  if (group === undefined) return Number.POSITIVE_INFINITY;
  let least = Number.POSITIVE_INFINITY;
  for (let path = join(CGROUPS, group); path.startsWith(CGROUPS); path = dirname(path)) {
    const [, allowed, period] = /^(\d+) (\d+)/.exec(readFile(join(path, 'cpu.max'))) ?? [];
    if (allowed !== undefined) least = Math.min(least, Number(allowed) / Number(period));
  }
  return least;
}

/** Empty when there is no such file, or no such system. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
