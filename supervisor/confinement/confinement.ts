/**
 * How children are started so that code which has left its isolate reaches little: the strongest that this machine gives,
 * found out at start by trying it (`layers.ts`).
 */
import {readFileSync} from 'node:fs';
import {readingOnly} from '../../shared/landlock.ts';
import {WORKER_DATA_BYTES_MAX, WORKER_DESCRIPTORS_MAX, WORKER_OOM_ADJUSTMENT, WORKER_THREADS_MAX} from '../limits.ts';
import {failureOf, type Layer, stack, type Wall} from './layers.ts';
import type {UserRange} from './user-numbers.ts';
import {findUsers, type UsersNeed} from './users.ts';

export type Confinement = {
  /** Of which each tenant has one; null: all have the server's. */
  users: UserRange | null;
  /** What stands before the executable of a worker, of a spare too. */
  worker: readonly string[];
  router: readonly string[];
  egress: readonly string[];
  /** Those of workers. */
  walls: readonly Wall[];
};

export async function findConfinement(need: UsersNeed): Promise<Confinement> {
  const {users, missing} = await findUsers(need);
  const [worker, router, egress, files] = await Promise.all([
    stack(workerLayers(users !== null)),
    stack(routerLayers()),
    stack(egressLayers()),
    failureOf(['setpriv', '--no-new-privs', '--', ...readingOnly(process.execPath, []), process.execPath, '--version']),
  ]);
  return {
    users,
    worker: worker.command,
    router: router.command,
    egress: egress.command,
    walls: [...worker.walls, {name: 'users', missing}, {name: 'files', missing: files}],
  };
}

/** @param changesUser it becomes its tenant's when it is told which that is (worker/user.ts) */
function workerLayers(changesUser: boolean): Layer[] {
  const descriptors = Math.min(WORKER_DESCRIPTORS_MAX, descriptorsMax());
  // Counted by user: of the server's own it would be no limit, or one for all tenants together.
  const processes = changesUser ? [`--nproc=${WORKER_THREADS_MAX}`] : [];
  return [
    limits([`--data=${WORKER_DATA_BYTES_MAX}`, `--nofile=${descriptors}`, ...processes]),
    // When the machine has no memory left, a worker goes before routers and the supervisor do.
    {wall: 'limits', candidates: [['choom', '-n', String(WORKER_OOM_ADJUSTMENT), '--']]},
    network(),
    privileges(changesUser ? ['setuid', 'setgid'] : []),
  ];
}

function routerLayers(): Layer[] {
  // Ports below 1024 are root's.
  return [limits([]), privileges(['net_bind_service'])];
}

/** It hears what code says that has left its isolate, and needs no rights to connect. */
function egressLayers(): Layer[] {
  return [limits([]), privileges([])];
}

/** No core dump: it would be what the process knows, as a file. */
function limits(more: readonly string[]): Layer {
  return {wall: 'limits', candidates: [['prlimit', '--core=0', ...more, '--']]};
}

/**
 * A network of its own with nothing in it, not even loopback: the way out is the egress process, over Unix sockets with names in the file system.
 * Its own and not one for all, so that workers do not share abstract sockets and IPC either (decision 0039).
 */
function network(): Layer {
  const own = ['--net', '--ipc', '--'];
  const isRoot = process.geteuid?.() === 0;
  return {
    wall: 'network',
    candidates: [isRoot ? ['unshare', ...own] : ['unshare', '--user', '--map-current-user', ...own]],
  };
}

/** Taking capabilities out of the bounding set needs one; that none can be gained by running a program needs none. */
function privileges(kept: readonly string[]): Layer {
  const bounding = `--bounding-set=${['-all', ...kept.map(name => `+${name}`)].join(',')}`;
  const [command, last] = [['setpriv', '--no-new-privs'], '--'];
  const isRoot = process.geteuid?.() === 0;
  const full = [...command, '--clear-groups', '--inh-caps=-all', bounding, last];
  const candidates = [
    [...command, '--inh-caps=-all', last],
    [...command, last],
  ];
  return {wall: 'privileges', candidates: isRoot ? [full, ...candidates] : candidates};
}

/** How many descriptors a child may have at most: more than we may have nobody can give it. */
function descriptorsMax(): number {
  try {
    const line = /^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    return line === null ? Number.POSITIVE_INFINITY : Number(line[1]);
  } catch {
    return Number.POSITIVE_INFINITY; // No /proc: what is asked for is tried.
  }
}
