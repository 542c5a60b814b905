/**
 * Loads the function platform on demand. Its code and dependencies (undici, isolated-vm, threads) are loaded with the
 * first request that needs them: a tenant that only stores documents never has them in memory, and no process start
 * waits for them.
 *
 *   absent ──a function operation | a due job of a function | `warm`──▶ loading ──▶ loaded
 *      ▲                                                                  │
 *      └──────────────── it fails: said in the log, waiting requests are refused; the next need tries again
 *
 * Requests that need the platform while it is loading wait for that one load. The process of the isolates takes longer
 * to start than the platform takes to load. So it starts when a tenant with functions is opened, on another processor,
 * unless this worker has started it as a spare.
 */

import type {Commit, Stage} from '../../engine/commit/commit.ts';
import type {Writer} from '../../engine/commit/writer.ts';
import type {ListedQueries} from '../../engine/live/listed-query.ts';
import {ACTIVE_KEY, storedSettings} from '../../engine/storage/stored-settings.ts';
import {assert} from '../../shared/assert.ts';
import {ServiceError, unavailable} from '../../shared/errors.ts';
import {corsHeaders} from '../../shared/ipc/cors.ts';
import type {HeaderList} from '../../shared/ipc/operations.ts';
import type {Logger} from '../../shared/log.ts';
import {traitsOf} from '../../shared/operations.ts';
import type {Request} from '../ipc/decode.ts';
import type {ReportedCall} from '../ipc/shared-results.ts';
import type {FunctionIsolates} from '../runtime/isolate-process/function-isolates.ts';
import {FUNCTIONS_WARM_DELAY_MS} from './limits.ts';
import type {FunctionPlatform, PlatformParts} from './platform.ts';

/** What the gate loads; tests replace it. */
export type GateLoads = {
  isolates: (parts: PlatformParts) => Promise<FunctionIsolates>;
  /** @param isolates closed with the platform */
  platform: (parts: PlatformParts, isolates: Promise<FunctionIsolates>) => Promise<FunctionPlatform>;
};

const LOADS: GateLoads = {
  isolates: async ({path, writer, log, metrics}) => {
    const [{FunctionIsolates}, {spareIsolates}, {command}] = await Promise.all([
      import('../runtime/isolate-process/function-isolates.ts'),
      import('../runtime/isolate-process/spare-isolates.ts'),
      import('../runtime/process/parent-watch.ts').then(({parentWatch}) => parentWatch()),
    ]);
    const isolates = new FunctionIsolates({
      databasePath: path,
      headSequence: () => writer.head.sequence,
      start: {parentWatch: command},
      spare: spareIsolates.take(),
      log,
      onEnd: cause => metrics.count('svc_isolate_process_ends_total', {cause}),
    });
    metrics.measure('svc_isolate_processes', () => isolates.processes);
    metrics.measure('svc_isolate_process_bytes', () => isolates.bytes);
    if (hasFunctions(writer)) isolates.start();
    return isolates;
  },
  platform: async (parts, isolates) => {
    const {FunctionPlatform} = await import('./platform.ts');
    return new FunctionPlatform(parts, await isolates);
  },
};

export class FunctionGate implements Stage {
  readonly #parts: PlatformParts;
  readonly #log: Logger;
  readonly #loads: GateLoads;
  #platform: FunctionPlatform | null = null;
  /** Whether it is loaded. */
  readonly dependents = {size: 0};
  #loading: Promise<FunctionPlatform> | null = null;
  /** Started, and not yet part of a platform. */
  #isolates: Promise<FunctionIsolates> | null = null;
  #warmTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(parts: PlatformParts, loads: GateLoads = LOADS) {
    this.#parts = parts;
    this.#log = parts.log;
    this.#loads = loads;
  }

  /** Null: it is not loaded. */
  get platform(): FunctionPlatform | null {
    return this.#platform;
  }

  /** A deployment is active. Jobs of functions load the platform themselves when they are due. */
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
   * If this tenant has functions, starts the process of its isolates, and soon loads the platform, so that the first
   * call finds both. The platform is not loaded at once: the request that woke the tenant is about to arrive, and
   * should not wait for this unless it is a call.
   */
  warm(): void {
    if (!this.hasFunctions) return;
    this.#startedIsolates().catch(() => undefined); // the load of the platform reports it
    this.#warmTimer = setTimeout(() => {
      this.loaded().catch(() => undefined); // logged; the next request that needs it tries again
    }, FUNCTIONS_WARM_DELAY_MS);
  }

  /** Origins of pages that can call the tenant's functions; null: any. */
  get allowedOrigins(): readonly string[] | null {
    const source = this.#platform ?? {allowedOrigins: storedSettings(this.#parts.writer.db).allowed_origins};
    return source.allowedOrigins;
  }

  /** Those of functions, if there can be any. */
  get liveQueries(): readonly ListedQueries[] {
    return this.#platform === null ? [] : [this.#platform.sync.subscribedQueries];
  }

  /** CORS headers that let a page read the response, also an error; null: the operation is not for pages. */
  headersOf(request: Pick<Request, 'op' | 'origin'>): HeaderList | null {
    if (traitsOf(request.op).hasCors !== true) return null;
    return corsHeaders(request.origin ?? undefined, this.allowedOrigins);
  }

  /**
   * Runs before the write of a function's job, to load what its run needs. Resolves to false if that is not possible
   * now.
   */
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

  /** Calls that a router answered with results of the platform, which is loaded therefore. */
  readonly answeredByRouter = (calls: readonly ReportedCall[]): void => {
    this.#platform?.answeredByRouter(calls);
  };

  /** A platform that is loaded later starts from the stored state. */
  committed(commit: Commit): void {
    this.#platform?.committed(commit);
  }

  /** Waits for a load under way. No load starts afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#warmTimer !== null) clearTimeout(this.#warmTimer);
    await this.#loading?.catch(() => undefined); // already logged
    await this.#platform?.close();
    await this.#closeIsolates();
  }

  async #begin(): Promise<FunctionPlatform> {
    if (this.#isClosed) throw unavailable('the tenant is being closed');
    try {
      this.#platform = await this.#loads.platform(this.#parts, this.#startedIsolates());
      this.#isolates = null;
      this.dependents.size = 1;
      return this.#platform;
    } catch (error) {
      await this.#closeIsolates();
      this.#log.error('the function platform could not be loaded', {error});
      // A retry cannot succeed then.
      if (error instanceof ServiceError && error.code === 'op.storage_damaged') throw error;
      throw unavailable('the function platform could not be loaded; the log says why');
    }
  }

  #startedIsolates(): Promise<FunctionIsolates> {
    this.#isolates ??= this.#loads.isolates(this.#parts);
    return this.#isolates;
  }

  /** Those that no platform has. */
  async #closeIsolates(): Promise<void> {
    const isolates = await this.#isolates?.catch(() => null);
    this.#isolates = null;
    await isolates?.close();
  }
}

function hasFunctions({statements}: Writer): boolean {
  return statements.meta.get(ACTIVE_KEY) !== undefined;
}
