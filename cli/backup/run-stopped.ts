/**
 * `svc backup run` without a server: copies what the tenants of a stopped server have and the repository lacks. No
 * tenant is served, so no job, cron or service of it runs.
 *
 *   lock of the data directory ─▶ each tenant's spool ends where its file does, or gets a base ─▶ the copier
 */
import {existsSync, lstatSync} from 'node:fs';
import {hostname} from 'node:os';
import {join} from 'node:path';
import {Copier} from '../../copies/copier/copier.ts';
import {openWriter, RepositoryRefused} from '../../copies/copier/open-repository.ts';
import type {RepositoryWriter} from '../../copies/repository/repository-writer.ts';
import {adoptFile, isToAdopt} from '../../engine/adopt/adopt-file.ts';
import {writeClosedBase} from '../../engine/copies/closed-base.ts';
import {SpoolView} from '../../engine/copies/spool-view.ts';
import {storedCommitNumber} from '../../engine/storage/commit-number.ts';
import {openReader} from '../../engine/storage/database.ts';
import {tenantTimeline} from '../../engine/storage/identity.ts';
import {STATE_DIRECTORY} from '../../shared/ipc/copier.ts';
import {createLogger, type Logger} from '../../shared/log.ts';
import type {BackupRun} from '../../shared/protocol/backups.ts';
import {irregularFiles} from '../../shared/regular-file.ts';
import {ADOPT_FILE, LOGGED_FILE, SPOOL_DIRECTORY, TENANT_FILE} from '../../shared/tenant-directory.ts';
import {serverIdentity, serverPlace, storeIdentity} from '../../supervisor/files/server-id.ts';
import {AuditLog} from '../../supervisor/keys/audit-log.ts';
import {Keys} from '../../supervisor/keys/keys.ts';
import {RefusalLog} from '../../supervisor/keys/refusal-log.ts';
import {StateCopies, serverState} from '../../supervisor/server/state-copies.ts';
import {CommandFailure} from '../failure.ts';
import {
  BACKUP_STOPPED_CHECK_MS,
  BACKUP_STOPPED_MS_MAX,
  COPIES_SPOOL_BYTES_DEFAULT,
  TENANT_STORAGE_BYTES_DEFAULT,
} from '../limits.ts';
import {inDataDirectory, type OwnedDirectory} from '../restore/place.ts';
import {exitCodeOf} from './exit-codes.ts';

export type StoppedRun = {data: string; to: string; key: string};

/** `missing`: tenants that cannot be copied, and why. */
export type StoppedResult = {run: BackupRun; missing: Map<string, string>};

/** @returns null: a server runs on the data directory. @throws CommandFailure, RepositoryError, StoreError */
export async function runStopped({data, to, key}: StoppedRun): Promise<StoppedResult | null> {
  if (!existsSync(join(data, 'registry.sqlite'))) {
    throw new CommandFailure(`${data} is not the data directory of a server: --data says where it is`);
  }
  const ran = await inDataDirectory(data, async owned => {
    const identity = await serverIdentity(data);
    const writer = await writerOf({data, to, key}, identity.server_id);
    await storeIdentity(data, {...identity, repository_id: writer.repository.id});
    return await copied(owned, writer);
  });
  return ran?.done ?? null;
}

async function writerOf({data, to, key}: StoppedRun, serverId: string): Promise<RepositoryWriter> {
  const server = {host: hostname(), serverId, place: serverPlace(data)};
  try {
    return await openWriter({repository: to, keyFile: key, ...server}, () => undefined);
  } catch (caught) {
    if (!(caught instanceof RepositoryRefused)) throw caught;
    const code = exitCodeOf(caught.code === 'no_key_file' ? 'wrong_key' : caught.code);
    throw new CommandFailure(caught.message, code, {cause: caught});
  }
}

