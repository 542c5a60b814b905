/**
 * Opens a file on a full disk: the little space it needs comes from the reserve that the supervisor keeps
 * (supervisor/files/disk-reserve.ts). Other processes can take the released space first, so there are several attempts.
 */
import {closeSync, fstatSync, ftruncateSync, openSync} from 'node:fs';
import {ServiceError} from '../../shared/errors.ts';
import {RESERVE_CHUNK_BYTES} from '../limits.ts';
import {openFailure} from './tenant-file.ts';

const TRIES = 4;

/** Held from before the worker changes to its tenant's user, which cannot open the file, until the tenant is open. */
export class Reserve {
  /** Null: there is no reserve. */
  readonly #file: number | null;

  constructor(path: string) {
    this.#file = opened(path);
  }

  /**
   * @param directory of the file that is opened. @throws the errors of `open`; for a full disk session.storage_full 507
   */
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

  /** False: the reserve is empty. */
  #giveBack(): boolean {
    const size = this.#file === null ? 0 : fstatSync(this.#file).size;
    if (size === 0) return false;
    ftruncateSync(this.#file!, Math.max(0, size - RESERVE_CHUNK_BYTES));
    return true;
  }
}

function opened(path: string): number | null {
  try {
    return openSync(path, 'r+');
  } catch (caught) {
    // Nothing depends on the reserve, and the open itself reports any other problem with the data directory.
    if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
    return null;
  }
}
