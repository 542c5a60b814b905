/**
 * Descriptors that this process got from whoever started it without having asked: the system passes on every one that is not marked
 * otherwise, from a shell to the server, from there to its children, and on to theirs.
 */
import {closeSync, readdirSync, readFileSync} from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/** Closes those that the next process would get, too. @param keep the first that may be there: standard ones and the channel */
export function closeInherited(keep: number): void {
  for (const name of listed()) {
    const fd = Number(name);
    if (fd < keep || !isPassedOn(fd)) continue;
    try {
      closeSync(fd);
    } catch (caught) {
      if ((caught as NodeJS.ErrnoException).code !== 'EBADF') throw caught;
    }
  }
}

function listed(): string[] {
  try {
    return readdirSync('/proc/self/fd');
  } catch {
    return []; // Linux alone has this, and Node marks its own everywhere.
  }
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false; // The one of the listing itself is closed by now.
  }
}
