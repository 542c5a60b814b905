/**
 * A drill restores the newest state of a tenant from its repository into a scratch file, checks it, and records the
 * result in the repository. `check` decides in which process the file is opened: a server uses a confined one.
 *
 *   objects ──▶ restore ──▶ pages, identity, head, content, functions ──▶ proof
 */
import {mkdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import type {Position} from '../../engine/copies/page-set.ts';
import type {DrillCheck, DrilledFile, ExpectedPoint, RestoredCopy} from '../../shared/ipc/drill.ts';
import type {Repository} from '../repository/repository.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import {RestoreError} from '../restore/restore-error.ts';
import {type RestoreProgress, restoreFile} from '../restore/restore-file.ts';
import {checksOf, hasPassed, type Proof} from './proof.ts';

export type CopiesReader = Pick<Repository, 'copies' | 'fetch' | 'addProof'>;

export type DrillOptions = {
  repository: CopiesReader;
  tenant: string;
  /** A directory that is made, and removed afterwards. */
  directory: string;
  check: (path: string, expected: ExpectedPoint) => Promise<DrilledFile>;
  onProgress?: (progress: RestoreProgress) => void;
};

/** @throws RestoreError `no_space`; StoreError: the store cannot be reached, which says nothing about the copy */
export async function drillTenant({repository, tenant, directory, check, onProgress}: DrillOptions): Promise<Proof> {
  const startedMs = Date.now();
  await rm(directory, {recursive: true, force: true});
  await mkdir(directory, {mode: 0o700});
  try {
    const path = join(directory, 'tenant.sqlite');
    const restored = await restoreForDrill(repository, tenant, path, onProgress);
    const checked = restored.point === null ? null : await check(path, restored.point);
    const proof = proofOf(tenant, startedMs, restored, checked);
    await record(repository, proof);
    return proof;
  } finally {
    await rm(directory, {recursive: true, force: true});
  }
}

/** Makes the file at `path`, unless the copy is at fault. @throws RestoreError `no_space`; StoreError */
export async function restoreForDrill(
  repository: CopiesReader,
  tenant: string,
  path: string,
  onProgress?: (progress: RestoreProgress) => void,
): Promise<RestoredCopy> {
  const checks: DrillCheck[] = [];
  try {
    const copies = await repository.copies(tenant);
    const {unreadable} = copies;
    const findings = unreadable.map(object => `the object ${object} is missing or damaged`);
    checks.push({check: 'objects', findings, objects: [...unreadable]});
    const progress = onProgress === undefined ? {} : {onProgress};
    const restored = await restoreFile({repository, tenant, target: 'newest', path, isKept: false, ...progress});
    // An older state would be restored instead of the newest one that was stored.
    const {gap} = restored;
    checks.push({check: 'restore', findings: gap === null || gap.newest === null ? [] : [gap.finding], objects: []});
    return {checks, point: expectedAt(restored), gap};
  } catch (caught) {
    const isFault = caught instanceof RepositoryError || caught instanceof RestoreError;
    if (!isFault || caught.code === 'unavailable' || caught.code === 'no_space') throw caught;
    checks.push({check: 'restore', findings: [caught.message], objects: caught.object === null ? [] : [caught.object]});
    return {checks, point: null, gap: null};
  }
}

export function expectedAt({timeline, pageBytes, commit, sequence, timeMs, pages, digest}: Position): ExpectedPoint {
  return {timeline, pageBytes, commit, sequence, timeMs, pages, digest: digest.toString('hex')};
}

/** @param checked null: there was no file to check */
export function proofOf(
  tenant: string,
  startedMs: number,
  {checks: ofCopy, point}: RestoredCopy,
  checked: DrilledFile | null,
): Proof {
  const checks = [...ofCopy, ...(checked === null ? [] : checksOf(checked))];
  const {timeline, commit, sequence, timeMs} = point ?? {};
  const at_ms = Date.now();
  return {
    tenant,
    at_ms,
    duration_ms: at_ms - startedMs,
    passed: hasPassed(checks),
    point: point === null ? null : {timeline: timeline!, commit: commit!, sequence: sequence!, time_ms: timeMs!},
    digest: point?.digest ?? null,
    documents: checked?.report?.documents ?? null,
    records: checked?.report?.records ?? null,
    functions: checked?.functions ?? 'not_started',
    query: checked?.query ?? null,
    checks,
  };
}

/** A tenant whose data key is damaged has no place for a proof. */
export async function record(repository: Pick<CopiesReader, 'addProof'>, proof: Proof): Promise<void> {
  await repository.addProof(proof.tenant, proof).catch((caught: unknown) => {
    if (!(caught instanceof RepositoryError) || proof.passed) throw caught;
  });
}
