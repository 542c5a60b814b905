/** What each sandbox layer confines, and how an operator gets a missing one. docs/operating.md has the details. */
import type {ServerLayer} from '../../shared/protocol/server.ts';
import {isDemanded, type SandboxLayer, type SandboxLayerName} from '../confinement/layers.ts';

const TEXTS: Readonly<Record<SandboxLayerName, {effect: string; toDo: string}>> = {
  limits: {
    effect: 'each process has limits on memory and descriptors, and workers are the first to go when memory runs out',
    toDo: 'Install prlimit and choom (util-linux).',
  },
  users: {
    effect: "each tenant has a system user of its own, so its code cannot reach other tenants' files and processes",
    toDo: 'Start the server as root, with the data directory where other users can go, such as /var/lib/svc.',
  },
  privileges: {
    effect: 'processes have no capabilities and cannot gain any',
    toDo: 'Install setpriv (util-linux).',
  },
  network: {
    effect: 'workers have no network, except through the egress process',
    toDo: 'Start the server as root with CAP_SYS_ADMIN, or enable unprivileged user namespaces.',
  },
  memory: {
    effect: 'the kernel limits the memory of a worker and its children together',
    toDo: 'Run the server as a systemd unit with Delegate=memory pids, on cgroup v2.',
  },
  files: {
    effect: 'the kernel confines file access of sandboxes and Node processes',
    toDo: 'Use Linux 5.13 or newer with Landlock enabled, and install perl.',
  },
};

export function layersShown(layers: readonly SandboxLayer[]): ServerLayer[] {
  return layers.map(({name, missing}) => ({
    name,
    is_active: missing === null,
    is_required: isDemanded(name),
    effect: TEXTS[name].effect,
    missing,
    to_do: missing === null ? null : TEXTS[name].toDo,
  }));
}
