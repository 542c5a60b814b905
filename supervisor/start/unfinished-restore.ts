/** Notices a data directory that `svc restore --all` has not filled: its other tenants would seem never to have been. */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import type {Logger} from '../../shared/log.ts';

/** In the data directory while not all tenants are restored. */
export const RESTORE_FILE = 'restore-all.json';

export function warnOfUnfinishedRestore(data: string, log: Logger): void {
  if (!existsSync(join(data, RESTORE_FILE))) return;
  log.warn(`svc restore --all has not restored all tenants: run it again, or remove ${RESTORE_FILE}`);
}
