/**
 * Files other than page sets that the repository does not have yet: the server's own files, and packages of deployments,
 * which are named by the SHA-512 of their content and stored once each.
 */
import {createHash} from 'node:crypto';
import {closeSync, constants, fstatSync, lstatSync, openSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {readAt} from '../../engine/copies/bytes.ts';
import {STREAM_CHUNK_BYTES} from '../limits.ts';
import {RepositoryError} from '../repository/repository-error.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {type FileItem, SERVER} from '../repository/tenant-copies.ts';
import {PACKAGES_LISTED_MAX} from './limits.ts';

const PACKAGE = /^([0-9a-f]{128})\.tgz$/;
const {O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY} = constants;

export class NewFiles {
  /** What the repository has: SHA-256 by tenant and name. */
  readonly #known = new Map<string, Map<string, string>>();
  /** When the packages of a tenant were last listed, and had last changed. */
  readonly #listed = new Map<string, number>();
  /** Of the server, with their paths. */
  readonly #states = new Map<string, string>();

  stateCopied(directory: string, names: readonly string[]): void {
    for (const name of names) this.#states.set(name, join(directory, name));
  }

  /** Stores what has changed of the server. @throws RepositoryError; StoreError */
  async storeState(writer: RepositoryWriter): Promise<void> {
    for (const [name, path] of this.#states) {
      const fd = openIfThere(path, O_RDONLY | O_NOFOLLOW);
      this.#states.delete(name);
      if (fd === null) continue;
      try {
        const known = await this.#knownOf(writer, SERVER);
        const sha256 = digestOf(fd, 'sha256');
        if (known.get(name) !== sha256) {
          await writer.addLarge({tenant: SERVER, kind: 'state', name, path: `/proc/self/fd/${fd}`});
          known.set(name, sha256);
        }
      } catch (caught) {
        this.#states.set(name, path);
        throw caught;
      } finally {
        closeSync(fd);
      }
    }
  }

  /** Stores packages that are new. @param directory of the tenant, whose content is input from outside. @throws as above */
  async storePackages(writer: RepositoryWriter, tenant: string, directory: string): Promise<void> {
    const path = join(directory, 'packages');
    const changedMs = lstatSync(path, {throwIfNoEntry: false})?.mtimeMs;
    if (changedMs === undefined || this.#listed.get(directory) === changedMs) return;
    const fd = openIfThere(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd === null) return;
    try {
      const known = await this.#knownOf(writer, tenant);
      const names = readdirSync(`/proc/self/fd/${fd}`).filter(name => PACKAGE.test(name) && !known.has(name));
      for (const name of names.slice(0, PACKAGES_LISTED_MAX)) {
        await this.#storePackage(writer, tenant, name, `/proc/self/fd/${fd}/${name}`, known);
      }
      this.#listed.set(directory, changedMs);
    } finally {
      closeSync(fd);
    }
  }

  /** One that has other bytes than its name says is left out: a deployment would not use it. */
  async #storePackage(
    writer: RepositoryWriter,
    tenant: string,
    name: string,
    path: string,
    known: Map<string, string>,
  ): Promise<void> {
    const fd = openIfThere(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd === null) return;
    try {
      if (!fstatSync(fd).isFile() || digestOf(fd, 'sha512') !== PACKAGE.exec(name)![1]) return;
      await writer.addLarge({tenant, kind: 'package', name, path: `/proc/self/fd/${fd}`});
      known.set(name, '');
    } finally {
      closeSync(fd);
    }
  }

  async #knownOf(writer: RepositoryWriter, tenant: string): Promise<Map<string, string>> {
    const found =
      this.#known.get(tenant) ?? new Map((await filesOf(writer, tenant)).map(one => [one.name, one.sha256]));
    this.#known.set(tenant, found);
    return found;
  }
}

async function filesOf(writer: RepositoryWriter, tenant: string): Promise<FileItem[]> {
  try {
    return (await writer.repository.copies(tenant)).files;
  } catch (caught) {
    if (caught instanceof RepositoryError && caught.code === 'no_copies') return [];
    throw caught;
  }
}

function digestOf(fd: number, algorithm: 'sha256' | 'sha512'): string {
  const sum = createHash(algorithm);
  const {size} = fstatSync(fd);
  for (let at = 0; at < size; at += STREAM_CHUNK_BYTES)
    sum.update(readAt(fd, at, Math.min(STREAM_CHUNK_BYTES, size - at)));
  return sum.digest('hex');
}

function openIfThere(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (caught) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO'].includes((caught as NodeJS.ErrnoException).code ?? '')) return null;
    throw caught;
  }
}
