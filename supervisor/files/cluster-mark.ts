/**
 * Of which cluster a data directory is: `<data>/cluster-start`. Generations of tenants are those of one cluster, so with
 * another one, or of a server alone, a directory would name other tenants, and such a tenant would be taken for a deleted
 * one. A server that served the files of a cluster alone would acknowledge writes that the cluster drops.
 *
 *   no mark: of a server alone ──svc cluster adopt──▶ adopting ──▶ of a cluster ◀──each start with --cluster
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {assert} from '../../shared/assert.ts';
import {StartError} from './start-error.ts';

const MARK_FILE = 'cluster-start';
const START = /^[0-9a-f]{32}$/;

export type ClusterMark = {
  /** The newest start of svc on it, which has ended when the next one has its lock; null: it is not known. */
  readonly start: string | null;
  readonly cluster: string;
  /** Null: its tenants are those of the cluster. */
  readonly adopting: Adopting | null;
};

/** Tenants of up to the generation `last` get one that is higher by `added`. */
export type Adopting = {readonly last: number; readonly added: number};

/** Null: no host of a cluster has used the directory. */
export function readClusterMark(data: string): ClusterMark | null {
  const [start = '', cluster = '', ...rest] = textIn(join(data, MARK_FILE))?.split(' ') ?? [];
  if (cluster === '') return null;
  const [word, last, added] = rest;
  const adopting = word === 'adopting' ? {last: Number(last), added: Number(added)} : null;
  return {start: START.test(start) ? start : null, cluster, adopting};
}

/** It is on disk when this returns. */
export function writeClusterMark(data: string, {start, cluster, adopting}: ClusterMark): void {
  assert(start !== null && START.test(start), 'a start has a random id');
  const path = join(data, MARK_FILE);
  const more = adopting === null ? '' : ` adopting ${adopting.last} ${adopting.added}`;
  writeFileSync(`${path}.new`, `${start} ${cluster}${more}`, {mode: 0o600, flush: true});
  renameSync(`${path}.new`, path);
  const directory = openSync(data, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * This start uses the directory, as a host of the cluster.
 * @returns the start before this one; null: it is not known. @throws StartError
 */
export function swapStart(data: string, start: string, cluster: string): string | null {
  const mark = readClusterMark(data);
  if (mark !== null && mark.adopting !== null) throw new StartError(unfinished(data, mark));
  const tenants = join(data, 'tenants');
  const hasTenants = existsSync(tenants) && readdirSync(tenants).length > 0;
  if (hasTenants && mark === null) {
    throw new StartError(
      `${data} has tenants of a server that is no host of a cluster: svc cluster adopt makes them tenants of the cluster ${cluster}`,
    );
  }
  if (hasTenants && mark?.cluster !== cluster) {
    throw new StartError(
      `${data} has tenants of the cluster ${mark?.cluster}: start this host on a directory without tenants`,
    );
  }
  // If it is lost, the next start waits for the lease of this one.
  writeClusterMark(data, {start, cluster, adopting: null});
  return mark?.start ?? null;
}

/** This start uses the directory for a server alone. @throws StartError */
export function refuseOfCluster(data: string): void {
  const mark = readClusterMark(data);
  if (mark === null) return;
  if (mark.adopting !== null) throw new StartError(unfinished(data, mark));
  throw new StartError(
    `${data} is of a host of the cluster ${mark.cluster}: start it with --cluster. To leave the cluster with the files as they are here, remove ${join(data, MARK_FILE)}`,
  );
}

function unfinished(data: string, {cluster}: ClusterMark): string {
  return `not all tenants of ${data} are in the cluster ${cluster} yet: run svc cluster adopt again`;
}

function textIn(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw caught;
  }
}
