/**
 * Closes descriptors that this process inherited without requesting them. The system passes on every descriptor that is
 * not marked otherwise: from a shell to the server, from there to its children, and on to theirs.
 */
import {closeSync, readdirSync, readFileSync} from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes those that the next process would inherit. @param keep number of the first that can be closed, after the
 * standard ones and the channel
 */
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
    return []; // Only Linux has this listing, and Node marks its own descriptors everywhere.
  }
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false; // The descriptor of the listing itself is closed by now.
  }
}
