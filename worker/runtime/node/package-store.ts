/**
 * The packages that a tenant's Node modules import and that are not in their bundle:
 *
 *   packages/<sha512>.tgz   as published; named after its content, so a tarball can be verified
 *   packages/<sha512>/      its unpacked files; deployments link to them, so each package is stored once
 *
 * A tarball gets its name only when all of it is on disk. Unpacked files are compared with the tarball once per worker
 * process, before first use, and rewritten if they differ. So a previous process can have been killed at any point.
 */

import type {Buffer} from 'node:buffer';
import {createHash, randomBytes} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {reportDamage, storageDamaged} from '../../../engine/storage/damage.ts';
import {storageFullError} from '../../../engine/storage/database.ts';
import {isNoSpace} from '../../../shared/disk-errors.ts';
import {invalid, rateLimited, ServiceError, tooLarge} from '../../../shared/errors.ts';
import {PACKAGE_BYTES_MAX, PACKAGES_KEPT_BYTES_MAX} from '../../../shared/limits.ts';
import type {NodePackage} from '../../../shared/protocol/functions.ts';
import {syncDirectory} from '../../../shared/sync-directory.ts';
import {PACKAGES_DIRECTORY} from '../../../shared/tenant-directory.ts';
import {PACKAGE_UNUSED_KEEP_MS, PACKAGES_FILES_MAX, PACKAGES_UNPACKED_BYTES_MAX} from '../limits.ts';
import type {ClusterPackages} from './cluster-packages.ts';
import {filesOf, TarballFault} from './tarball.ts';

/** An unpacked package. */
export type Unpacked = {
  /** Paths relative to its directory. */
  files: readonly string[];
  bytes: number;
  /** A file that shows that the package has native code; null: none. */
  native: string | null;
};

const SHA512 = /^[0-9a-f]{128}$/;
const MIB = 1024 * 1024;

export class PackageStore {
  readonly #root: string;
  readonly #cluster: ClusterPackages | null;
  /** Those of the cluster that could not be read: they are replaced when they are sent again. */
  readonly #unreadable = new Set<string>();
  /** SHA-512 of packages that were compared with their tarballs. */
  readonly #known = new Map<string, Promise<Unpacked>>();
  /** Total size of all tarballs; null: not yet measured. */
  #cachedBytes: number | null = null;

  /** @param tenant its directory. @param cluster null: this server is no host of a cluster */
  constructor(tenant: string, cluster: ClusterPackages | null = null) {
    this.#root = join(tenant, PACKAGES_DIRECTORY);
    this.#cluster = cluster;
  }

  /**
   * Stores a tarball. Resolves when it is on disk.
   * @param used SHA-512 of the packages of all deployments
   * @throws op.invalid_input 400, op.too_large 413, op.rate_limited 429, session.storage_full 507
   */
  async add(sha512: string, chunks: AsyncIterable<Buffer>, used: () => ReadonlySet<string>): Promise<void> {
    if (!SHA512.test(sha512)) throw invalid('a package is named by the SHA-512 of its tarball, 128 hex digits');
    await this.#place(sha512, chunks, bytes => this.#makeRoom(sha512, bytes, used));
  }

