/**
 * The packages that deployments of this host's tenants import, between the directories of the tenants and the store of the
 * cluster. The directories belong to the tenants, so everything in them is input from outside.
 */
import {closeSync, existsSync, fsyncSync, mkdirSync, opendirSync, openSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {sourceOfFile, writeAll} from '../../engine/copies/bytes.ts';
import {openDirectory, openRegular} from '../../engine/copies/outside-files.ts';
import {conflict, ServiceError, unavailable} from '../../shared/errors.ts';
import {PACKAGE_BYTES_MAX} from '../../shared/limits.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import type {PackageOutcome} from '../endpoint/endpoint-message.ts';
import type {EndpointPackages} from '../endpoint/package-endpoint.ts';
import {PACKAGE_STORE_MS, PACKAGES_LISTED_MAX} from '../limits.ts';
import type {Owned, Packages} from '../log/packages.ts';
import type {TenantName} from '../log/subjects.ts';

const TARBALL = /^([0-9a-f]{128})\.tgz$/;

export type HostPackagesParts = {
  readonly packages: Packages;
  /** Of the tenant's file. Null: the tenant has no directory here. */
  readonly pathOf: (tenant: TenantName) => string | null;
  /** Space of the store; null: no limit is known. */
  readonly freeBytes: () => number | null;
};

export class HostPackages {
  readonly #parts: HostPackagesParts;

  constructor(parts: HostPackagesParts) {
    this.#parts = parts;
  }

  /** As its owner, in this epoch. */
  of(tenant: TenantName, epoch: number): EndpointPackages {
    const {packages, pathOf} = this.#parts;
    const owned = {tenant, epoch};
    return {
      list: signal => packages.claimed(owned, inTime(signal)),
      drop: (names, signal) => packages.drop(owned, names, inTime(signal)),
      put: async (sha512, signal) => {
        const path = pathOf(tenant);
        if (path === null) return 'missing';
        try {
          return await this.#put(owned, dirname(path), sha512, signal);
        } catch (caught) {
          // Of the file system: a worker without a user of its own can take the rights to its files away.
          if ((caught as NodeJS.ErrnoException).syscall !== undefined) return 'missing';
          throw caught;
        }
      },
    };
  }

  /**
   * Stores the packages beside a file of this host that becomes a tenant. What cannot be a package is left out.
   * @throws op.conflict 409, session.worker_unavailable 503, session.storage_full 507; LogError, EngineError
   */
  async putAll(owned: Owned, directory: string, signal: AbortSignal): Promise<void> {
    const root = join(directory, PACKAGES_DIRECTORY);
    const names = existsSync(root) ? firstEntries(root, PACKAGES_LISTED_MAX + 1) : [];
    for (const name of names) {
      const sha512 = TARBALL.exec(name)?.[1];
      const outcome = sha512 === undefined ? 'other' : await this.#put(owned, directory, sha512, signal);
      if (outcome === 'too_many')
        throw conflict('the file has more external packages than a tenant of a cluster can have');
      if (outcome === 'full')
        throw new ServiceError('session.storage_full', "the cluster's store has no space for its packages");
      if (outcome === 'superseded' || outcome === 'abandoned')
        throw unavailable('its packages were not stored; try again');
    }
  }

  /** Makes a directory with what the store has of the tenant, if there is anything. @throws LogError, EngineError */
  async copy(tenant: TenantName, to: string): Promise<void> {
    const {packages} = this.#parts;
    const found = await packages.list(tenant);
    if (found.length === 0) return;
    mkdirSync(to, {mode: 0o700});
    for (const info of found) {
      const fd = openSync(join(to, `${info.sha512}.tgz`), 'wx', 0o600);
      try {
        for await (const chunk of packages.read(tenant, info)) writeAll(fd, chunk, null);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    }
    await syncDirectory(to);
  }

  async #put(owned: Owned, directory: string, sha512: string, signal: AbortSignal): Promise<PackageOutcome> {
    const {packages, freeBytes} = this.#parts;
    const fd = openDirectory(join(directory, PACKAGES_DIRECTORY));
    if (fd === null) return 'missing';
    try {
      // Only Linux has users for tenants, who could replace the directory meanwhile.
      const isLinux = process.platform === 'linux';
      const its = isLinux ? `/proc/self/fd/${fd}` : join(directory, PACKAGES_DIRECTORY);
      const file = openRegular(join(its, `${sha512}.tgz`));
      if (file === null) return 'missing';
      try {
        if (file.bytes > PACKAGE_BYTES_MAX) return 'other';
        if (file.bytes > (freeBytes() ?? Number.POSITIVE_INFINITY)) return 'full';
        return (await packages.put(owned, sha512, sourceOfFile(file.fd), inTime(signal))).kind;
      } finally {
        closeSync(file.fd);
      }
    } finally {
      closeSync(fd);
    }
  }
}

function inTime(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(PACKAGE_STORE_MS)]);
}

function firstEntries(path: string, most: number): string[] {
  const directory = opendirSync(path);
  try {
    const names: string[] = [];
    for (let entry = directory.readSync(); entry !== null && names.length < most; entry = directory.readSync()) {
      names.push(entry.name);
    }
    return names;
  } finally {
    directory.closeSync();
  }
}
