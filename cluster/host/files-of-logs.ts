/**
 * Tenants that are made of files: the log of a new tenant begins with a file of this host, and a file is made of everything
 * that the log has of a tenant. The threads of standbys read and write the files.
 */
import {randomBytes} from 'node:crypto';
import {closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {sourceOfFile} from '../../engine/copies/bytes.ts';
import {unreachable} from '../../shared/assert.ts';
import {conflict, ServiceError, unavailable} from '../../shared/errors.ts';
import {TENANT_FILE} from '../../shared/tenant-directory.ts';
import {LogError} from '../log/log-error.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import {type TenantName, tokenOf} from '../log/subjects.ts';
import {beginLog} from '../owner/begin-log.ts';
import {encodePlace} from '../owner/place.ts';
import type {CopyRate} from '../standby/copy-rate.ts';
import type {FileWish, FileWork} from '../standby/file-order.ts';
import {Standby, StandbyError} from '../standby/standby.ts';

/** Of such a log before a host has opened it. It is not that of a host, so none is waited for. */
const FILE_NOTE = 'file';

export type FilesOfLogsParts = {
  readonly replicated: Pick<ReplicatedLog, 'tenant' | 'bases'>;
  readonly files: FileWork;
  readonly rate: CopyRate;
  /** A directory of this process. */
  readonly scratch: string;
  /** Space of the log; null: no limit is known. */
  readonly freeBytes: () => number | null;
  /** The generation of a tenant that there will never be has something in the log. */
  readonly forget: (tenant: TenantName) => void;
  readonly report: (sentence: string) => void;
  readonly signal: AbortSignal;
};

export class FilesOfLogs {
  readonly #parts: FilesOfLogsParts;

  constructor(parts: FilesOfLogsParts) {
    this.#parts = parts;
  }

  /**
   * @param path of a file that no process has open. Its place is beside it when this resolves
   * @returns the epoch in which its log begins. @throws ServiceError; EngineError
   */
  async begin(tenant: TenantName, path: string): Promise<number> {
    const base = join(this.#parts.scratch, `${tokenOf(tenant)}.begin`);
    try {
      await this.#order(path, {kind: 'write_newest', to: base});
      return await this.#begun(tenant, path, base);
    } catch (error) {
      this.#parts.forget(tenant);
      throw error instanceof LogError ? unavailable(`the log of the tenant cannot begin: ${error.message}`) : error;
    } finally {
      rmSync(base, {force: true});
    }
  }

  async #begun(tenant: TenantName, path: string, base: string): Promise<number> {
    const {replicated, freeBytes, signal} = this.#parts;
    if (statSync(base).size > (freeBytes() ?? Number.POSITIVE_INFINITY)) throw noSpace();
    const fd = openSync(base, 'r');
    try {
      const wish = {base: sourceOfFile(fd), note: FILE_NOTE, aboveEpoch: 0, signal};
      const outcome = await beginLog(replicated, tenant, wish);
      switch (outcome.kind) {
        case 'begun':
          break;
        case 'full':
          throw noSpace();
        case 'there':
        case 'refused':
        case 'abandoned':
          throw unavailable('the log of the tenant could not begin; try again');
        default:
          unreachable(outcome);
      }
      await this.#order(path, {kind: 'set_place', base, place: encodePlace(outcome.position, FILE_NOTE)});
      return outcome.position.epoch;
    } finally {
      closeSync(fd);
    }
  }

  /** @param path of a new file, on the file system of the scratch directory. @throws ServiceError; EngineError */
  async copy(tenant: TenantName, path: string): Promise<void> {
    const {replicated, files, rate, scratch, report, signal} = this.#parts;
    const directory = join(scratch, `copy-${randomBytes(8).toString('hex')}`);
    mkdirSync(directory, {mode: 0o700});
    const target = {path: join(directory, TENANT_FILE), owner: null};
    const log = replicated.tenant(tenant);
    const {bases} = replicated;
    const standby = new Standby({
      ...{tenant, log, bases, files, target, rate, report},
      scratch: join(directory, 'fetched'),
    });
    try {
      for (let is = await standby.step(); is !== 'current'; is = await standby.step()) {
        if (signal.aborted) throw unavailable('this host leaves the cluster; try again');
        if (is === 'base_needed' && !(await standby.seed())) throw unavailable('no base of the tenant is sound');
      }
      if (!existsSync(target.path)) throw conflict(`tenant ${tenant.id} has nothing yet: it was never used`);
      renameSync(target.path, path);
    } catch (error) {
      if (!(error instanceof LogError || error instanceof StandbyError)) throw error;
      throw unavailable(`tenant ${tenant.id} cannot be copied from its log: ${error.message}`);
    } finally {
      rmSync(directory, {recursive: true, force: true});
    }
  }

  async #order(path: string, wish: FileWish): Promise<void> {
    const end = new Int32Array(new SharedArrayBuffer(4));
    const answer = await this.#parts.files.run({path, owner: null, ...wish, end});
    switch (answer.kind) {
      case 'done':
        return;
      case 'no_space':
        throw new ServiceError('session.storage_full', 'the disk is full: free space and try again');
      case 'unusable':
      case 'failed':
        throw unavailable(`the file cannot be read: ${answer.sentence}`);
      case 'ended':
        throw unavailable('the file was not read; try again');
      default:
        unreachable(answer);
    }
  }
}

function noSpace(): ServiceError {
  return new ServiceError('session.storage_full', "the cluster's log has no space for the file");
}
