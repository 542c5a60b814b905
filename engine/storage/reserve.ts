/**
 * Opening a file on a full disk: the little space it takes comes from the reserve that the supervisor keeps
 * (supervisor/files/disk-reserve.ts). Others may take what is given back before we do, so it is tried a few times.
 */
import {closeSync, fstatSync, ftruncateSync, openSync} from 'node:fs';
import {ServiceError} from '../../shared/errors.ts';
import {RESERVE_PIECE_BYTES} from '../limits.ts';
import {openFailure} from './tenant-file.ts';

const TRIES = 4;

/** Held from before the worker has its tenant's user, to which the file is closed, until the tenant is open. */
export class Reserve {
  /** Null: there is none. */
  readonly #file: number | null;

  constructor(path: string) {
    this.#file = opened(path);
  }

  /** @param directory of what is opened. @throws what `open` throws, a full disk as session.storage_full 507 */
  openWith<T>(directory: string, open: () => T): T {
    for (let tries = 1; ; tries++) {
      try {
        return open();
      } catch (caught) {
        const failure = openFailure(caught, directory);
        const isFull = failure instanceof ServiceError && failure.code === 'session.storage_full';
        if (!isFull || tries === TRIES || !this.#giveBack()) throw failure;
      }
    }
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }

  /** False: there is nothing left of it. */
  #giveBack(): boolean {
    const size = this.#file === null ? 0 : fstatSync(this.#file).size;
    if (size === 0) return false;
    ftruncateSync(this.#file!, Math.max(0, size - RESERVE_PIECE_BYTES));
    return true;
  }
}

function opened(path: string): number | null {
  try {
    return openSync(path, 'r+');
  } catch (caught) {
    // Nothing rests on it, and whatever else is wrong with the data directory is said by what is opened there.
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
    return null;
  }
}
