/**
 * Copies the packages of a tenant's deployments for a file that becomes a tenant: they are beside the tenant's file, not
 * in it. Their directory belongs to the tenant, so everything in it is input from outside. What cannot be a package is
 * left out, and so is all beyond the bounds of a tenant; a worker compares each package with its name before use.
 */
import {closeSync, constants, openSync} from 'node:fs';
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import {firstEntries} from '../../shared/first-entries.ts';
import {PACKAGE_BYTES_MAX, PACKAGES_KEPT_BYTES_MAX} from '../../shared/limits.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import {CLONED_PACKAGE_ENTRIES_MAX} from '../limits.ts';
import {statFile} from './regular-file.ts';
import {copyShared} from './shared-copy.ts';

/** The SHA-512 of the tarball. */
const NAME = /^[0-9a-f]{128}\.tgz$/;
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO']);

/**
 * @param tenant its directory. @param to is made if there are packages
 * @throws session.storage_full 507; errors of the file system
 */
export async function copyPackages(tenant: string, to: string): Promise<void> {
  const directory = openedDirectory(join(tenant, PACKAGES_DIRECTORY));
  if (directory === null) return;
  try {
    // Only Linux has users for tenants, who could replace the directory meanwhile.
    const isLinux = process.platform === 'linux';
    const from = isLinux ? `/proc/self/fd/${directory}` : join(tenant, PACKAGES_DIRECTORY);
    const names = firstEntries(from, CLONED_PACKAGE_ENTRIES_MAX).filter(name => NAME.test(name));
    if (names.length === 0) return;
    await mkdir(to, {mode: 0o700});
    let bytes = 0;
    for (const name of names) {
      const found = statFile(join(from, name));
      if (found === undefined || found.nlink !== 1 || found.size > PACKAGE_BYTES_MAX) continue;
      bytes += found.size;
      if (bytes > PACKAGES_KEPT_BYTES_MAX) break;
      // Not more than was counted.
      await copyShared(join(from, name), join(to, name), found.size).catch(unlessGone);
    }
    await syncDirectory(to);
  } finally {
    closeSync(directory);
  }
}

/** The caller closes it. Null: there is none, or something else has its name. */
function openedDirectory(path: string): number | null {
  const {O_RDONLY, O_DIRECTORY, O_NOFOLLOW} = constants;
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (caught) {
    unlessGone(caught);
    return null;
  }
}

/** A package that no deployment uses any more is removed by its worker meanwhile. */
function unlessGone(caught: unknown): void {
  if (!GONE.has((caught as NodeJS.ErrnoException).code ?? '')) throw caught;
}
