/** Removes tenants from `<data>/set-aside` that a restore replaced, once they are old. It removes nothing else there. */
import {existsSync} from 'node:fs';
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import type {Logger} from '../../shared/log.ts';
import {SET_ASIDE_CHECK_MS, SET_ASIDE_MS} from '../limits.ts';
import {removeTree} from './tenant-files.ts';

/** Epoch milliseconds of the restore, and the name of the directory. */
const RESTORED = /^restored-(\d{13,14})-t_/;

/** @returns the names of what was removed. @throws errors of the file system */
export async function removeOldSetAside(data: string, nowMs: number): Promise<string[]> {
  const place = join(data, 'set-aside');
  const names = existsSync(place) ? await readdir(place) : [];
  const old = names.filter(name => {
    const restoredMs = RESTORED.exec(name)?.[1];
    return restoredMs !== undefined && Number(restoredMs) < nowMs - SET_ASIDE_MS;
  });
  for (const name of old) await removeTree(join(place, name));
  return old;
}

/** Does so now and once a day. Failures are logged, because nothing waits for it. */
export function removeOldSetAsideDaily(data: string, log: Logger): void {
  void removeAndLog(data, log);
  setInterval(() => void removeAndLog(data, log), SET_ASIDE_CHECK_MS).unref();
}

async function removeAndLog(data: string, log: Logger): Promise<void> {
  try {
    const names = await removeOldSetAside(data, Date.now());
    for (const name of names) log.info('removed a tenant that a restore replaced seven days ago', {name});
  } catch (error) {
    log.error('tenants that a restore replaced cannot be removed from set-aside/', {error});
  }
}
