/**
 * Hands queries to threads. All that arrived while a thread was busy go to it together, so the crossing costs little under
 * load; a thread that is held up (a query in a loop takes a second to be stopped) gets company, and the others go on there.
 */
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import type {Piscina} from 'piscina';
import {ServiceError} from '../../../shared/errors.ts';
import {
  FUNCTION_IDLE_MS,
  QUERY_BATCH_MAX,
  QUERY_BATCH_STALL_MS,
  QUERY_QUEUE_MAX,
  QUERY_THREADS_MAX,
} from '../../../shared/limits.ts';
import type {Execution} from '../execution.ts';
import type {SyncResult} from '../isolate/sync-runner.ts';
import type {QueryBatch, QueryBatchResult, QueryThreadSettings} from './query-batch.ts';

type Waiting = {execution: Execution; resolve: (result: SyncResult) => void; reject: (error: unknown) => void};

const THREAD = join(dirname(fileURLToPath(import.meta.url)), 'query.thread.js');

export class QueryPool {
  readonly #databasePath: string;
  #pool: Promise<Piscina<QueryBatch, QueryBatchResult>> | null = null;
  #waiting: Waiting[] = [];
  /** When each batch under way was sent. */
  readonly #underWay = new Set<{sentMs: number}>();
  #stallTimer: NodeJS.Timeout | null = null;
  #scheduled = false;

  constructor(databasePath: string) {
    this.#databasePath = databasePath;
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
    const pool = await this.#pool;
    await pool?.destroy();
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
    while (this.#waiting.length > 0 && this.#mayBegin()) {
      const batch = this.#waiting.splice(0, QUERY_BATCH_MAX);
      const mark = {sentMs: performance.now()};
      this.#underWay.add(mark);
      void this.#send(batch).finally(() => {
        this.#underWay.delete(mark);
        this.#dispatch();
      });
    }
    if (this.#waiting.length > 0) this.#lookAgain();
  }

  /** One batch at a time, unless all under way are held up. */
  #mayBegin(): boolean {
    if (this.#underWay.size >= QUERY_THREADS_MAX) return false;
    const stalledSince = performance.now() - QUERY_BATCH_STALL_MS;
    for (const {sentMs} of this.#underWay) if (sentMs > stalledSince) return false;
    return true;
  }

  #lookAgain(): void {
    this.#stallTimer ??= setTimeout(() => {
      this.#stallTimer = null;
      this.#dispatch();
    }, QUERY_BATCH_STALL_MS);
  }

  async #send(batch: Waiting[]): Promise<void> {
    try {
      this.#pool ??= openPool(this.#databasePath);
      const pool = await this.#pool;
      const {env} = batch[0]!.execution;
      const results = await pool.run({env, executions: batch.map(({execution: {env: _, ...rest}}) => rest)});
      for (const [i, {resolve}] of batch.entries()) resolve(results[i]!);
    } catch (error) {
      for (const {reject} of batch) reject(error);
    }
  }
}

/** Loaded with the first query: most tenants that are awake run none. */
async function openPool(databasePath: string): Promise<Piscina<QueryBatch, QueryBatchResult>> {
  const {Piscina} = await import('piscina');
  const settings: QueryThreadSettings = {databasePath};
  return new Piscina({
    filename: THREAD,
    workerData: settings,
    minThreads: 0,
    maxThreads: QUERY_THREADS_MAX,
    concurrentTasksPerWorker: 1,
    idleTimeout: FUNCTION_IDLE_MS,
  });
}
