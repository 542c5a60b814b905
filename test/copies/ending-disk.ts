/** A disk on which a process ends at one of its changes. */
import {writeAll} from '../../engine/copies/bytes.ts';
import type {Disk} from '../../engine/copies/disk.ts';
import {QUICK_DISK} from './model.ts';

export class Ended extends Error {}

/** Ends the process at one of its changes; a write is half done by then. */
export function endsAt(change: number): Disk {
  let changes = 0;
  const step = <Args extends unknown[], T>(make: (...args: Args) => T, half?: (...args: Args) => void) => {
    return (...args: Args): T => {
      if (changes++ !== change) return make(...args);
      half?.(...args);
      throw new Ended();
    };
  };
  return {
    open: QUICK_DISK.open,
    close: QUICK_DISK.close,
    write: step(QUICK_DISK.write, (fd, bytes, at) => writeAll(fd, bytes.subarray(0, bytes.length >> 1), at)),
    truncate: step(QUICK_DISK.truncate),
    sync: step(QUICK_DISK.sync),
    rename: step(QUICK_DISK.rename),
    remove: step(QUICK_DISK.remove),
    syncDirectory: step(QUICK_DISK.syncDirectory),
  };
}
