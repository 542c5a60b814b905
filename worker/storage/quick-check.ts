/**
 * SQLite's own check of a file that was not closed in order. The tenant serves at once; the check runs in a thread with a
 * read-only connection, because it cannot be cut into slices. It holds a read transaction while it runs, so the WAL grows
 * meanwhile; it ends by itself.
 */
import {Worker} from 'node:worker_threads';

/**
 * Calls `onFinding` with SQLite's words when the file is damaged, `onError` when the check itself could not run; a sound
 * file is not mentioned.
 */
export function checkInBackground(
  path: string,
  onFinding: (finding: string) => void,
  onError: (error: Error) => void,
): void {
  const thread = new Worker(new URL('./quick-check.thread.js', import.meta.url), {
    workerData: {path},
    resourceLimits: {maxOldGenerationSizeMb: 32},
  });
  thread.on('message', (finding: string) => onFinding(finding));
  thread.on('error', onError);
  thread.unref();
}
