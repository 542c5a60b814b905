/**
 * Thread entry: restores a tenant, for a drill or into a server, and posts the result. Large tenants take seconds of
 * computing, in which the copier goes on to copy and to answer.
 */
import {readFile} from 'node:fs/promises';
import {parentPort, workerData} from 'node:worker_threads';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {expectedAt, restoreForDrill} from '../drill/drill.ts';
import {parseRepositoryKey} from '../repository/keys.ts';
import {Repository} from '../repository/repository.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import {RestoreError} from '../restore/restore-error.ts';
import {restoreFile} from '../restore/restore-file.ts';
import {restorePackages} from '../restore/restore-packages.ts';
import {openStore} from '../store/open-store.ts';
import {StoreError} from '../store/store-error.ts';
import type {RestoreOrder, RestoreOutcome} from './restores.ts';

parentPort?.postMessage(await outcomeOf(workerData as RestoreOrder));

async function outcomeOf(order: RestoreOrder): Promise<RestoreOutcome> {
  const {repository: url, keyFile, tenant, target, path, packages} = order;
  const store = await openStore(url);
  try {
    const repository = await Repository.open(store, parseRepositoryKey(await readFile(keyFile, 'utf8')));
    if (target === null) return {copy: await restoreForDrill(repository, tenant, path), refused: null};
    const restored = await restoreFile({repository, tenant, target, path, isKept: true});
    if (packages !== null) await restorePackages(repository, tenant, packages);
    return {copy: {checks: [], point: expectedAt(restored), gap: restored.gap}, refused: null};
  } catch (caught) {
    return {copy: null, refused: refusedBy(caught)};
  } finally {
    store.close();
  }
}

function refusedBy(caught: unknown): NonNullable<RestoreOutcome['refused']> {
  if (caught instanceof RepositoryError && caught.code === 'no_copies')
    return {code: 'op.not_found', message: caught.message};
  if (caught instanceof RestoreError && caught.code === 'no_space')
    return {code: 'session.storage_full', message: caught.message};
  const isKnown = [RepositoryError, RestoreError, StoreError].some(kind => caught instanceof kind);
  if (isNoSpace(caught)) return {code: 'session.storage_full', message: 'the disk is full: free space and try again'};
  if (!isKnown) throw caught;
  return {code: 'session.worker_unavailable', message: (caught as Error).message};
}
