/**
 * A thread that runs queries: it has its own isolate and its own read-only connection. The queries of a batch read one
 * snapshot, opened when the batch begins, so they see every write that was acknowledged before they were requested.
 */
import {parentPort, workerData} from 'node:worker_threads';
import Database from 'better-sqlite3';
import {Catalog} from '../../../engine/storage/catalog.ts';
import {reading} from '../../../engine/storage/damage.ts';
import {openReader} from '../../../engine/storage/database.ts';
import {Reader} from '../../../engine/storage/reader.ts';
import {assert} from '../../../shared/assert.ts';
import {errorEnvelope, ServiceError} from '../../../shared/errors.ts';
import {CodeStore} from '../code-store.ts';
import {HostDatabase} from '../database/host-database.ts';
import type {Execution} from '../execution.ts';
import {collectGarbage} from '../isolate/collect-garbage.ts';
import {type SyncResult, SyncRunner} from '../isolate/sync-runner.ts';
import {QUERY_SLICE_MS, QUERY_WALL_MS_MAX} from '../limits.ts';
import {unpacked} from './packed-executions.ts';
import {packedRun} from './packed-run.ts';
import {
  PROGRESS_FIRST,
  PROGRESS_TAKEN,
  PROGRESS_THREAD,
  type QueryBatch,
  type QueryBatchResult,
  type QueryTask,
  type QueryThreadSettings,
  REST,
  WARM,
} from './query-batch.ts';
import {answerTasks} from './task-thread.ts';
import {ownThread} from './thread-time.ts';

const settings = workerData as QueryThreadSettings;
const {progress} = settings;
Atomics.store(progress, PROGRESS_THREAD, ownThread());
let {databasePath} = settings;
let openFile: ReturnType<typeof opened> | null = null;
const host = new HostDatabase(null, null);
const runner = new SyncRunner('query', deployment => file().code.sourceOf(deployment), host, null, {
  wallMsMax: QUERY_WALL_MS_MAX,
});
if (databasePath !== null) file();

answerTasks(parentPort!, runTask);

function runTask(task: QueryTask): QueryBatchResult {
  switch (task) {
    case REST:
      rest();
      return [];
    case WARM:
      runner.warm();
      if (openFile === null) new Database(':memory:').close(); // loads SQLite
      return [];
  }
  if (!('databasePath' in task)) return runBatch(task);
  databasePath = task.databasePath;
  file();
  return [];
}

/** The file of the tenant, opened when it is known, or once more if that failed. */
function file(): ReturnType<typeof opened> {
  if (openFile !== null) return openFile;
  assert(databasePath !== null, 'the file is known before it is read');
  openFile = opened(databasePath);
  host.readFrom(openFile.reader);
  return openFile;
}

function opened(path: string) {
  const db = openReader(path);
  const journalHead = db.prepare<[], number | null>('SELECT max(sequence) FROM journal').pluck();
  const reader = new Reader(db, new Catalog(), {cachesRows: false, followsCatalog: true});
  return {journalHead, reader, code: new CodeStore(db)};
}

function runBatch({env, executions: packed, args, isWhole, slot}: QueryBatch): QueryBatchResult {
  const executions = unpacked(packed, args, env);
  const {reader, journalHead} = file();
  try {
    reading(() => reader.inSnapshot());
    const sequence = reading(() => journalHead.get() ?? 0);
    const endMs = performance.now() + QUERY_SLICE_MS;
    const results: QueryBatchResult = [];
    do {
      const execution = executions[results.length];
      if (execution === undefined) break;
      Atomics.store(progress, PROGRESS_FIRST + slot, runner.isLoaded(execution) ? 0 : 1);
      if (Atomics.add(progress, slot, 1) >= PROGRESS_TAKEN) break;
      results.push(runAlone(execution, sequence));
    } while (isWhole || performance.now() < endMs);
    return results;
  } catch (caught) {
    // Damage that affects all of them: none can be run.
    return executions.map(() => refused(caught));
  } finally {
    reader.endSnapshot();
  }
}

/** When the thread ends, nothing of isolated-vm can be left, not even as garbage. */
function rest(): void {
  runner.dispose();
  collectGarbage();
}

/** Runs it alone, so that a query that meets damage fails alone. */
function runAlone(execution: Execution, sequence: number): QueryBatchResult[number] {
  try {
    return packedRun({...runToEnd(execution), sequence});
  } catch (caught) {
    return refused(caught);
  }
}

function refused(caught: unknown): QueryBatchResult[number] {
  if (!(caught instanceof ServiceError)) throw caught;
  return {refused: errorEnvelope(caught).error};
}

/** On a busy machine it is run again, with more wall-clock time. */
function runToEnd(execution: Execution): SyncResult {
  for (;;) {
    const result = runner.run(execution);
    if (result.starved !== 'again') return result;
  }
}
