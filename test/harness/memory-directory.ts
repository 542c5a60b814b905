/**
 * A directory for files whose syncs say nothing, because the test plays the disk or never looks at it: in memory where the system has such a place.
 * A sync on a real disk takes as long as the rest of such a test.
 */
import {accessSync, constants, mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const IN_MEMORY = '/dev/shm';

export function makeMemoryDirectory(prefix: string): string {
  return mkdtempSync(join(isUsable(IN_MEMORY) ? IN_MEMORY : tmpdir(), prefix));
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
