/**
 * Hands queries to threads. All that arrived while a thread was busy go to it together, so the crossing costs little; under
 * load a second batch waits at the thread already when it finishes the first, so it never waits for the main thread.
 *
 * A thread that has not answered for a while is held up (a query in a loop takes a second to be stopped): what comes then goes
 * to another one, which is started if need be.
 */
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {Piscina} from 'piscina';
import {type ErrorObject, ServiceError} from '../../../shared/errors.ts';
import {
  FUNCTION_IDLE_MS,
  FUNCTION_LOAD_MS_MAX,
  FUNCTION_MS_MAX,
  QUERY_BATCH_MAX,
  QUERY_BATCH_STALL_MS,
  QUERY_LOOK_AHEAD_MIN,
  QUERY_QUEUE_MAX,
  QUERY_THREADS_MAX,
  QUERY_WEDGED_MS,
} from '../../../shared/limits.ts';
import {type Damage, reportDamage} from '../../storage/damage.ts';
import type {Execution} from '../execution.ts';
import type {SyncResult} from '../isolate/sync-runner.ts';
import type {QueryBatch, QueryBatchResult, QueryThreadSettings} from './query-batch.ts';

type Waiting = {execution: Execution; resolve: (result: SyncResult) => void; reject: (error: unknown) => void};

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'query.thread.js');

export class QueryPool {
  readonly #settings: QueryThreadSettings;
  readonly #onWedged: () => void;
  readonly #threads: QueryThread[] = [];
  #waiting: Waiting[] = [];
  #stallTimer: NodeJS.Timeout | null = null;
  #scheduled = false;

  /** @param onWedged a thread hangs in a call of V8 that no time-out reaches: only the end of the process frees it */
  constructor(databasePath: string, onWedged: () => void) {
    this.#onWedged = onWedged;
    this.#settings = {databasePath};
  }

  /** @throws session.overloaded 503 */
  run(execution: Execution): Promise<SyncResult> {
    if (this.#waiting.length >= QUERY_QUEUE_MAX) {
      throw new ServiceError('session.overloaded', 'too many queries are waiting; try again shortly');
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({execution, resolve, reject});
      this.#schedule();
    });
  }

  async close(): Promise<void> {
    if (this.#stallTimer !== null) clearTimeout(this.#stallTimer);
    await Promise.all(this.#threads.map(thread => thread.close()));
  }

  /** At the end of the turn: what arrives together goes together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      if (thread === null) {
        this.#lookAgain();
        return;
      }
      const batch = this.#waiting.splice(0, QUERY_BATCH_MAX);
      void this.#send(thread, batch);
    }
  }

  #freeThread(): QueryThread | null {
    const stalledSince = performance.now() - QUERY_BATCH_STALL_MS;
    const running = this.#threads.filter(thread => !thread.isStalled(stalledSince));
    const depth = this.#waiting.length >= QUERY_LOOK_AHEAD_MIN ? 2 : 1;
    const free = running.find(thread => thread.underWay < depth);
    if (free !== undefined) return free;
    if (running.length > 0 || this.#threads.length >= QUERY_THREADS_MAX) return null;
    const thread = new QueryThread(this.#settings);
    this.#threads.push(thread);
    return thread;
  }

  #lookAgain(): void {
    this.#stallTimer ??= setTimeout(() => {
      this.#stallTimer = null;
      this.#dispatch();
    }, QUERY_BATCH_STALL_MS);
  }

  async #send(thread: QueryThread, batch: Waiting[]): Promise<void> {
    const mostMs = FUNCTION_LOAD_MS_MAX + batch.length * FUNCTION_MS_MAX + QUERY_WEDGED_MS;
    const deadline = setTimeout(this.#onWedged, thread.underWay === 0 ? mostMs : 2 * mostMs);
    try {
      const {env} = batch.at(-1)!.execution;
      const results = await thread.run({env, executions: batch.map(({execution: {env: _, ...rest}}) => rest)});
      for (const [i, {resolve, reject}] of batch.entries()) {
        const result = results[i]!;
        if ('refused' in result) reject(refusal(result.refused));
        else resolve(result);
      }
    } catch (error) {
      for (const {reject} of batch) reject(error);
    } finally {
      clearTimeout(deadline);
    }
    this.#dispatch();
  }
}

function refusal({code, message, detail}: ErrorObject): ServiceError {
  if (code === 'op.storage_damaged') reportDamage(detail as Damage);
  return new ServiceError(code, message, detail);
}

/** One thread, started when it is first used, ended when it is idle, and started again. */
class QueryThread {
  readonly #settings: QueryThreadSettings;
  #pool: Promise<Piscina<QueryBatch, QueryBatchResult>> | null = null;
  /** When each batch under way was sent, the oldest first. */
  readonly #sentMs: number[] = [];

  constructor(settings: QueryThreadSettings) {
    this.#settings = settings;
  }

  get underWay(): number {
    return this.#sentMs.length;
  }

  /** It has not answered since then. */
  isStalled(sinceMs: number): boolean {
    return this.#sentMs.length > 0 && this.#sentMs[0]! <= sinceMs;
  }

  async run(batch: QueryBatch): Promise<QueryBatchResult> {
    this.#sentMs.push(performance.now());
    try {
      this.#pool ??= this.#open();
      return await (await this.#pool).run(batch);
    } finally {
      this.#sentMs.shift();
      // What waits behind it is only being looked at now.
      if (this.#sentMs.length > 0) this.#sentMs[0] = performance.now();
    }
  }

  async close(): Promise<void> {
    const pool = await this.#pool;
    await pool?.destroy();
  }

  /** Piscina is loaded with the first query: most tenants that are awake run none. */
  async #open(): Promise<Piscina<QueryBatch, QueryBatchResult>> {
    const {Piscina} = await import('piscina');
    return new Piscina({
      filename: THREAD,
      workerData: this.#settings,
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 2,
      idleTimeout: FUNCTION_IDLE_MS,
    });
  }
}
