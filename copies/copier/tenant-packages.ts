/**
 * The packages of a tenant's deployments that the repository does not have yet. Each is named by the SHA-512 of its
 * content and stored once. Their directory belongs to the tenant, so everything in it is input from outside: a round
 * examines a bounded number and bytes, and the next rounds go on until nothing is left.
 *
 *   changed ─▶ due ── small ones: in the pack of the round ── one that is large: streamed ──▶ nothing is left: not due
 */
import {hash} from 'node:crypto';
import {closeSync, existsSync, fstatSync, lstatSync} from 'node:fs';
import {opendir} from 'node:fs/promises';
import {join} from 'node:path';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {readAt} from '../../engine/copies/bytes.ts';
import {CopyError} from '../../engine/copies/copy-error.ts';
import {PACKAGE_BYTES_MAX} from '../../shared/limits.ts';
import {type OpenFile, openDirectory, openRegular} from '../../shared/outside-files.ts';
import type {BackupFault} from '../../shared/protocol/backups.ts';
import {LOST_PACKAGES_FILE, PACKAGES_DIRECTORY} from '../../shared/tenant-directory.ts';
import {SEGMENT_BYTES_MAX} from '../limits.ts';
import type {NewSegment} from '../repository/new-segment.ts';
import type {Repository} from '../repository/repository.ts';
import type {RepositoryWriter} from '../repository/repository-writer.ts';
import {digestInTurns} from './files.ts';
import {
  LOST_BYTES_MAX,
  PACKAGE_ENTRIES_MAX,
  PACKAGES_STORED_MAX,
  PACKAGES_TURN_MAX,
  TENANT_TURN_BYTES,
} from './limits.ts';
import {storedFiles} from './stored-files.ts';

const ENTRIES_AT_ONCE = 256;
const PACKAGE = /^([0-9a-f]{128})\.tgz$/;
const SHA512 = /^[0-9a-f]{128}$/;

/** A file of a pack. `stored` is called when the repository has it. */
export type NewFile = {segment: NewSegment; stored: () => void};

export class TenantPackages {
  readonly #tenant: string;
  readonly #directory: string;
  readonly #lostFile: string;
  /** Names. Null: not read from the repository yet. */
  #stored: Set<string> | null = null;
  /** Names of those that have other bytes than their names say: a deployment would not use them. */
  readonly #refused = new Set<string>();
  /** When the directory had last changed, as it was listed, and as nothing was left. */
  #listedMs: number | null = null;
  #doneMs: number | null = null;
  /** The repository can lack some: an earlier process can have ended before it had stored all. */
  isDue = true;
  /** How often something has changed. */
  #changes = 0;
  /** Why no more are stored. */
  #full: BackupFault | null = null;
  /** The cluster has lost some that the repository lacks. */
  #lost: BackupFault | null = null;
  /** The next one is too large for a pack. */
  #large: string | null = null;

  /** @param directory of the tenant */
  constructor(tenant: string, directory: string) {
    this.#tenant = tenant;
    this.#directory = join(directory, PACKAGES_DIRECTORY);
    this.#lostFile = join(directory, LOST_PACKAGES_FILE);
  }

  get fault(): BackupFault | null {
    return this.#full ?? this.#lost;
  }

  get hasLarge(): boolean {
    return this.#large !== null;
  }

  /** The next `take` reads in the repository which there are. */
  get needsRead(): boolean {
    return this.#stored === null && (existsSync(this.#directory) || existsSync(this.#lostFile));
  }

  /** A commit of the tenant is being stored, which can be a deployment. */
  changed(): void {
    this.isDue = true;
    this.#changes++;
  }

