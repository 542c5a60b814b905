/** Restores the packages of a tenant's deployments, which are files beside its own. */
import {existsSync} from 'node:fs';
import {mkdir, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {syncDirectory} from '../../shared/sync-directory.ts';
import type {FileItem} from '../repository/tenant-copies.ts';
import type {CopiesReader} from './restore-file.ts';

/** The SHA-512 of the tarball. */
const NAME = /^[0-9a-f]{128}\.tgz$/;

/** Those that the repository has. */
export async function packagesOf(repository: CopiesReader, tenant: string): Promise<FileItem[]> {
  const {files} = await repository.copies(tenant);
  return files.filter(({kind, name}) => kind === 'package' && NAME.test(name));
}

/** Adds those that are not there. @param to the directory of packages; a worker compares each with its name before use */
export async function restorePackages(repository: CopiesReader, tenant: string, to: string): Promise<void> {
  const packages = await packagesOf(repository, tenant);
  if (packages.length === 0) return;
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
