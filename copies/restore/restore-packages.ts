/** Restores the packages of a tenant's deployments, which are files beside its own. */
import {existsSync} from 'node:fs';
import {mkdir, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import type {CopiesReader} from './restore-file.ts';

/** The SHA-512 of the tarball. */
const NAME = /^[0-9a-f]{128}\.tgz$/;

/**
 * Adds those that are not there. @param directory of the tenant; its worker compares each package with its name before
 * use
 */
export async function restorePackages(repository: CopiesReader, tenant: string, directory: string): Promise<void> {
  const {files} = await repository.copies(tenant);
  const packages = files.filter(({kind, name}) => kind === 'package' && NAME.test(name));
  if (packages.length === 0) return;
  const to = join(directory, 'packages');
  await mkdir(to, {recursive: true, mode: 0o700});
  for (const item of packages) {
    const path = join(to, item.name);
    if (existsSync(path)) continue;
    const part = `${path}.part`;
    await rm(part, {force: true});
    await repository.fetch(tenant, item, part);
    await rename(part, path);
  }
  await syncDirectory(to);
}
