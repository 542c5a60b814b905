/**
 * SQLite's own check of a file that was not closed in order. The tenant serves at once; the check runs in a thread with a
 * read-only connection, because it cannot be cut into slices. It holds a read transaction while it runs, so the WAL grows
 * meanwhile; it ends by itself.
 */
import {Worker} from 'node:worker_threads';

/** Calls `onDone` with SQLite's words when the file is damaged, else with null; `onError` when the check could not run. */
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
