/**
 * `svc restore --follow` keeps a data directory warm: `standby/` has a copy of each tenant, which gets what is stored in
 * the repository once per interval. `svc promote` makes it a server's.
 */
import {mkdir, rename, writeFile} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import {setTimeout as delay} from 'node:timers/promises';
import type {Repository} from '../../copies/repository/repository.ts';
import {RepositoryError} from '../../copies/repository/repository-error.ts';
import {Standby, type StandbyStep} from '../../copies/restore/standby.ts';
import {StoreError} from '../../copies/store/store-error.ts';
import {STANDBY_DIRECTORY} from '../../shared/standby.ts';
import {tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import {counted} from '../counted.ts';
import {CommandFailure} from '../failure.ts';
import {FOLLOW_SYNC_MS} from '../limits.ts';
import type {OwnedDirectory} from './place.ts';
import {fetchServerState} from './server-state.ts';

/** What `svc promote` needs to know. */
export type FollowNote = {from: string; key: string; repository: string};

export const FOLLOW_NOTE = 'follow.json';
export const STATE_DIRECTORY = 'state';
export const STATE_FAULT = "the server's own files (keys, audit log, which tenants it had) are not up to date";

export function standbyOf(repository: Repository, data: string): Standby {
  return new Standby(repository, tenant => join(data, STANDBY_DIRECTORY, tenantDirectoryName(tenant, 1)));
}

/** Runs until it is aborted. @param say gets a line for the operator. @throws CommandFailure */
export async function follow(
  {data, registry}: OwnedDirectory,
  repository: Repository,
  {from, key, everyMs, signal}: {from: string; key: string; everyMs: number; signal: AbortSignal},
  say: (line: string) => void,
): Promise<void> {
  if (registry.rows().length > 0) throw new CommandFailure(`${data} has tenants: --follow needs an empty directory`);
  const root = join(data, STANDBY_DIRECTORY);
  await mkdir(root, {recursive: true, mode: 0o700});
  const isPath = !/^[a-z][a-z0-9+.-]+:/i.test(from);
  const note: FollowNote = {from: isPath ? resolve(from) : from, key: resolve(key), repository: repository.id};
  const path = join(root, FOLLOW_NOTE);
  await writeFile(`${path}.new`, `${JSON.stringify(note)}\n`, {mode: 0o600, flush: true});
  await rename(`${path}.new`, path);
  const standby = standbyOf(repository, data);
  let [syncedMs, fault, stateFault] = [Number.NEGATIVE_INFINITY, '', ''];
  while (!signal.aborted) {
    try {
      const isDue = performance.now() - syncedMs >= FOLLOW_SYNC_MS;
      if (isDue) {
        const found = await fetchServerState(repository, join(root, STATE_DIRECTORY));
        if (found !== null && found.message !== stateFault) say(`${STATE_FAULT}: ${found.message}`);
        stateFault = found?.message ?? '';
      }
      const step = isDue ? await standby.sync() : await standby.step();
      if (isDue) syncedMs = performance.now();
      fault = reportStep(step, fault, say);
    } catch (caught) {
      if (!(caught instanceof StoreError || caught instanceof RepositoryError)) throw caught;
      if (fault !== caught.message) say(`the repository cannot be read, and is tried again: ${caught.message}`);
      fault = caught.message;
    }
    await delay(everyMs, undefined, {signal}).catch(() => undefined); // aborted
  }
}

/** @param before the fault that was reported last. @returns the one that is known now */
function reportStep({sets, newestMs, gaps, failed}: StandbyStep, before: string, say: (line: string) => void): string {
  if (newestMs !== null) say(`${new Date(newestMs).toISOString()}: ${counted(sets, 'page set')}`);
  const faults = failed.map(({tenant, error}) => `${tenant}: ${error.message}`);
  const fault = [...faults, ...[...gaps].map(([tenant, {finding}]) => `${tenant}: ${finding}`)].join('; ');
  if (fault !== '' && fault !== before) say(`these tenants are not up to date: ${fault}`);
  return fault;
}