  /** Those that are next and fit into a pack. @throws errors of the file system; RepositoryError; StoreError */
  async take(repository: Repository): Promise<NewFile[]> {
    const changes = this.#changes;
    this.#lost = await this.#lostFault(repository);
    const changedMs = lstatSync(this.#directory, {throwIfNoEntry: false})?.mtimeMs ?? null;
    const fd = changedMs === null || changedMs === this.#doneMs ? null : openDirectory(this.#directory);
    this.#large = null;
    if (fd === null) {
      this.isDue = this.#changes !== changes;
      return [];
    }
    if (changedMs !== this.#listedMs) this.#refused.clear();
    this.#listedMs = changedMs;
    this.#full = null;
    try {
      const path = `/proc/self/fd/${fd}`;
      const stored = await this.#storedIn(repository);
      const names = (await namesIn(path)).filter(name => !stored.has(name) && !this.#refused.has(name));
      if (names.length > 0 && stored.size >= PACKAGES_STORED_MAX) {
        throw new CopyError(`the repository has ${stored.size} of its packages, and takes no more`);
      }
      if (names.length === 0) this.#done(changes);
      return await this.#takeSome(path, names, stored);
    } catch (caught) {
      if (!(caught instanceof CopyError)) throw caught;
      this.#full = {at: changedMs!, kind: 'packages', message: caught.message};
      this.#done(changes); // until they change
      return [];
    } finally {
      closeSync(fd);
    }
  }

  /** Stores the one that is too large for a pack. @throws as `take` */
  async upload(writer: RepositoryWriter): Promise<void> {
    const [name, stored] = [this.#large, await this.#storedIn(writer.repository)];
    this.#large = null;
    const fd = name === null || stored.has(name) ? null : openDirectory(this.#directory);
    if (name === null || fd === null) return;
    try {
      const file = this.#opened(`/proc/self/fd/${fd}`, name);
      if (file === null) return;
      try {
        if ((await digestInTurns(file, 'sha512')) === PACKAGE.exec(name)![1]) {
          const {bytes} = file;
          const path = `/proc/self/fd/${file.fd}`;
          await writer.addLarge({tenant: this.#tenant, kind: 'package', name, path, bytes});
          stored.add(name);
        } else this.#refused.add(name);
      } finally {
        closeSync(file.fd);
      }
    } finally {
      closeSync(fd);
    }
  }

  async #takeSome(path: string, names: readonly string[], stored: Set<string>): Promise<NewFile[]> {
    const taken: NewFile[] = [];
    let examined = 0;
    for (const name of names.slice(0, PACKAGES_TURN_MAX)) {
      if (examined >= TENANT_TURN_BYTES) break;
      const file = this.#opened(path, name);
      if (file === null) continue;
      try {
        if (file.bytes > SEGMENT_BYTES_MAX) {
          this.#large ??= name;
          continue;
        }
        examined += file.bytes;
        const bytes = readAt(file.fd, 0, file.bytes);
        if (hash('sha512', bytes) === PACKAGE.exec(name)![1]) {
          const segment = {tenant: this.#tenant, kind: 'package', name, bytes} as const;
          taken.push({segment, stored: () => stored.add(name)});
        } else this.#refused.add(name);
      } finally {
        closeSync(file.fd);
      }
      await nextTurn();
    }
    return taken;
  }

  /** Null: it cannot be a package. */
  #opened(path: string, name: string): OpenFile | null {
    const file = openRegular(join(path, name));
    if (file !== null && file.bytes <= PACKAGE_BYTES_MAX) return file;
    if (file !== null) closeSync(file.fd);
    this.#refused.add(name);
    return null;
  }

  async #lostFault(repository: Repository): Promise<BackupFault | null> {
    if (!existsSync(this.#lostFile)) return null;
    const stored = await this.#storedIn(repository);
    const file = openRegular(this.#lostFile);
    if (file === null) return null;
    try {
      const names = readAt(file.fd, 0, Math.min(file.bytes, LOST_BYTES_MAX)).toString('latin1').split('\n');
      const lost = names.filter(name => SHA512.test(name) && !stored.has(`${name}.tgz`));
      if (lost.length === 0) return null;
      const others = lost.length === 1 ? '' : `, and ${lost.length - 1} more`;
      const message = `the package ${lost[0]}${others}: damaged in the log of the cluster, and the repository lacks it`;
      return {at: fstatSync(file.fd).mtimeMs, kind: 'packages', message};
    } finally {
      closeSync(file.fd);
    }
  }

  async #storedIn(repository: Repository): Promise<Set<string>> {
    this.#stored ??= new Set((await storedFiles(repository, this.#tenant)).map(({name}) => name));
    return this.#stored;
  }

  /** @param changes those before it was listed: what has changed since is not listed */
  #done(changes: number): void {
    this.isDue = this.#changes !== changes;
    this.#doneMs = this.#listedMs;
  }
}

/** @throws CopyError */
async function namesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  let entries = 0;
  for await (const {name} of await opendir(path, {bufferSize: ENTRIES_AT_ONCE})) {
    if (++entries > PACKAGE_ENTRIES_MAX) throw new CopyError(`its packages have more than ${entries - 1} entries`);
    if (PACKAGE.test(name)) names.push(name);
  }
  return names;
}
