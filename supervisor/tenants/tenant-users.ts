/**
 * Assigns a system user to each tenant, if tenants have users of their own: the owner of its directory, or an unused
 * one. The owners on disk are the only record.
 *
 * An id is reused only after all the others were given, and not while a process or a tenant's directory has it. A user
 * with processes that could not be ended is not used at all, not even for its own tenant.
 */
import {lstatSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import type {WorkerUser} from '../../shared/ipc/control.ts';
import type {Logger} from '../../shared/log.ts';
import {endAllOf, isAnyLeft, type UserTest} from '../confinement/leftovers.ts';
import {giveTo, TooManyEntries} from '../confinement/ownership.ts';
import type {UserRange} from '../confinement/user-numbers.ts';
import {UserNumbers} from '../confinement/user-numbers.ts';
import {isShared, letPass} from '../confinement/users.ts';
import {scanTenants} from '../files/tenant-files.ts';

/**
 * No id is left, or an owner cannot be changed. The tenant is not opened, because it would run with too many rights.
 */
export class NoUser extends Error {
  override name = 'NoUser';
}

export class TenantUsers {
  /** Null: all tenants run as the server's user. */
  readonly #range: UserRange | null;
  readonly #log: Logger;
  /** By directory name. */
  readonly #ids = new Map<string, number>();
  readonly #names = new Map<number, string>();
  /** Users with processes that could not be ended. */
  readonly #unended = new Set<number>();
  /** Null: all tenants run as the server's user. */
  readonly #numbers: UserNumbers | null;

  /** @param root the parent directory of the tenants' directories */
  constructor(range: UserRange | null, root: string, log: Logger) {
    this.#range = range;
    this.#log = log;
    this.#numbers = range === null ? null : new UserNumbers(dirname(root), range, log);
    if (range === null) return;
    for (const {name} of scanTenants(root)) {
      const id = lstatSync(join(root, name)).uid;
      if (this.#isFree(id)) this.#note(name, id);
    }
  }

  /** Whether tenants have users other than the server's. */
  get isOn(): boolean {
    return this.#range !== null;
  }

  /**
   * Ends processes of an earlier server that was killed: called once, before any of these users is used again. All
   * users of the range are concerned, unless other programs may use the range, too.
   */
  async endLeftovers(): Promise<void> {
    if (this.#range === null) return;
    const {first, last} = this.#range;
    const areOurs: UserTest = isShared(this.#range)
      ? id => this.#names.has(id) || this.#numbers!.mayBeGiven(id)
      : id => id > first && id <= last;
    const {ended, left} = await endAllOf(areOurs);
    if (ended.length > 0) this.#log.warn('processes of an earlier server are ended', {pids: ended});
    if (left.length === 0) return;
    this.#log.error('processes of an earlier server could not be ended: their tenants are not opened', {pids: left});
    for (const id of this.#names.keys()) if (isAnyLeft(uid => uid === id)) this.#unended.add(id);
  }

  /** Workers can pass through the directory, but not list it. */
  letPass(directory: string): void {
    if (this.#range !== null) letPass(directory, this.#range.first);
  }

  /** Processes of this user could not be ended. */
  unended(id: number): void {
    this.#unended.add(id);
  }

  /**
   * When this returns, the directory belongs to its user. No process of the tenant may be running. Null: the tenant
   * runs as the server's user.
   * @throws NoUser
   */
  own(directory: string): WorkerUser | null {
    const id = this.#idOf(directory);
    if (id !== null) this.#checkEnded(id);
    try {
      const owner = id ?? process.geteuid?.() ?? null;
      // Only root can change owners. Without root the owner stays, and the worker reports what is wrong when it opens
      // the tenant.
      if (owner !== null && process.geteuid?.() === 0) {
        const left = giveTo(directory, owner);
        if (left.length > 0) this.#log.error('files of a tenant have other names, too, and keep their owner', {left});
      }
    } catch (caught) {
      if (caught instanceof TooManyEntries) throw new NoUser(caught.message);
      if (!(caught instanceof Error && 'syscall' in caught)) throw caught;
      // A missing directory is reported when the tenant is opened.
      if ((caught as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw new NoUser(`the directory cannot be given to its user: ${caught.message}`, {cause: caught});
      }
    }
    return id === null || this.#range === null ? null : {id, group: this.#range.first};
  }

  /** The tenant is deleted. Remaining files of its directory keep their owner. */
  forget(directory: string): void {
    const name = basename(directory);
    const deleted = join(dirname(directory), `d${name.slice(1)}`);
    if (lstatSync(deleted, {throwIfNoEntry: false}) !== undefined) return;
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

  /** @throws NoUser while a process of the user runs */
  #checkEnded(id: number): void {
    if (!this.#unended.has(id)) return;
    if (isAnyLeft(uid => uid === id)) {
      throw new NoUser(`processes of user ${id} could not be ended: end them, and the tenant is opened again`);
    }
    this.#unended.delete(id);
  }

  #nextFree({first, last}: UserRange): number {
    const id = this.#numbers!.next(its => this.#isFree(its) && !isAnyLeft(uid => uid === its));
    if (id === null) throw new NoUser(`all ${last - first} users for tenants are taken: give more with --worker-users`);
    return id;
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
