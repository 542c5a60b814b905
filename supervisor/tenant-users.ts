/**
 * Which user of the system each tenant has, where tenants have users of their own: the one that its directory belongs to, or one
 * that no other has. What is on disk is all there is to remember.
 */
import {lstatSync} from 'node:fs';
import {basename, join} from 'node:path';
import type {WorkerUser} from '../shared/ipc/control.ts';
import type {Logger} from '../shared/log.ts';
import {giveTo} from './confinement/ownership.ts';
import type {UserRange} from './confinement/users.ts';
import {scanTenants} from './tenant-files.ts';

/** No id is left, or an owner cannot be changed: the tenant is not opened with more than it should have. */
export class NoUser extends Error {
  override name = 'NoUser';
}

export class TenantUsers {
  /** Null: all have the server's user. */
  readonly #range: UserRange | null;
  readonly #log: Logger;
  /** By the name of the directory. */
  readonly #ids = new Map<string, number>();
  readonly #names = new Map<number, string>();
  #last: number;

  /** @param root of the directories of tenants */
  constructor(range: UserRange | null, root: string, log: Logger) {
    this.#range = range;
    this.#log = log;
    this.#last = range?.first ?? 0;
    if (range === null) return;
    for (const {name} of scanTenants(root)) {
      const id = lstatSync(join(root, name)).uid;
      if (this.#isFree(id)) this.#note(name, id);
    }
  }

  /** Tenants have users other than the server's. */
  get isOn(): boolean {
    return this.#range !== null;
  }

  /** Ids that tenants have. */
  get ids(): ReadonlySet<number> {
    return new Set(this.#names.keys());
  }

  /**
   * The directory is its user's when this returns. No process of the tenant may be running. Null: the server's own user is what it has.
   * @throws NoUser
   */
  own(directory: string): WorkerUser | null {
    const id = this.#idOf(directory);
    try {
      const owner = id ?? process.geteuid?.() ?? null;
      // Only root can give away; for others it is as it is, and the worker's open says what is wrong.
      if (owner !== null && process.geteuid?.() === 0) {
        const left = giveTo(directory, owner);
        if (left.length > 0) this.#log.error('files of a tenant have other names, too, and keep their owner', {left});
      }
    } catch (caught) {
      if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
      // What is not there is found, and told, by who opens it.
      if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw new NoUser(`the directory cannot be given to its user: ${caught.message}`, {cause: caught});
      }
    }
    return id === null || this.#range === null ? null : {id, group: this.#range.first};
  }

  /** The tenant is gone for good. */
  forget(directory: string): void {
    const name = basename(directory);
    const id = this.#ids.get(name);
    this.#ids.delete(name);
    if (id !== undefined) this.#names.delete(id);
  }

  #idOf(directory: string): number | null {
    if (this.#range === null) return null;
    const name = basename(directory);
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const id = this.#nextFree(this.#range);
    this.#note(name, id);
    return id;
  }

  #nextFree({first, last}: UserRange): number {
    for (let tries = first; tries < last; tries++) {
      this.#last = this.#last < last ? this.#last + 1 : first + 1;
      if (this.#isFree(this.#last)) return this.#last;
    }
    throw new NoUser(`all ${last - first} users for tenants are taken: give more with --worker-users`);
  }

  #isFree(id: number): boolean {
    const {first, last} = this.#range!;
    return id > first && id <= last && !this.#names.has(id);
  }

  #note(name: string, id: number): void {
    this.#ids.set(name, id);
    this.#names.set(id, name);
  }
}
