/**
 * Runs mutations on the worker's main thread, inside a commit group: each in the savepoint its write has there, reading and
 * writing through the one writer. So mutations run one after another and never conflict.
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
import {MUTATION_WALL_MS_MAX} from '../limits.ts';
import {MutationScheduler} from './mutation-scheduler.ts';

export class MutationRunner {
  readonly #runner: SyncRunner;
  readonly #scheduler: MutationScheduler;
  readonly #writer: Writer;
  #idleTimer: NodeJS.Timeout | null = null;
  #isUsed = false;
  #usedMs = 0;
  /** They run on this thread, to their ends. */
  readonly underWay = 0;

  /** @param table the functions of the active deployment, for what is scheduled */
  constructor(writer: Writer, db: Connection, table: () => FunctionTable | null) {
    this.#writer = writer;
    // Now, and not with the first call. A tenant without code has neither.
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

  /** To be called before the write, which would wait while modules are loaded. @returns how that failed; null: it did not */
  prepare(execution: Execution): SyncResult | null {
    this.#use();
    return this.#runner.prepare(execution);
  }

  /** False: modules have to be loaded first. */
  isPrepared(execution: Execution): boolean {
    return this.#runner.isPrepared(execution);
  }

  /**
   * To be called inside a write. What the mutation wrote is to be rolled back by the caller when the outcome is not ok.
   * @param job the scheduled job this is the run of, or null
   */
  run(execution: Execution, job: string | null): SyncResult {
    this.#use();
    this.#scheduler.begin(job);
    return this.#writer.at(execution.nowMs, () => this.#runner.run(execution));
  }

  /** Asked between mutations: those hold the thread that asks. What was prepared is prepared again. */
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

  /** The isolate's memory returns when no mutation ran for a while. */
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
