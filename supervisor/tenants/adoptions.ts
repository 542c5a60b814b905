/**
 * Files from elsewhere become tenants of a running server: an upload arrives in `<data>/incoming`, an errand checks it
 * and gives it its new identity, and `tenants.ts` puts it in its place. A tenant that is replaced serves until then.
 */
import {randomBytes} from 'node:crypto';
import {readdir} from 'node:fs/promises';
import {join} from 'node:path';
import {unreachable} from '../../shared/assert.ts';
import {isNoSpace, isReadOnly} from '../../shared/disk-errors.ts';
import {invalid, ServiceError} from '../../shared/errors.ts';
import type {AdoptCheck} from '../../shared/ipc/errand.ts';
import type {FileAdoption, FileRequest} from '../../shared/ipc/files.ts';
import type {Logger} from '../../shared/log.ts';
import type {AdoptNote} from '../../shared/tenant-directory.ts';
import {emptyIncoming, packagesBeside, prepareAdoption} from '../files/adoption.ts';
import {copyPackages} from '../files/packages-copy.ts';
import {removeTree} from '../files/tenant-files.ts';
import {INCOMING_FILES_MAX} from '../limits.ts';
import type {Errands} from './errands.ts';
import type {TenantUsers} from './tenant-users.ts';
import type {Tenants} from './tenants.ts';

export type AdoptionsParts = {
  tenants: Pick<Tenants, 'adopt' | 'checkAdoption'>;
  errands: Pick<Errands, 'runIn'>;
  users: TenantUsers;
  /** Null: there is no such tenant. */
  directoryOf: (tenant: string) => string | null;
  /** `<data>/incoming`. */
  directory: string;
  log: Logger;
  /** The body of the route's answer. */
  statusOf: (tenant: string) => Promise<unknown>;
};

export class Adoptions {
  readonly #parts: AdoptionsParts;
  /** Files by id, with the router that writes each; null: this server does. */
  readonly #arriving = new Map<string, number | null>();

  constructor(parts: AdoptionsParts) {
    this.#parts = parts;
  }

  /** Called once, at start. On a disk that is full or read-only, files are refused, and all else goes on. */
  async begin(): Promise<void> {
    const {directory, users, log} = this.#parts;
    try {
      await emptyIncoming(directory);
      users.letPass(directory);
    } catch (caught) {
      if (!isNoSpace(caught) && !isReadOnly(caught)) throw caught;
      log.warn('the directory for files of tenants that arrive cannot be made now', {directory, error: caught});
    }
  }

  /** @param router that sent the request. @returns the answer that the action says. @throws ServiceError */
  async perform(request: FileRequest, router: number): Promise<unknown> {
    switch (request.action) {
      case 'file_expected':
        return this.#expect(request, router);
      case 'file_dropped':
        await this.#drop(request.upload);
        return null;
      case 'file_arrived':
        await this.#arrived(request.upload, request);
        return await this.#parts.statusOf(request.tenant);
      default:
        return unreachable(request);
    }
  }

  /**
   * Makes a tenant of a file that this server makes itself. Counts as an upload.
   * @param make leaves the file at the path, with packages beside it (`packagesBeside`), and says where it came from
   * @throws session.overloaded 503; as `adopt`; what `make` throws
   */
  async takeIn<T>(
    adoption: FileAdoption,
    make: (path: string) => Promise<{origin: AdoptNote['origin']; result: T}>,
  ): Promise<T> {
    const {id, path} = this.#expect(adoption, null);
    try {
      const {origin, result} = await make(path);
      await this.adopt(path, adoption, 'whole', origin);
      return result;
    } finally {
      await this.#drop(id);
    }
  }

  /**
   * A path for a file. @param router ends the upload with itself
   * @throws session.tenant_exists 409, session.tenant_not_found 404, session.overloaded 503
   */
  #expect({tenant, replace}: FileAdoption, router: number | null): {id: string; path: string} {
    this.#parts.tenants.checkAdoption(tenant, replace);
    if (this.#arriving.size >= INCOMING_FILES_MAX) {
      throw new ServiceError(
        'session.overloaded',
        `${INCOMING_FILES_MAX} files of tenants are arriving; try again later`,
      );
    }
    const id = randomBytes(16).toString('hex');
    this.#arriving.set(id, router);
    return {id, path: this.#pathOf(id)};
  }

  /** Removes what is left of it, under names that begin with its own. If that fails, the next start does it. */
  async #drop(id: string): Promise<void> {
    if (!this.#arriving.delete(id)) return;
    const {directory, log} = this.#parts;
    try {
      const left = (await readdir(directory)).filter(name => name.startsWith(id));
      for (const name of left) await removeTree(join(directory, name));
    } catch (error) {
      log.warn('what is left of the file of a tenant could not be removed', {directory, error});
    }
  }

  routerEnded(router: number): void {
    for (const [id, its] of this.#arriving) if (its === router) void this.#drop(id);
  }

  /** The upload is complete. @throws as `adopt` */
  async #arrived(id: string, adoption: FileAdoption): Promise<void> {
    // Its router has ended meanwhile, or this is its second message about it.
    if (!this.#arriving.has(id)) throw invalid('the upload is not expected: send the file again');
    // From now on the file is needed, whatever happens to the router.
    this.#arriving.set(id, null);
    const path = this.#pathOf(id);
    try {
      // The file has none. It is often an older state of the tenant that it replaces.
      const replaced = adoption.replace ? this.#parts.directoryOf(adoption.tenant) : null;
      if (replaced !== null) await copyPackages(replaced, packagesBeside(path));
      await this.adopt(path, adoption, 'whole');
    } finally {
      await this.#drop(id);
    }
  }

  /**
   * @param path of a complete file in `<data>/incoming`, which is moved or removed
   * @throws op.invalid_input 400: it is not the file of a tenant, or damaged; session.tenant_exists 409,
   * session.tenant_not_found 404, session.storage_full 507
   */
  async adopt(
    path: string,
    {tenant, replace, live}: FileAdoption,
    check: AdoptCheck,
    origin: AdoptNote['origin'] = null,
  ): Promise<void> {
    const made: string[] = [path];
    try {
      await this.#parts.tenants.adopt(tenant, {replace, serve: live ? 'all' : 'reads', origin}, async note => {
        const directory = await prepareAdoption(path, note);
        made.push(directory);
        const {generation, created_ms: createdMs} = note;
        const place = {directory, tenant, generation, createdMs, runsCode: false};
        await this.#parts.errands.runIn(place, {kind: 'adopt', check});
        return directory;
      });
    } finally {
      for (const left of made) await removeTree(left);
    }
  }

  #pathOf(id: string): string {
    return join(this.#parts.directory, id);
  }
}
