/**
 * A directory of this host with the packages that the store of the cluster has of a tenant. Each has its name once all of
 * it is on disk, and has other bytes than those that it was stored with only if the disk has changed them.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import {join} from 'node:path';
import {writeAll} from '../../engine/copies/bytes.ts';
import {syncDirectory} from '../../shared/sync-directory.ts';
import {LogError} from '../log/log-error.ts';
import type {PackageInfo} from '../log/package-list.ts';
import type {Packages} from '../log/packages.ts';
import type {TenantName} from '../log/subjects.ts';

/** What is being written. */
const NEXT = 'next';

export type Fetched = {
  readonly isMore: boolean;
  /** Nothing more is to be fetched, but for what cannot be. */
  readonly isDone: boolean;
  /** Ids of those that are damaged in the store, or were removed from it meanwhile, with what is wrong. */
  readonly lost: ReadonlyMap<string, LogError>;
  /** Those that the store has, or should have. */
  readonly listed: readonly PackageInfo[];
};

export type FetchWish = {
  /** Is made if there is something. No other process writes to it. */
  readonly to: string;
  /** Ids of those that are not tried. */
  readonly except?: ReadonlySet<string>;
  /** Nothing more is begun once so many bytes were fetched. Default: no limit. */
  readonly bytesMax?: number;
  /** Nothing of it is wanted any more. Default: it always is. */
  readonly isOver?: () => boolean;
};

/**
 * Fetches those that the directory lacks, and removes those that the store does not have any more.
 * @throws LogError: the list is damaged; EngineError; errors of the file system
 */
export async function fetchPackages(
  packages: Pick<Packages, 'list' | 'read'>,
  tenant: TenantName,
  {to, except = new Set(), bytesMax = Number.POSITIVE_INFINITY, isOver = () => false}: FetchWish,
): Promise<Fetched> {
  const listed = await packages.list(tenant);
  const names = new Set(listed.map(nameOf));
  for (const name of existsSync(to) ? readdirSync(to) : []) {
    if (!names.has(name)) rmSync(join(to, name), {recursive: true, force: true});
  }
  const isHere = (info: PackageInfo) => statSync(join(to, nameOf(info)), {throwIfNoEntry: false})?.size === info.bytes;
  const wanted = listed.filter(info => !except.has(info.id) && !isHere(info));
  const lost = new Map<string, LogError>();
  let [tried, bytes] = [0, 0];
  for (; tried < wanted.length && bytes < bytesMax && !isOver(); tried++) {
    const info = wanted[tried]!;
    mkdirSync(to, {recursive: true, mode: 0o700});
    try {
      const isWhole = await write(join(to, NEXT), packages.read(tenant, info), isOver);
      if (!isWhole) break;
      renameSync(join(to, NEXT), join(to, nameOf(info)));
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      lost.set(info.id, error);
    } finally {
      rmSync(join(to, NEXT), {force: true});
    }
    bytes += info.bytes;
  }
  const isMore = tried > lost.size;
  if (isMore) await syncDirectory(to);
  return {isMore, isDone: tried === wanted.length, lost, listed};
}

function nameOf({sha512}: PackageInfo): string {
  return `${sha512}.tgz`;
}

/** @returns false: it was given up */
async function write(path: string, parts: AsyncIterable<Buffer>, isOver: () => boolean): Promise<boolean> {
  const fd = openSync(path, 'w', 0o600);
  try {
    for await (const part of parts) {
      if (isOver()) return false;
      writeAll(fd, part, null);
    }
    fsyncSync(fd);
    return true;
  } finally {
    closeSync(fd);
  }
}
