/**
 * Runs SQLite's own check of a file that was not closed in order. The tenant serves at once. The check runs in a thread
 * with a read-only connection, because it cannot be cut into slices. It holds a read transaction, so the WAL grows
 * until it ends.
 */
import {Worker} from 'node:worker_threads';

/**
 * Calls `onDone` with SQLite's message when the file is damaged, else with null; `onError` when the check could not
 * run.
 */
export function checkInBackground(
  path: string,
  onDone: (finding: string | null) => void,
  onError: (error: Error) => void,
): void {
  const thread = new Worker(new URL('./quick-check.thread.js', import.meta.url), {
    workerData: {path},
    resourceLimits: {maxOldGenerationSizeMb: 32},
  });
  thread.on('message', onDone);
  thread.on('error', onError);
  thread.unref();
}
