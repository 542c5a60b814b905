/**
 * The messages between the main thread and a query thread: queries that arrived together, and the results of those that
 * were run, in the same order.
 */
import type {Refused} from '../execution.ts';
import type {PackedExecutions} from './packed-executions.ts';
import type {PackedRun} from './packed-run.ts';

/** All queries of a batch have the same environment. */
export type QueryBatch = {
  env: Readonly<Record<string, string>>;
  executions: PackedExecutions;
  /** The arguments of all of them. */
  args: string;
  /** All of them read one snapshot, however long that takes. */
  isWhole: boolean;
  /** Index of the counter in which the thread counts the queries it has begun. */
  slot: number;
};
export type QueryBatchResult = (PackedRun | Refused)[];

/** Sent instead of a batch: the thread releases its isolates. The next batch opens new ones. */
export const REST = 'rest';
/** Sent instead of a batch: the thread makes an isolate for the first batch. */
export const WARM = 'warm';
/** Sent before the first batch to a thread that was started without a file. */
export type OpenFile = {databasePath: string};
export type QueryTask = QueryBatch | OpenFile | typeof REST | typeof WARM;

/** Settings of a query thread, passed at its start. `databasePath`: null if `OpenFile` will name it. */
export type QueryThreadSettings = {databasePath: string | null; progress: Int32Array<SharedArrayBuffer>};

/**
 * Shared memory, for a running batch and one behind it. It holds the number of queries that the thread has begun, or
 * PROGRESS_TAKEN if the main thread has taken the rest; then whether the running query is the first that needs its
 * module; then the kernel's id of the thread.
 */
export const PROGRESS_SLOTS = 5;
export const PROGRESS_FIRST = 2;
export const PROGRESS_THREAD = 4;
export const PROGRESS_TAKEN = 1 << 20;
