/**
 * Opening a file on a full disk: the little space it takes comes from the reserve that the supervisor keeps
 * (supervisor/disk-reserve.ts). Others may take what is given back before we do, so it is tried a few times.
 */
import {statSync, truncateSync} from 'node:fs';
import {ServiceError} from '../../shared/errors.ts';
import {RESERVE_PIECE_BYTES} from '../../shared/limits.ts';
import {openFailure} from './tenant-file.ts';

const TRIES = 4;

/** @param directory of what is opened. @throws what `open` throws, a full disk as session.storage_full 507 */
export function openWithReserve<T>(reservePath: string, directory: string, open: () => T): T {
  for (let tries = 1; ; tries++) {
    try {
      return open();
    } catch (caught) {
      const failure = openFailure(caught, directory);
      const isFull = failure instanceof ServiceError && failure.code === 'session.storage_full';
      if (!isFull || tries === TRIES || !giveBack(reservePath)) throw failure;
    }
  }
}

/** False: there is nothing left of it. */
function giveBack(path: string): boolean {
  const size = statSync(path, {throwIfNoEntry: false})?.size ?? 0;
  if (size === 0) return false;
  truncateSync(path, Math.max(0, size - RESERVE_PIECE_BYTES));
  return true;
}
