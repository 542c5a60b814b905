/**
 * Runs mutations on the worker's main thread, inside a commit group. Each runs in its write and reads and writes through
 * the one writer, so mutations run one after another and never conflict.
 */

import type {Writer} from '../../../engine/commit/writer.ts';
import type {Connection} from '../../../engine/storage/connection.ts';
import {Reader} from '../../../engine/storage/reader.ts';
import {mayHoldIsolates} from '../../../shared/node-flags.ts';
import type {FunctionTable} from '../../runtime/call.ts';
import {CodeStore} from '../../runtime/code-store.ts';
import {HostDatabase} from '../../runtime/database/host-database.ts';
import type {Execution} from '../../runtime/execution.ts';
import {isolateLibrary} from '../../runtime/isolate/realm.ts';
import {type SyncResult, SyncRunner} from '../../runtime/isolate/sync-runner.ts';
import {FUNCTION_IDLE_MS} from '../../runtime/limits.ts';
import type {Span} from '../../runtime/log/span.ts';
import {MUTATION_WALL_MS_MAX} from '../limits.ts';
import {MutationScheduler} from './mutation-scheduler.ts';

export class MutationRunner {
  readonly #runner: SyncRunner;
  readonly #scheduler: MutationScheduler;
  readonly #writer: Writer;
  #idleTimer: NodeJS.Timeout | null = null;
  #isUsed = false;
  #usedMs = 0;
  /** Always 0: mutations run on this thread, to completion. */
  readonly underWay = 0;

  /** @param table the functions of the active deployment, for scheduled calls */
  constructor(writer: Writer, db: Connection, table: () => FunctionTable | null) {
    this.#writer = writer;
    // Loads the library at once instead of with the first call. A tenant without code needs neither.
    if (mayHoldIsolates()) isolateLibrary();
    const code = new CodeStore(db);
    this.#scheduler = new MutationScheduler(writer, table);
    this.#runner = new SyncRunner(
      'mutation',
      deployment => code.sourceOf(deployment),
      new HostDatabase(new Reader(db, writer.catalog, {cachesRows: false}), writer),
      this.#scheduler,
      {wallMsMax: MUTATION_WALL_MS_MAX},
    );
  }

  /** Call it before the write, because the write would wait while modules load. @returns the failure; null: prepared */
  prepare(execution: Execution): SyncResult | null {
    this.#use();
    return this.#runner.prepare(execution);
  }

  /** False: modules have to be loaded first. */
  isPrepared(execution: Execution): boolean {
    return this.#runner.isPrepared(execution);
  }

  /**
   * Call it inside a write. The caller rolls back the mutation's writes when the outcome is not ok.
   * @param job the scheduled job that this is the run of, or null
   */
  run(execution: Execution, job: string | null, span: Span): SyncResult {
    this.#use();
    this.#scheduler.begin(job, span);
    return this.#writer.at(execution.nowMs, () => this.#runner.run(execution));
  }

  /** Runs between mutations, because a mutation blocks the thread. A released mutation is prepared again. */
  releaseIdle(unusedMs: number): void {
    if (performance.now() - this.#usedMs >= unusedMs) this.#runner.dispose();
  }

  #use(): void {
    this.#isUsed = true;
    this.#usedMs = performance.now();
    this.#idleTimer ??= this.#watchIdle();
  }

  close(): void {
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer);
    this.#runner.dispose();
  }

  /** Releases the isolate's memory when no mutation has run for a while. */
  #watchIdle(): NodeJS.Timeout {
    return setInterval(() => {
      if (this.#isUsed) {
        this.#isUsed = false;
        return;
      }
      clearInterval(this.#idleTimer!);
      this.#idleTimer = null;
      this.#runner.dispose();
    }, FUNCTION_IDLE_MS).unref();
  }
}
