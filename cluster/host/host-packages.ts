/**
 * The packages that deployments of this host's tenants import, between the directories of the tenants and the store of the
 * cluster. The directories belong to the tenants, so everything in them is input from outside.
 */
import {closeSync, lstatSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {ServiceError, unavailable} from '../../shared/errors.ts';
import {PACKAGE_BYTES_MAX} from '../../shared/limits.ts';
import {firstEntries, openDirectory, openRegular, pathOfOpen} from '../../shared/outside-files.ts';
import {PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import {fetchPackages} from '../copies/fetched-packages.ts';
import type {PackageOutcome} from '../endpoint/endpoint-message.ts';
import type {EndpointPackages} from '../endpoint/package-endpoint.ts';
import {PACKAGE_BYTES_PER_SECOND, PACKAGE_STORE_MS, PACKAGES_LISTED_MAX} from '../limits.ts';
import {Owned, type Packages} from '../log/packages.ts';
import type {TenantName} from '../log/subjects.ts';
import {type Clock, MONOTONIC_CLOCK} from '../members/clock.ts';
import {CopyRate} from '../standby/copy-rate.ts';

/** Of one package in the list. */
const LISTED_BYTES = 200;
/** Each package has a tarball and its unpacked files. */
const ENTRIES_MAX = 2 * PACKAGES_LISTED_MAX;
const TARBALL = /^([0-9a-f]{128})\.tgz$/;

export type HostPackagesParts = {
  readonly packages: Packages;
  /** Of the tenant's file. Null: the tenant has no directory here. */
  readonly pathOf: (tenant: TenantName) => string | null;
  /** Space of the store; null: no limit is known. */
  readonly freeBytes: () => number | null;
  /** Receives a sentence about what an operator should know. */
  readonly report: (sentence: string) => void;
  /** Default: that of this machine. */
  readonly clock?: Clock;
};

/** @property directory of the tenant. @property rate null: no tenant's code asks for it */
type Wish = {directory: string; sha512: string; replaces: boolean; rate: CopyRate | null};

export class HostPackages {
  readonly #parts: HostPackagesParts;

  constructor(parts: HostPackagesParts) {
    this.#parts = parts;
  }

  /** As its owner, in this epoch. What its worker makes this process send and read is bounded by the second. */
  of(tenant: TenantName, epoch: number): EndpointPackages {
    const {packages, pathOf, clock = MONOTONIC_CLOCK} = this.#parts;
    const owned = new Owned(tenant, epoch);
    const rate = new CopyRate(PACKAGE_BYTES_PER_SECOND, clock);
    const listBytes = () => LISTED_BYTES * (1 + (owned.listed?.list.packages.length ?? 0));
    return {
      list: async signal => {
        await rate.spend(listBytes());
        return await packages.claimed(owned, inTime(signal));
      },
      drop: async (names, signal) => {
        await rate.spend(2 * listBytes());
        return await packages.drop(owned, names, inTime(signal));
      },
      put: async ({sha512, replaces}, signal) => {
        await rate.spend(2 * listBytes());
        const path = pathOf(tenant);
        if (path === null) return 'missing';
        try {
          return await this.#put(owned, {directory: dirname(path), sha512, replaces, rate}, signal);
        } catch (caught) {
          // Of the file system: a worker without a user of its own can take the rights to its files away.
          if ((caught as NodeJS.ErrnoException).syscall !== undefined) return 'missing';
          throw caught;
        }
      },
    };
  }

  /**
   * Stores the packages beside a file of this host that becomes a tenant, the newest first. Reports how many are left out:
   * those that are damaged, and those beyond the bounds of a tenant, because a repository keeps those of earlier deployments.
   * @throws session.worker_unavailable 503, session.storage_full 507; LogError, EngineError; errors of the file system
   */
  async putAll(owned: Owned, directory: string, signal: AbortSignal): Promise<void> {
    let [damaged, beyond] = [0, 0];
    for (const sha512 of newestPackages(join(directory, PACKAGES_DIRECTORY))) {
      const outcome = await this.#put(owned, {directory, sha512, replaces: false, rate: null}, signal);
      if (outcome === 'too_many') beyond++;
      if (outcome === 'other') damaged++;
      if (outcome === 'full')
        throw new ServiceError('session.storage_full', "the cluster's store has no space for its packages");
      if (outcome === 'superseded' || outcome === 'abandoned')
        throw unavailable('its packages were not stored; try again');
    }
    const {id} = owned.tenant;
    if (damaged > 0) this.#parts.report(`${damaged} external packages of ${id} are damaged, and were left out`);
    if (beyond > 0)
      this.#parts.report(`${beyond} older external packages of ${id} are beyond its limit, and were left out`);
  }

  /** Stores what this host has of a tenant of its own. @throws as `putAll` */
  async putOwn(owned: Owned, signal: AbortSignal): Promise<void> {
    const path = this.#parts.pathOf(owned.tenant);
    if (path !== null) await this.putAll(owned, dirname(path), signal);
  }

  /**
   * Makes a directory with what the store has of the tenant, if there is anything. What is damaged there is left out: where
   * it is needed, it is missing. @throws LogError, EngineError; errors of the file system
   */
  async copy(tenant: TenantName, to: string): Promise<void> {
    const {packages, report} = this.#parts;
    const {lost} = await fetchPackages(packages, tenant, {to});
    for (const {message} of lost.values()) report(`${message}, in NATS: the copy of ${tenant.id} is without it`);
  }

  async #put(owned: Owned, wish: Wish, signal: AbortSignal): Promise<PackageOutcome> {
    const {packages, freeBytes} = this.#parts;
    const {directory, sha512, replaces, rate} = wish;
    const fd = openDirectory(join(directory, PACKAGES_DIRECTORY));
    if (fd === null) return 'missing';
    try {
      const file = openRegular(join(pathOfOpen(fd, join(directory, PACKAGES_DIRECTORY)), `${sha512}.tgz`));
      if (file === null) return 'missing';
      try {
        if (file.bytes > PACKAGE_BYTES_MAX) return 'other';
        if (file.bytes > (freeBytes() ?? Number.POSITIVE_INFINITY)) return 'full';
        await rate?.spend(file.bytes);
        return (await packages.put(owned, {sha512, file: sourceOfFile(file.fd), replaces}, inTime(signal))).kind;
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

/** Names of tarballs, SHA-512 each. */
function newestPackages(directory: string): string[] {
  const fd = openDirectory(directory);
  if (fd === null) return [];
  const found: {sha512: string; changedMs: number}[] = [];
  try {
    const its = pathOfOpen(fd, directory);
    for (const name of firstEntries(its, ENTRIES_MAX)) {
      const sha512 = TARBALL.exec(name)?.[1];
      const changedMs = lstatSync(join(its, name), {throwIfNoEntry: false})?.mtimeMs;
      if (sha512 !== undefined && changedMs !== undefined) found.push({sha512, changedMs});
    }
  } finally {
    closeSync(fd);
  }
  return found.sort((one, other) => other.changedMs - one.changedMs).map(({sha512}) => sha512);
}