  /**
   * Resolves when the cluster has these packages, which are here.
   * @param used as for `add`; what is not among them makes room
   * @throws op.rate_limited 429, session.worker_unavailable 503, session.storage_full 507
   */
  async share(all: readonly string[], used: (() => ReadonlySet<string>) | null = null): Promise<void> {
    if (this.#cluster === null || all.length === 0) return;
    const found = await this.#cluster.list();
    for (const sha512 of new Set(all)) {
      const replaces = this.#unreadable.has(sha512);
      if (found.has(sha512) && !replaces) continue;
      try {
        await this.#cluster.store(sha512, replaces);
      } catch (caught) {
        const isTooMany = caught instanceof ServiceError && caught.code === 'op.rate_limited';
        if (!isTooMany || used === null) throw caught;
        await this.#forgetInCluster(this.#cluster, used());
        await this.#cluster.store(sha512, replaces);
      }
      this.#unreadable.delete(sha512);
    }
  }

  async #place(
    sha512: string,
    chunks: AsyncIterable<Buffer>,
    makeRoom: (bytes: number) => Promise<void>,
  ): Promise<void> {
    await mkdir(this.#root, {recursive: true, mode: 0o700});
    const temporary = join(this.#root, `${sha512}.${randomBytes(6).toString('hex')}.tmp`);
    try {
      await onDisk(async () => {
        const bytes = await this.#received(temporary, sha512, chunks);
        await makeRoom(bytes);
        await rename(temporary, this.#tarball(sha512));
        await syncDirectory(this.#root);
      });
    } finally {
      await rm(temporary, {force: true});
    }
    this.#known.delete(sha512);
  }

  /**
   * Returns those without a sound tarball, here and in the cluster; the others are kept for a while.
   * @throws session.worker_unavailable 503, session.storage_full 507
   */
  async missing(all: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const sha512 of new Set(all)) {
      if ((await hashOf(this.#tarball(sha512))) !== sha512) missing.push(sha512);
      else await utimes(this.#tarball(sha512), new Date(), new Date());
    }
    return missing.length === 0 || this.#cluster === null ? missing : await this.#notIn(this.#cluster, missing);
  }

  /**
   * Unpacks a package so that its files can be linked. @param name for people
   * @throws TarballFault; op.storage_damaged 503: its tarball is missing or damaged
   */
  unpacked(sha512: string, name = `${sha512.slice(0, 16)}…`): Promise<Unpacked> {
    const known = this.#known.get(sha512);
    if (known !== undefined) return known;
    const unpacked = onDisk(() => this.#unpackOrNothing(sha512, name));
    this.#known.set(sha512, unpacked);
    unpacked.catch(() => this.#known.delete(sha512)); // The next caller tries again.
    return unpacked;
  }

  /** Links the packages' files below a directory. @throws op.storage_damaged 503 */
  async layOut(root: string, packages: readonly NodePackage[]): Promise<void> {
    const made = new Set<string>();
    const directory = async (path: string) => {
      if (made.has(path)) return;
      await mkdir(path, {recursive: true, mode: 0o700});
      made.add(path);
    };
    for (const {path, version, sha512} of packages) {
      const {files} = await this.unpacked(sha512, packageName({path, version}));
      await onDisk(async () => {
        for (const file of files) {
          const to = join(root, path, file);
          await directory(dirname(to));
          await placeLink(join(this.#root, sha512, file), to);
        }
      });
    }
  }

  /**
   * Removes packages that no deployment uses, unless they arrived recently. @param used SHA-512 of the packages in use
   */
  async forget(used: () => ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.#root).catch(() => [] as string[]); // The directory does not exist yet.
    const kept = used();
    const beforeMs = Date.now() - PACKAGE_UNUSED_KEEP_MS;
    for (const name of names) {
      const [sha512 = ''] = name.split('.');
      const isTemporary = name.endsWith('.tmp');
      if (kept.has(sha512) && !isTemporary) continue;
      // A directory is removed with its tarball.
      const tarball = isTemporary ? join(this.#root, name) : this.#tarball(sha512);
      const found = await stat(tarball).catch(() => null);
      if (found !== null && found.mtimeMs > beforeMs) continue;
      this.#known.delete(sha512);
      await rm(join(this.#root, name), {recursive: true, force: true});
    }
    this.#cachedBytes = null;
    if (this.#cluster === null) return;
    try {
      await this.#forgetInCluster(this.#cluster, kept);
    } catch (caught) {
      // They go with a later deploy.
      if (!(caught instanceof ServiceError)) throw caught;
    }
  }

  /** What this host still has can be of the next deployment. */
  async #forgetInCluster(cluster: ClusterPackages, used: ReadonlySet<string>): Promise<void> {
    // First, because one that arrives meanwhile is in the directory before it is on the list.
    const listed = await cluster.list();
    const here = new Set(await readdir(this.#root).catch(() => [])); // The directory does not exist yet.
    const dropped = [...listed].filter(one => !used.has(one) && !here.has(`${one}.tgz`));
    if (dropped.length > 0) await cluster.drop(dropped);
  }

  /** Fetches the others. One that cannot be read in the cluster is sent again, and replaced then. */
  async #notIn(cluster: ClusterPackages, all: readonly string[]): Promise<string[]> {
    const found = await cluster.list();
    const missing: string[] = [];
    for (const sha512 of all) {
      if (!found.has(sha512)) {
        missing.push(sha512);
        continue;
      }
      try {
        await this.#fetch(cluster, sha512);
      } catch (caught) {
        if (!isDamage(caught)) throw caught;
        missing.push(sha512);
      }
    }
    return missing;
  }

  /** @throws op.storage_damaged 503, session.worker_unavailable 503, session.storage_full 507 */
  async #fetch(cluster: ClusterPackages, sha512: string): Promise<void> {
    try {
      await this.#place(sha512, cluster.read(sha512), async () => {
        this.#cachedBytes = null;
      });
    } catch (caught) {
      if (isDamage(caught)) this.#unreadable.add(sha512);
      throw caught;
    }
  }

  #tarball(sha512: string): string {
    return join(this.#root, `${sha512}.tgz`);
  }

  /** @returns its length */
  async #received(path: string, sha512: string, chunks: AsyncIterable<Buffer>): Promise<number> {
    const file = await open(path, 'wx', 0o600);
    try {
      const hash = createHash('sha512');
      let bytes = 0;
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > PACKAGE_BYTES_MAX) throw tooLarge(`a package has at most ${PACKAGE_BYTES_MAX / MIB} MiB`);
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      const found = hash.digest('hex');
      if (found !== sha512) throw invalid(`the SHA-512 of this tarball is ${found}, not that of its name`);
      await file.sync();
      return bytes;
    } finally {
      await file.close();
    }
  }

  async #makeRoom(sha512: string, bytes: number, used: () => ReadonlySet<string>): Promise<void> {
    const before = (await stat(this.#tarball(sha512)).catch(() => null))?.size ?? 0;
    this.#cachedBytes ??= await this.#count();
    if (this.#cachedBytes + bytes - before > PACKAGES_KEPT_BYTES_MAX) {
      await this.forget(used);
      this.#cachedBytes = await this.#count();
    }
    if (this.#cachedBytes + bytes - before > PACKAGES_KEPT_BYTES_MAX) {
      throw rateLimited(
        `a tenant keeps at most ${PACKAGES_KEPT_BYTES_MAX / MIB} MiB of packages for all its deployments; those that no deployment has go after an hour`,
      );
    }
    this.#cachedBytes += bytes - before;
  }

  async #count(): Promise<number> {
    let bytes = 0;
    for (const name of await readdir(this.#root)) {
      if (name.endsWith('.tgz')) bytes += (await stat(join(this.#root, name)).catch(() => null))?.size ?? 0;
    }
    return bytes;
  }

  /** Deletes a package that cannot be deployed: a small tarball can unpack to a large size. */
  async #unpackOrNothing(sha512: string, name: string): Promise<Unpacked> {
    try {
      return await this.#unpack(sha512, name);
    } catch (caught) {
      if (caught instanceof TarballFault) await rm(join(this.#root, sha512), {recursive: true, force: true});
      throw caught;
    }
  }

  async #unpack(sha512: string, name: string): Promise<Unpacked> {
    const tarball = this.#tarball(sha512);
    let found = await hashOf(tarball);
    if (found !== sha512 && this.#cluster !== null && (await this.#cluster.list()).has(sha512)) {
      await this.#fetch(this.#cluster, sha512);
      found = await hashOf(tarball);
    }
    if (found === null) throw missingPackage(name);
    if (found !== sha512) throw storageDamaged({check: 'code', stored: `the external package ${name}`});
    const files: string[] = [];
    let bytes = 0;
    let native: string | null = null;
    for await (const {path, content} of filesOf(tarball)) {
      bytes += content.length;
      if (files.length === PACKAGES_FILES_MAX) throw new TarballFault(`has more than ${PACKAGES_FILES_MAX} files`);
      if (bytes > PACKAGES_UNPACKED_BYTES_MAX) {
        throw new TarballFault(`takes more than ${PACKAGES_UNPACKED_BYTES_MAX / MIB} MiB`);
      }
      if (path.endsWith('.node') || path === 'binding.gyp') native ??= path;
      const to = join(this.#root, sha512, path);
      await placed(to, content);
      files.push(path);
    }
    return {files, bytes, native};
  }
}

/** `@b/c@1.0.0` */
export function packageName({path, version}: Pick<NodePackage, 'path' | 'version'>): string {
  return `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`;
}

/** An import of a tenant's file leaves its packages behind, so this is not always damage. */
function missingPackage(name: string): ServiceError {
  reportDamage({check: 'code', stored: `the external package ${name}, which is missing`});
  const message = `this tenant does not have the external package ${name} of its deployment`;
  return new ServiceError('op.storage_damaged', `${message}: deploy the code again, which sends it`);
}

async function placed(path: string, content: Buffer): Promise<void> {
  const there = await readFile(path).catch(() => null); // Missing or unreadable: it is written.
  if (there?.equals(content) === true) return;
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), {recursive: true, mode: 0o700});
    await writeFile(temporary, content, {mode: 0o600});
    await rename(temporary, path);
  } catch (caught) {
    const {code = ''} = caught as NodeJS.ErrnoException;
    if (!['ENOTDIR', 'EISDIR', 'EEXIST', 'ENAMETOOLONG'].includes(code)) throw caught;
    throw new TarballFault('has a file that is also a directory, or whose name is too long');
  }
}

/** Links the file under another name, or copies it if linking fails. */
async function placeLink(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
    return;
  } catch (caught) {
    const {code = ''} = caught as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      const [one, other] = await Promise.all([lstat(from), lstat(to)]);
      if (one.ino === other.ino && one.dev === other.dev) return;
    } else if (!['EPERM', 'EMLINK', 'EXDEV', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) throw caught;
  }
  const temporary = `${to}.${process.pid}.tmp`;
  await link(from, temporary).catch(() => copyFile(from, temporary)); // Linking failed for any reason.
  await rename(temporary, to);
}

function isDamage(caught: unknown): boolean {
  return caught instanceof ServiceError && caught.code === 'op.storage_damaged';
}

/** SHA-512 of a file, hex; null: it is missing. */
async function hashOf(path: string): Promise<string | null> {
  const hash = createHash('sha512');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw caught;
  }
  return hash.digest('hex');
}

/** @throws session.storage_full 507 */
async function onDisk<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (caught) {
    throw isNoSpace(caught) ? storageFullError() : caught;
  }
}
