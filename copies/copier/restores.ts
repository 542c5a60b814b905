/** Restores in a thread of their own, so that the copier goes on meanwhile. */
import {Worker} from 'node:worker_threads';
import {type ErrorCode, ServiceError} from '../../shared/errors.ts';
import type {RestoreTarget} from '../../shared/ipc/copier.ts';
import type {RestoredCopy} from '../../shared/ipc/drill.ts';
import {RESTORE_THREAD_MIB} from './limits.ts';

/** `target` null: for a drill, of the newest state. */
export type RestoreOrder = {
  repository: string;
  keyFile: string;
  tenant: string;
  target: RestoreTarget | null;
  path: string;
  /** Where packages of its deployments go; null: they are not needed. */
  packages: string | null;
  withinMs: number;
};

/** `refused`: there is nothing to restore, or the store or the disk is at fault. */
export type RestoreOutcome =
  | {copy: RestoredCopy; refused: null}
  | {copy: null; refused: {code: ErrorCode; message: string}};

/**
 * Makes the tenant's file, in a drill unless its copy is at fault. When it rejects, nothing is being written any more.
 * @throws op.not_found 404; ServiceError 503, also after its time
 */
export async function restoreInThread(order: RestoreOrder): Promise<RestoredCopy> {
  const {copy, refused} = await runThread(order);
  if (refused !== null) throw new ServiceError(refused.code, refused.message);
  return copy;
}

function runThread(order: RestoreOrder): Promise<RestoreOutcome> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./restore.thread.js', import.meta.url), {
      workerData: order,
      resourceLimits: {maxOldGenerationSizeMb: RESTORE_THREAD_MIB},
    });
    const timer = setTimeout(() => void thread.terminate(), order.withinMs);
    thread.on('message', resolve);
    thread.on('error', reject);
    thread.on('exit', () => {
      clearTimeout(timer);
      reject(new ServiceError('session.worker_unavailable', 'the restore took too long, or has ended early'));
    });
  });
}
