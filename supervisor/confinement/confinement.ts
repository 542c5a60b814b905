/**
 * Determines how children are started so that code that has escaped its isolate can reach little: with the strongest
 * sandbox layers that this machine supports, probed at start (`layers.ts`).
 */
import {readFileSync} from 'node:fs';
import {readingOnly} from '../../shared/landlock.ts';
import {WORKER_DATA_BYTES_MAX, WORKER_DESCRIPTORS_MAX, WORKER_OOM_ADJUSTMENT, WORKER_THREADS_MAX} from '../limits.ts';
import {failureOf, type Layer, type SandboxLayer, stack} from './layers.ts';
import type {UserRange} from './user-numbers.ts';
import {findUsers, type UsersNeed} from './users.ts';

export type Confinement = {
  /** Each tenant has one of these users; null: all run as the server's user. */
  users: UserRange | null;
  /** The command in front of the executable of a worker, spares included. */
  worker: readonly string[];
  router: readonly string[];
  egress: readonly string[];
  /** The sandbox layers of workers. */
  sandboxLayers: readonly SandboxLayer[];
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
    sandboxLayers: [...worker.sandboxLayers, {name: 'users', missing}, {name: 'files', missing: files}],
  };
}

/** @param changesUser the worker switches to its tenant's user when it gets its tenant (worker/runtime/process/user.ts) */
function workerLayers(changesUser: boolean): Layer[] {
  const descriptors = Math.min(WORKER_DESCRIPTORS_MAX, descriptorsMax());
  // The kernel counts threads per user: for the server's own user this would limit all tenants together, or nothing at
  // all.
  const processes = changesUser ? [`--nproc=${WORKER_THREADS_MAX}`] : [];
  return [
    limits([`--data=${WORKER_DATA_BYTES_MAX}`, `--nofile=${descriptors}`, ...processes]),
    // When the machine runs out of memory, workers are killed before routers and the supervisor.
    {layer: 'limits', candidates: [['choom', '-n', String(WORKER_OOM_ADJUSTMENT), '--']]},
    network(),
    privileges(changesUser ? ['setuid', 'setgid'] : []),
  ];
}

function routerLayers(): Layer[] {
  // Only root can listen on ports below 1024.
  return [limits([]), privileges(['net_bind_service'])];
}

/** The egress process parses input from code that may have escaped its isolate, and connecting needs no privileges. */
function egressLayers(): Layer[] {
  return [limits([]), privileges([])];
}

/** Disables core dumps, because they would write the process's secrets to a file. */
function limits(more: readonly string[]): Layer {
  return {layer: 'limits', candidates: [['prlimit', '--core=0', ...more, '--']]};
}

/**
 * An empty network namespace, even without loopback. Workers reach the network through the egress process, over Unix
 * sockets with names in the file system. Each worker has its own namespace, so that workers do not share abstract
 * sockets and IPC either (decision 0039).
 */
function network(): Layer {
  const own = ['--net', '--ipc', '--'];
  const isRoot = process.geteuid?.() === 0;
  return {
    layer: 'network',
    candidates: [isRoot ? ['unshare', ...own] : ['unshare', '--user', '--map-current-user', ...own]],
  };
}

/** Removing capabilities from the bounding set requires a capability; setting no_new_privs requires none. */
function privileges(kept: readonly string[]): Layer {
  const bounding = `--bounding-set=${['-all', ...kept.map(name => `+${name}`)].join(',')}`;
  const [command, last] = [['setpriv', '--no-new-privs'], '--'];
  const isRoot = process.geteuid?.() === 0;
  const full = [...command, '--clear-groups', '--inh-caps=-all', bounding, last];
  const candidates = [
    [...command, '--inh-caps=-all', last],
    [...command, last],
  ];
  return {layer: 'privileges', candidates: isRoot ? [full, ...candidates] : candidates};
}

/** Maximum number of descriptors of a child, at most our own limit, because we cannot grant more. */
function descriptorsMax(): number {
  try {
    const line = /^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'));
    return line === null ? Number.POSITIVE_INFINITY : Number(line[1]);
  } catch {
    return Number.POSITIVE_INFINITY; // no /proc: the requested number is tried
  }
}
