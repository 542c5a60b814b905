/**
 * How children are started so that code which has left its isolate reaches little: the strongest that this machine gives,
 * found out at start by trying it (`layers.ts`).
 */
import {readFileSync} from 'node:fs';
import {WORKER_DATA_BYTES_MAX, WORKER_DESCRIPTORS_MAX, WORKER_OOM_ADJUSTMENT} from '../../shared/limits.ts';
import {type Layer, stack, type Wall} from './layers.ts';

export type Confinement = {
  /** What stands before the executable of a worker, of a spare too. */
  worker: readonly string[];
  router: readonly string[];
  /** Those of workers. */
  walls: readonly Wall[];
};

export async function findConfinement(): Promise<Confinement> {
  const [worker, router] = await Promise.all([stack(workerLayers()), stack(routerLayers())]);
  return {worker: worker.command, router: router.command, walls: worker.walls};
}

function workerLayers(): Layer[] {
  const descriptors = Math.min(WORKER_DESCRIPTORS_MAX, descriptorsMax());
  return [
    limits([`--data=${WORKER_DATA_BYTES_MAX}`, `--nofile=${descriptors}`]),
    // When the machine has no memory left, a worker goes before routers and the supervisor do.
    {wall: 'limits', candidates: [['choom', '-n', String(WORKER_OOM_ADJUSTMENT), '--']]},
    network(),
    privileges([]),
  ];
}

function routerLayers(): Layer[] {
  // Ports below 1024 are root's.
  return [limits([]), privileges(['net_bind_service'])];
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
  const keptIn = (set: string) => `--${set}=${['-all', ...kept.map(name => `+${name}`)].join(',')}`;
  const [command, last] = [['setpriv', '--no-new-privs'], '--'];
  const isRoot = process.geteuid?.() === 0;
  const full = [...command, '--clear-groups', keptIn('inh-caps'), keptIn('bounding-set'), last];
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