async function copied({registry, files, data}: OwnedDirectory, writer: RepositoryWriter): Promise<StoppedResult> {
  const log = createLogger({process: 'backup'}, {level: 'error'});
  const missing = new Map<string, string>();
  const rows = new Map(registry.rows().map(row => [row.id, row]));
  const directoryOf = (tenant: string): string => copier.copies.get(tenant)!.directory;
  const look = (tenant: string, done: Promise<unknown>): Promise<void> =>
    done.then(
      () => copier.tenantIs({tenant, directory: directoryOf(tenant), isAwake: false}),
      (caught: Error) => copier.baseFailed(tenant, caught.message),
    );
  const copier: Copier = new Copier({
    settings: {
      everyMs: BACKUP_STOPPED_CHECK_MS,
      spoolBytesMax: COPIES_SPOOL_BYTES_DEFAULT,
      tenantBytesMax: TENANT_STORAGE_BYTES_DEFAULT,
    },
    open: async () => writer,
    log,
    now: Date.now,
    opened: () => undefined,
    baseDue: tenant => void look(tenant, closedBase(directoryOf(tenant))),
    timelineDue: tenant => {
      const {generation, created_ms: createdMs} = rows.get(tenant)!;
      void look(tenant, files.noteTimeline(tenant, generation, createdMs));
    },
    lastSuccessMs: null,
    succeeded: () => undefined,
  });
  for (const {id, generation} of rows.values()) {
    const directory = files.path(id, generation);
    const fault = await prepared(directory);
    if (fault === null) copier.tenantIs({tenant: id, directory, isAwake: false});
    else missing.set(id, fault);
  }
  await copyState({data, registry}, names => copier.files.copied(join(data, STATE_DIRECTORY), names), log);
  const working = copier.work();
  try {
    const run = await Promise.race([copier.run(BACKUP_STOPPED_MS_MAX), failing(copier), working.then(unexpected)]);
    return {run, missing};
  } finally {
    copier.close();
    await working;
  }
}

async function closedBase(directory: string): Promise<void> {
  if (isToAdopt(directory)) await adoptFile(directory, 'structure');
  await writeClosedBase(directory, Date.now());
}

/** Ensures that the spool ends where the file does. @returns why it cannot be copied; null: it can */
async function prepared(directory: string): Promise<string | null> {
  const path = join(directory, TENANT_FILE);
  const spool = join(directory, SPOOL_DIRECTORY);
  try {
    // A tenant that was never used has no file, and one whose directory is lost is reported by the server.
    if (!existsSync(path)) return null;
    const hasSpool = lstatSync(spool, {throwIfNoEntry: false})?.isDirectory();
    const odd = [...irregularFiles(directory, TENANT_FILE), ...irregularFiles(directory, ADOPT_FILE)];
    if (hasSpool === true) odd.push(...irregularFiles(spool, ''));
    if (hasSpool === false) odd.push(`${SPOOL_DIRECTORY} is no directory`);
    if (odd.length > 0) return odd.join(', ');
    if (existsSync(join(directory, LOGGED_FILE))) return 'it did not close in order: start the server once';
    if (isToAdopt(directory) || !endsWithFile(directory, path)) await closedBase(directory);
    return null;
  } catch (caught) {
    return (caught as Error).message;
  }
}

/** A server without backups, or one that crashed, left commits that are in no page set. */
function endsWithFile(directory: string, path: string): boolean {
  const view = SpoolView.open(directory);
  if (view === null) return false;
  const db = openReader(path);
  try {
    const {position, confirmed, sets} = view.list();
    if (position?.timeline !== tenantTimeline(db)) return false;
    const isAhead = confirmed?.timeline === position.timeline;
    const end = Math.max(position.commit, isAhead ? confirmed.commit : 0, sets.at(-1)?.last ?? 0);
    return end === storedCommitNumber(db);
  } finally {
    db.close();
    view.close();
  }
}

async function copyState(
  {data, registry}: Pick<OwnedDirectory, 'data' | 'registry'>,
  done: (names: string[]) => void,
  log: Logger,
): Promise<void> {
  const keys = new Keys({
    ...{path: join(data, 'keys.sqlite'), cluster: null, now: Date.now, log},
    tellRouters: () => Promise.resolve(),
  });
  const audit = new AuditLog(join(data, 'audit.sqlite'), Date.now, log);
  const refusals = new RefusalLog(join(data, 'refusals.sqlite'), Date.now, log, () => undefined);
  const parts = serverState(registry, () => ({keys, audit, refusals}));
  await new StateCopies(join(data, STATE_DIRECTORY), parts, done, log).close();
  for (const its of [keys, audit, refusals]) its.close();
}

/** A command does not wait until the store works again. */
function failing(copier: Copier): Promise<never> {
  return new Promise((_, reject) => {
    setInterval(() => {
      const {state, fault} = copier;
      if (fault === null || (state !== 'failing' && state !== 'locked')) return;
      reject(new CommandFailure(fault.message, state === 'locked' ? exitCodeOf('locked') : 1));
    }, BACKUP_STOPPED_CHECK_MS).unref();
  });
}

/** Until it is closed, the copier ends by an error only. */
function unexpected(): never {
  throw new Error('the copier ended');
}
