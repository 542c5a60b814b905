/**
 * Puts restored tenants into the data directory of a server that is stopped. A tenant is made in `incoming/`, and its
 * directory gets its name when its file has been checked.
 */
import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {readdir, rm} from 'node:fs/promises';
import {join} from 'node:path';
import type {Restored} from '../../copies/restore/restore-file.ts';
import {restorePackages} from '../../copies/restore/restore-packages.ts';
import {isNoSpace} from '../../shared/disk-errors.ts';
import {acquireOwnerLock, OwnerLockHeld} from '../../shared/owner-lock.ts';
import {type AdoptNote, PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {placeAdopted, prepareAdoption} from '../../supervisor/files/adoption.ts';
import {tenantDirectoryName} from '../../supervisor/files/directory-name.ts';
import type {Registry} from '../../supervisor/files/registry.ts';
import {StartError} from '../../supervisor/files/start-error.ts';
import {makeDirectory, TenantFiles} from '../../supervisor/files/tenant-files.ts';
import {openRegistry} from '../../supervisor/start/open-registry.ts';
import {CommandFailure} from '../failure.ts';
import {makeFile, type Wanted} from './make-file.ts';

export type Placing = {
  /** The id of the tenant that it becomes. */
  as: string;
  /** A tenant of this id is moved to `set-aside/`. */
  replace: boolean;
  /** It is served in full at once. */
  live: boolean;
};

/** A data directory that this process owns. */
export type OwnedDirectory = {data: string; registry: Registry; files: TenantFiles};

const INCOMING = 'restore-';

/** Owns the data directory while `use` runs. @returns null: a server runs on it */
export async function inDataDirectory<T>(
  data: string,
  use: (server: OwnedDirectory) => Promise<T>,
): Promise<{done: T} | null> {
  process.umask(0o077);
  await refuseForeign(data);
  await makeDirectory(data);
  const lock = await acquireOwnerLock(join(data, 'svc')).catch((caught: unknown) => {
    if (caught instanceof OwnerLockHeld) return null;
    throw caught;
  });
  if (lock === null) return null;
  try {
    const files = await TenantFiles.open(data);
    const registry = openRegistry(join(data, 'registry.sqlite'), files);
    try {
      await removeIncoming(data);
      return {done: await use({data, registry, files})};
    } finally {
      registry.close();
    }
  } catch (caught) {
    if (caught instanceof StartError) throw new CommandFailure(caught.message, 1, {cause: caught});
    if (!isNoSpace(caught)) throw caught;
    throw new CommandFailure(`the disk of ${data} is full: make space and run it again`, 1, {cause: caught});
  } finally {
    lock.release();
  }
}

/** Restores a tenant and makes it one of this server's. @throws CommandFailure; as `makeFile` */
export async function placeTenant(owned: OwnedDirectory, wanted: Wanted, placing: Placing): Promise<Restored> {
  const {files, registry} = owned;
  const {as, replace, live} = placing;
  const replaces = replacedBy(owned, as, replace);
  const incoming = join(owned.data, 'incoming');
  await makeDirectory(incoming);
  const path = join(incoming, `${INCOMING}${tenantDirectoryName(as, 1)}`);
  try {
    const restored = await makeFile({...wanted, path, isKept: true});
    const note: AdoptNote = {
      ...{tenant: as, generation: lastGeneration(owned) + 1, created_ms: Date.now()},
      timeline: randomBytes(16).toString('hex'),
      origin: {timeline: restored.timeline, commit: restored.commit},
      ...{replaces, serve: live ? 'all' : 'reads'},
    };
    const directory = await prepareAdoption(path, note);
    await restorePackages(wanted.repository, wanted.tenant, join(directory, PACKAGES_DIRECTORY));
    const fault = await placeAdopted(files, registry, note, directory, Date.now());
    if (fault !== null) throw fault;
    return restored;
  } finally {
    await removeIncoming(owned.data);
  }
}

/** The highest generation that any tenant here had. */
export function lastGeneration({registry, files}: OwnedDirectory): number {
  return Math.max(registry.lastGeneration(), ...files.scan().map(({generation}) => generation ?? 0));
}

/** The generation of the tenant that is replaced; null: there is none. @throws CommandFailure */
function replacedBy({registry}: OwnedDirectory, id: string, replace: boolean): number | null {
  if (!TENANT_ID.test(id)) throw new CommandFailure(`${JSON.stringify(id)} cannot be the id of a tenant`, 2);
  const old = registry.rows().find(row => row.id === id)?.generation ?? null;
  if (old === null || replace) return old;
  throw new CommandFailure(
    `there is a tenant ${id}: give --as OTHER for a second one, or --replace, which moves its directory to set-aside/`,
  );
}

/** A mistyped path must not become a data directory. */
async function refuseForeign(data: string): Promise<void> {
  if (!existsSync(data) || existsSync(join(data, 'registry.sqlite')) || existsSync(join(data, 'tenants'))) return;
  const entries = (await readdir(data)).filter(name => !/^svc\.(?:lock|owner)$/.test(name));
  if (entries.length === 0) return;
  throw new CommandFailure(`${data} is not a data directory, and it is not empty: it has ${entries[0]}`);
}

/** Removes what restores leave there, also those that were killed: nothing else in this directory is theirs. */
async function removeIncoming(data: string): Promise<void> {
  const incoming = join(data, 'incoming');
  if (!existsSync(incoming)) return;
  const left = (await readdir(incoming)).filter(name => name.startsWith(INCOMING));
  for (const name of left) await rm(join(incoming, name), {recursive: true, force: true});
}
