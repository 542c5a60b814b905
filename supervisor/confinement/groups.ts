/**
 * A cgroup (version 2) for each worker, if the server's own cgroup is delegated to it. The kernel counts the memory of
 * the worker and all its children together, including their files in a tmpfs, and kills all of them at once, however
 * they fork.
 *
 *   <own>/server        the supervisor, routers and the egress process, because a cgroup that shares controllers
 *                       must not contain processes
 *   <own>/workers/<n>   a worker and all its children
 *
 * Delegated means that the controllers are available, the files are writable, and the cgroup contains no process of
 * another program (in a login session it contains the shell). With systemd, use `Delegate=memory pids` in the unit.
 */
import {existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {totalmem} from 'node:os';
import {join, relative} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import type {Logger} from '../../shared/log.ts';
import {
  LEFTOVER_POLL_MS,
  LEFTOVER_POLLS_MAX,
  WORKER_GROUP_BYTES_MAX,
  WORKER_GROUP_SHARE_MAX,
  WORKER_THREADS_MAX,
} from '../limits.ts';

const CONTROLLERS = ['memory', 'pids'];

/** Limits that are written into each group, by file name. */
type GroupLimits = Readonly<Record<string, string>>;

export type FoundGroups = {groups: WorkerGroups; missing: null} | {groups: null; missing: string};

/**
 * Moves this process into its group. Must be called before it has children.
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

/**
 * The directory of the cgroup that contains this process; null: the file system is not mounted or does not show the
 * group.
 */
function ownGroup(proc: string): string | null {
  const path = /^0::(\/.*)$/m.exec(readFileSync(join(proc, 'cgroup'), 'utf8'))?.[1];
  // Fields: id, parent, device, root of the mount, mount point, options … - type.
  const mount = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(readFileSync(join(proc, 'mountinfo'), 'utf8'));
  if (path === undefined || mount === null) return null;
  const below = relative(mount[1]!, path);
  return below.startsWith('..') ? null : join(mount[2]!, below);
}

/** @returns why this server cannot divide the group; null: it can */
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
  // Left by an earlier server that was killed.
  for (const entry of readdirSync(workers, {withFileTypes: true})) {
    if (entry.isDirectory()) void groups.end(join(workers, entry.name));
  }
  writeFileSync(join(server, 'cgroup.procs'), String(process.pid));
  for (const path of [own, workers]) {
    writeFileSync(join(path, 'cgroup.subtree_control'), CONTROLLERS.map(name => `+${name}`).join(' '));
  }
  // Creating a first group shows whether limits can be set.
  void groups.end(groups.make());
  return groups;
}

function groupLimits(): GroupLimits {
  // constrainedMemory returns 0 if this process has no limit, and the value can also exceed the physical memory.
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

  /** Creates an empty group. @throws errors of the file system */
  make(): string {
    let path: string;
    do path = join(this.#root, String(++this.#made));
    while (existsSync(path));
    mkdirSync(path);
    for (const [name, value] of Object.entries(this.#limits)) writeFileSync(join(path, name), value);
    return path;
  }

  /**
   * Moves a process that has no children yet into a new group. A failure is logged, and the process runs without a
   * group.
   */
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

  /** Kills all processes in the group, and removes it. */
  async end(path: string): Promise<void> {
    try {
      // Linux 5.14 and later have cgroup.kill. Before that, remaining processes are killed by their user
      // (leftovers.ts).
      const kill = join(path, 'cgroup.kill');
      if (existsSync(kill)) writeFileSync(kill, '1');
      for (let polls = 0; polls < LEFTOVER_POLLS_MAX; polls++) {
        if (isRemoved(path)) return;
        await delay(LEFTOVER_POLL_MS);
      }
      this.#log.warn('a cgroup of a worker that ended cannot be removed', {path});
    } catch (error) {
      if (!(error instanceof Error && 'syscall' in error)) throw error;
      this.#log.error('the cgroup of a worker could not be ended', {path, error});
    }
  }
}

/** False: the group still contains processes, which are ending. */
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
