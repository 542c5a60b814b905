/**
 * Copies the packages of a tenant's deployments for a file that becomes a tenant: they are beside the tenant's file, not
 * in it. Their directory belongs to the tenant, so everything in it is input from outside. What cannot be a package is
 * left out, and so is all beyond the bounds of a tenant; a worker compares each package with its name before use.
 */
import {closeSync} from 'node:fs';
import {mkdir} from 'node:fs/promises';
import {join} from 'node:path';
import {PACKAGE_BYTES_MAX, PACKAGES_KEPT_BYTES_MAX} from '../../shared/limits.ts';
import {firstEntries, isGone, openDirectory, pathOfOpen} from '../../shared/outside-files.ts';
import {statFile} from '../../shared/regular-file.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import {CLONED_PACKAGE_ENTRIES_MAX} from '../limits.ts';
import {copyShared} from './shared-copy.ts';

/** The SHA-512 of the tarball. */
const NAME = /^[0-9a-f]{128}\.tgz$/;

/**
 * @param tenant its directory. @param to is made if there are packages
 * @throws session.storage_full 507; errors of the file system
 */
export async function copyPackages(tenant: string, to: string): Promise<void> {
  const path = join(tenant, PACKAGES_DIRECTORY);
  const directory = openDirectory(path);
  if (directory === null) return;
  try {
    const from = pathOfOpen(directory, path);
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

/** A package that no deployment uses any more is removed by its worker meanwhile. */
function unlessGone(caught: unknown): void {
  if (!isGone(caught)) throw caught;
}
