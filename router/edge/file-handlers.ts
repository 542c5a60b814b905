/**
 * POST /api/tenants/{tenant_id}/clone?as= → 201 {tenant}: the supervisor does it.
 *
 * PUT /api/tenants/{tenant_id}/file → 201 {tenant}: the body is the file of a tenant. It is written to the server's disk
 * as it arrives, never into memory, and only for as long as the disk has space to spare. The supervisor makes a tenant
 * of it.
 */
import type {Buffer} from 'node:buffer';
import {constants} from 'node:fs';
import {type FileHandle, open, statfs} from 'node:fs/promises';
import {dirname} from 'node:path';
import {unwritableError} from '../../shared/disk-errors.ts';
import {invalid, ServiceError} from '../../shared/errors.ts';
import {spaceFindingOf} from '../../shared/free-space.ts';
import type {FileAdoption} from '../../shared/ipc/files.ts';
import {TENANT_FILE_BYTES_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import {TENANT_ID} from '../../shared/tenant-id.ts';
import {judgeTenant, keyEnded} from '../auth/rights.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import type {Upload} from '../http/upload.ts';
import {INCOMING_CHECK_BYTES} from '../limits.ts';

/** Called before anything is awaited, because the body arrives at once. @throws ServiceError */
export function beginFile(exchange: Exchange, tenant: string, query: string): FileAdoption {
  if (!TENANT_ID.test(tenant)) {
    throw invalid('a tenant id has 1 to 64 letters, digits, - and _, and begins with a letter or digit');
  }
  judgeTenant(exchange.principal, tenant);
  exchange.tenantId = tenant;
  const parameters = new URLSearchParams(query);
  const adoption = {tenant, replace: isSet(parameters, 'replace'), live: isSet(parameters, 'live')};
  if (exchange.announcedBytes === 0) throw invalid('the body must be the file of a tenant');
  exchange.streamBody(TENANT_FILE_BYTES_MAX);
  return adoption;
}

export async function takeFile(control: ControlChannel, exchange: Exchange, adoption: FileAdoption): Promise<void> {
  const expected = await control.files({action: 'file_expected', ...adoption});
  const {id: upload, path} = expected as {id: string; path: string};
  try {
    await written(path, exchange.upload!, exchange.announcedBytes);
    if (exchange.principal?.isValid(Date.now()) === false) throw keyEnded();
  } catch (caught) {
    await control.files({action: 'file_dropped', upload});
    throw caught;
  }
  const found = await control.files({action: 'file_arrived', upload, ...adoption});
  exchange.reply(ROUTER_OPERATIONS['tenants.import'].success, JSON.stringify(found));
}

/** @throws op.invalid_input 400, auth.forbidden 403; the supervisor's ServiceError */
export async function cloneTenant(control: ControlChannel, exchange: Exchange, query: string): Promise<void> {
  const parameters = new URLSearchParams(query);
  const {tenantId: tenant} = exchange;
  const as = tenantToMake(exchange, parameters.get('as') ?? '');
  const found = await control.files({action: 'tenant_clone', tenant, as, live: isSet(parameters, 'live')});
  exchange.reply(ROUTER_OPERATIONS['tenants.clone'].success, JSON.stringify(found));
}

/** Checks the parameter `as`. @throws op.invalid_input 400, auth.forbidden 403 */
export function tenantToMake(exchange: Exchange, as: string): string {
  if (!TENANT_ID.test(as)) throw invalid('as must be a tenant id: 1 to 64 letters, digits, - and _');
  judgeTenant(exchange.principal, as);
  return as;
}

/** Whether a flag of the query string is set. @throws op.invalid_input 400 */
export function isSet(parameters: URLSearchParams, name: string): boolean {
  const value = parameters.get(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw invalid(`${name} must be true or false`);
  return value === 'true';
}

/** Resolves when all of the body is on disk. @throws session.storage_full 507, op.invalid_input 400: the rest is lost */
async function written(path: string, upload: Upload, bytes: number | null): Promise<void> {
  await requireSpace(path, bytes ?? 0);
  const handle = await opened(path);
  try {
    await new Promise<void>((resolve, reject) => {
      const file = new ArrivingFile(path, handle, upload, resolve, reject);
      upload.attach({
        chunk: chunk => file.chunk(chunk),
        end: isFailed => (isFailed ? reject(cutShort()) : file.end()),
      });
    });
    await handle.sync();
  } catch (caught) {
    upload.discard();
    throw asFull(caught);
  } finally {
    await handle.close();
  }
}

/** Writes one chunk after another; the client gets credit for what is written. */
class ArrivingFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #upload: Upload;
  readonly #done: () => void;
  readonly #failed: (error: unknown) => void;
  #last: Promise<void> = Promise.resolve();
  #uncheckedBytes = 0;

  constructor(path: string, handle: FileHandle, upload: Upload, done: () => void, failed: (error: unknown) => void) {
    this.#path = path;
    this.#handle = handle;
    this.#upload = upload;
    this.#done = done;
    this.#failed = failed;
  }

  chunk(chunk: Buffer): void {
    this.#last = this.#last.then(() => this.#write(chunk));
    this.#last.catch(this.#failed);
  }

  end(): void {
    this.#last.then(this.#done, this.#failed);
  }

  async #write(chunk: Buffer): Promise<void> {
    await this.#handle.appendFile(chunk);
    this.#uncheckedBytes += chunk.length;
    if (this.#uncheckedBytes >= INCOMING_CHECK_BYTES) {
      this.#uncheckedBytes = 0;
      await requireSpace(this.#path, 0);
    }
    this.#upload.credit(chunk.length);
  }
}

function opened(path: string): Promise<FileHandle> {
  const {O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW} = constants;
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0o600);
}

/** @throws session.storage_full 507 */
async function requireSpace(path: string, bytes: number): Promise<void> {
  const finding = spaceFindingOf(await statfs(dirname(path)), bytes);
  if (finding !== null) throw new ServiceError('session.storage_full', `no space for this file: ${finding}`);
}

function asFull(caught: unknown): unknown {
  const {code} = caught as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new ServiceError('session.storage_full', 'the disk is full: free space and send the file again');
  }
  return code === 'EROFS' ? unwritableError(caught) : caught;
}

function cutShort(): ServiceError {
  return invalid('the file did not arrive whole: send it again');
}
