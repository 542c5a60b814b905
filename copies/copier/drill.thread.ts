/**
 * Thread entry: restores a tenant for a drill and posts the result. Large tenants take seconds of computing, in which
 * the copier goes on to copy and to answer.
 */
import {readFile} from 'node:fs/promises';
import {parentPort, workerData} from 'node:worker_threads';
import {NoSpaceForDrill, restoreForDrill} from '../drill/drill.ts';
import {parseRepositoryKey} from '../repository/keys.ts';
import {Repository} from '../repository/repository.ts';
import {openStore} from '../store/open-store.ts';
import {StoreError} from '../store/store-error.ts';
import type {DrillOrder, DrillOutcome} from './drills.ts';

parentPort?.postMessage(await outcomeOf(workerData as DrillOrder));

async function outcomeOf({repository: url, keyFile, tenant, path}: DrillOrder): Promise<DrillOutcome> {
  const store = await openStore(url);
  try {
    const repository = await Repository.open(store, parseRepositoryKey(await readFile(keyFile, 'utf8')));
    return {copy: await restoreForDrill(repository, tenant, path), reason: null};
  } catch (caught) {
    if (!(caught instanceof NoSpaceForDrill || caught instanceof StoreError)) throw caught;
    return {copy: null, reason: caught.message};
  } finally {
    store.close();
  }
}
