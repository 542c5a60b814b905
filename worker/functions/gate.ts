/**
 * The way to the function platform. Its code, and what that brings with it (undici, isolated-vm, threads), is loaded with the
 * first need: a tenant that only keeps documents never has it in memory, and no start of a process waits for it.
 *
 *   absent ──a function operation | a due job of a function | `warm`──▶ loading ──▶ loaded
 *      ▲                                                                  │
 *      └──────────────── it fails: said in the log, whoever waits is refused; the next need tries again
 *
 * Who needs it while it is loading waits for the one load under way.
 */

import type {Commit, Stage} from '../../engine/commit/commit.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import {ACTIVE_KEY, storedSettings} from '../../engine/storage/stored-settings.ts';
import {assert} from '../../shared/assert.ts';
import {ServiceError} from '../../shared/errors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import type {Logger} from '../../shared/log.ts';
import type {Request} from '../ipc/decode.ts';
import {crossOriginHeaders} from './cross-origin.ts';
import {FUNCTIONS_WARM_DELAY_MS} from './limits.ts';
import type {FunctionPlatform, PlatformParts} from './platform.ts';

/** How the platform comes to be; another one in tests. */
export type LoadPlatform = (parts: PlatformParts) => Promise<FunctionPlatform>;

const load: LoadPlatform = async parts => {
  const {path, writer, log, metrics} = parts;
  const [{FunctionIsolates}, life] = await Promise.all([
    import('../runtime/isolate-process/function-isolates.ts'),
    import('../runtime/process/lifeline.ts').then(({lifeline}) => lifeline()),
  ]);
  const isolates = new FunctionIsolates({
    databasePath: path,
    headSequence: () => writer.head.sequence,
    lifeline: life.command,
    log,
    onEnd: cause => metrics.isolatesEnded(cause),
  });
  metrics.isolates = isolates;
  // It starts on another processor while this one loads the platform; the first query finds it there.
  if (hasFunctions(writer)) isolates.start();
  try {
    const {FunctionPlatform} = await import('./platform.ts');
    return new FunctionPlatform(parts, isolates);
  } catch (error) {
    await isolates.close();
    throw error;
  }
};

export class FunctionGate implements Stage {
  readonly #parts: PlatformParts;
  readonly #log: Logger;
  readonly #load: LoadPlatform;
  #platform: FunctionPlatform | null = null;
  #loading: Promise<FunctionPlatform> | null = null;
  #warmTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: PlatformParts, loadPlatform: LoadPlatform = load) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#load = loadPlatform;
  }

  /** Null: it is not loaded. */
  get platform(): FunctionPlatform | null {
    return this.#platform;
  }

  /** A deployment serves here. A job of a function loads what it needs itself, when it is due. */
  get hasFunctions(): boolean {
    return hasFunctions(this.#parts.writer);
  }

  /** Loads it unless it is there. @throws session.worker_unavailable 503; op.storage_damaged 503 */
  readonly loaded = (): Promise<FunctionPlatform> => {
    if (this.#platform !== null) return Promise.resolve(this.#platform);
    this.#loading ??= this.#begin().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  };

  /**
   * Loads it soon if this tenant is one that has functions, so that the first call finds it. Not at once: the request that
   * woke the tenant is about to come, and if it is no call it should not wait for this.
   */
  warm(): void {
    if (!this.hasFunctions) return;
    this.#warmTimer = setTimeout(() => {
      this.loaded().catch(() => undefined); // The log says so, and whoever needs it tries again.
    }, FUNCTIONS_WARM_DELAY_MS);
  }

  /** Pages of these origins may call the tenant's functions; null: any. */
  get allowedOrigins(): readonly string[] | null {
    const source = this.#platform ?? {allowedOrigins: storedSettings(this.#parts.writer.db).allowed_origins};
    return source.allowedOrigins;
  }

  /** Headers that an answer to this request carries so that a page may read it. */
  headersOf(request: Pick<Request, 'op' | 'origin'>): HeaderList | null {
    return crossOriginHeaders(request, () => this.allowedOrigins);
  }

  /** Before the write of a function's job: loads what its run needs. False: it cannot be had now. */
  readonly prepareJob = async (path: string): Promise<boolean> => {
    try {
      (await this.loaded()).prepareJob(path);
      return true;
    } catch (caught) {
      if (caught instanceof ServiceError) return false;
      throw caught;
    }
  };

  /** Runs a scheduled function inside the write of its job. */
  readonly runJob: FunctionPlatform['runJob'] = (...job) => {
    assert(this.#platform !== null, 'a job was prepared before its write');
    this.#platform.runJob(...job);
  };

  /** A platform that is loaded later begins with what is stored by then. */
  committed(commit: Commit): void {
    this.#platform?.committed(commit);
  }

  /** Waits for a load under way. Nothing is loaded afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#warmTimer !== null) clearTimeout(this.#warmTimer);
    await this.#loading?.catch(() => undefined); // The log says so.
    await this.#platform?.close();
  }

  async #begin(): Promise<FunctionPlatform> {
    if (this.#isClosed) throw unavailable('the tenant is being closed');
    try {
      this.#platform = await this.#load(this.#parts);
      return this.#platform;
    } catch (error) {
      this.#log.error('the function platform could not be loaded', {error});
      // Trying again helps nobody then.
      if (error instanceof ServiceError && error.code === 'op.storage_damaged') throw error;
      throw unavailable('the function platform could not be loaded; the log says why');
    }
  }
}

function unavailable(message: string): ServiceError {
  return new ServiceError('session.worker_unavailable', message);
}

function hasFunctions({statements}: Writer): boolean {
  return statements.meta.get(ACTIVE_KEY) !== undefined;
}
