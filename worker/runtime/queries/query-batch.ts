/**
 * What crosses between the main thread and a query thread: queries of one moment, and the results of those that were run, in
 * the same order.
 */
import type {Execution, Refused} from '../execution.ts';
import type {SyncResult} from '../isolate/sync-runner.ts';

/** The environment is the same for all of a batch. */
export type QueryBatch = {
  env: Readonly<Record<string, string>>;
  executions: Omit<Execution, 'env'>[];
  /** All of them read one snapshot, however long that takes. */
  isWhole: boolean;
  /** Where the thread counts those it has begun. */
  slot: number;
};
/** `sequence`: that of the newest record in the snapshot it read. */
export type QueryRun = SyncResult & {sequence: number};
export type QueryBatchResult = (QueryRun | Refused)[];

/** In the place of a batch: the thread lets go of its isolates. The next batch opens others. */
export const REST = 'rest';
export type Rest = typeof REST;

/** What a query thread is told at its start. */
export type QueryThreadSettings = {databasePath: string; progress: Int32Array<SharedArrayBuffer>};

/**
 * Shared memory, for a batch that runs and one behind it: queries the thread has begun, or PROGRESS_TAKEN when the main
 * thread has taken the rest; then whether the one it runs is the first that needs its module; and the kernel's number of the thread.
 */
export const PROGRESS_SLOTS = 5;
export const PROGRESS_FIRST = 2;
export const PROGRESS_THREAD = 4;
export const PROGRESS_TAKEN = 1 << 20;
