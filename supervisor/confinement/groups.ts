/**
 * A cgroup (version 2) for each worker, where the server's own cgroup is delegated to it: the kernel counts the memory of the worker and
 * of all its children together, with what they put into a tmpfs, and ends all of them at once, however they fork.
 *
 *   <own>/server        the supervisor, routers and the egress process: a cgroup that shares controllers has no processes of its own
 *   <own>/workers/<n>   a worker and all that it starts
 *
 * Delegated means: the controllers are there, the files can be written, and no process of another program is in the cgroup (a login
 * session has the shell). With systemd it is `Delegate=memory pids` of the unit.
 */
import {existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {totalmem} from 'node:os';
import {join, relative} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from '../../shared/log.ts';
import {
  LEFTOVER_LOOK_MS,
  LEFTOVER_LOOKS_MAX,
  WORKER_GROUP_BYTES_MAX,
  WORKER_GROUP_SHARE_MAX,
  WORKER_THREADS_MAX,
} from '../limits.ts';

const CONTROLLERS = ['memory', 'pids'];

/** What is written into each group, by the name of its file. */
type GroupLimits = Readonly<Record<string, string>>;

export type FoundGroups = {groups: WorkerGroups; missing: null} | {groups: null; missing: string};

/**
 * Moves this process: to be called before it has children.
 *
 * @param proc the directory of this process in /proc
 */
export function findGroups(log: Logger, proc = '/proc/self'): FoundGroups {
  try {
    const own = ownGroup(proc);
    const missing = own === null ? 'there is no cgroup v2 file system' : whyNotOurs(own);
    return missing === null ? {groups: prepare(own!, log), missing} : {groups: null, missing};
  } catch (caught) {
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
    return {groups: null, missing: caught.message};
  }
}

/** The directory of the cgroup that this process is in; null: there is no such file system, or it does not show the group. */
function ownGroup(proc: string): string | null {
  const path = /^0::(\/.*)$/m.exec(readFileSync(join(proc, 'cgroup'), 'utf8'))?.[1];
  // Fields: id, parent, device, root of the mount, mount point, options … - type.
  const mount = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(readFileSync(join(proc, 'mountinfo'), 'utf8'));
  if (path === undefined || mount === null) return null;
  const below = relative(mount[1]!, path);
  return below.startsWith('..') ? null : join(mount[2]!, below);
}

/** Null: the group is for this server to divide. */
function whyNotOurs(own: string): string | null {
  const controllers = words(join(own, 'cgroup.controllers'));
  const lacking = CONTROLLERS.filter(name => !controllers.includes(name));
  if (lacking.length > 0) return `the cgroup ${own} has no controller ${lacking.join(' and ')}`;
  const others = words(join(own, 'cgroup.procs')).filter(pid => pid !== String(process.pid));
  return others.length === 0 ? null : `the cgroup ${own} has processes of other programs: it is not delegated to svc`;
}

function prepare(own: string, log: Logger): WorkerGroups {
  const [server, workers] = [join(own, 'server'), join(own, 'workers')];
  for (const path of [server, workers]) mkdirSync(path, {recursive: true});
  const groups = new WorkerGroups(workers, groupLimits(), log);
  // Of an earlier server that was killed.
  for (const entry of readdirSync(workers, {withFileTypes: true})) {
    if (entry.isDirectory()) void groups.end(join(workers, entry.name));
  }
  writeFileSync(join(server, 'cgroup.procs'), String(process.pid));
  for (const path of [own, workers]) {
    writeFileSync(join(path, 'cgroup.subtree_control'), CONTROLLERS.map(name => `+${name}`).join(' '));
  }
  // A first group shows whether limits can be set.
  void groups.end(groups.make());
  return groups;
}

function groupLimits(): GroupLimits {
  // 0: this process has no limit; without one it can also be more than there is.
  const machine = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const bytes = Math.min(WORKER_GROUP_BYTES_MAX, Math.floor(WORKER_GROUP_SHARE_MAX * machine));
  return {'memory.max': String(bytes), 'pids.max': String(WORKER_THREADS_MAX)};
}

export class WorkerGroups {
  readonly #root: string;
  readonly #limits: GroupLimits;
  readonly #log: Logger;
  #made = 0;

  constructor(root: string, limits: GroupLimits, log: Logger) {
    this.#root = root;
    this.#limits = limits;
    this.#log = log;
  }

  /** A group without processes. @throws errors of the file system */
  make(): string {
    let path: string;
    do path = join(this.#root, String(++this.#made));
    while (existsSync(path));
    mkdirSync(path);
    for (const [name, value] of Object.entries(this.#limits)) writeFileSync(join(path, name), value);
    return path;
  }

  /** Puts a process that has no children yet into a group of its own. A failure is logged, and the process goes on without. */
  enter(pid: number): string | null {
    let path: string | null = null;
    try {
      path = this.make();
      writeFileSync(join(path, 'cgroup.procs'), String(pid));
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      this.#log.error('a worker has no cgroup of its own', {pid, error});
    }
    return path;
  }

  /** Ends all that runs in it, and removes it. */
  async end(path: string): Promise<void> {
    try {
      // Linux has it from 5.14 on; before that, what is left is ended by its user (leftovers.ts).
      const kill = join(path, 'cgroup.kill');
      if (existsSync(kill)) writeFileSync(kill, '1');
      for (let looks = 0; looks < LEFTOVER_LOOKS_MAX; looks++) {
        if (isRemoved(path)) return;
        await delay(LEFTOVER_LOOK_MS);
      }
      this.#log.warn('a cgroup of a worker that ended cannot be removed', {path});
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      this.#log.error('the cgroup of a worker could not be ended', {path, error});
    }
  }
}

/** False: there are processes in it, which are ending. */
function isRemoved(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (caught) {
    const {code} = caught as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    if (code === 'EBUSY' || code === 'ENOTEMPTY') return false;
    throw caught;
  }
}

function words(path: string): string[] {
  return readFileSync(path, 'utf8').split(/\s+/).filter(Boolean);
}
