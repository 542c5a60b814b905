/**
 * How many cores this process can use: its CPU affinity or the quota of its cgroup (a container, a systemd unit),
 * whichever is less. Node's availableParallelism does not know the quota.
 */
import {readFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import {dirname, join} from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

export function coresToUse(): number {
  return Math.min(availableParallelism(), quota(read('/proc/self/cgroup'), read));
}

/**
 * The smallest quota of the group and its ancestors, in cores.
 * @param membership the text of /proc/self/cgroup: a line `0::/path` in version 2; older versions are ignored
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

/** Empty if there is no such file, or the system has no cgroups. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
