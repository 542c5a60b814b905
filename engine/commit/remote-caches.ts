/**
 * Caches of documents in other processes. A commit becomes visible when none of them answers with what it replaced, so
 * a reader who has seen the commit never gets an older value afterwards (decision 0120).
 *
 *   COMMIT ──▶ committing: caches drop the documents ──▶ each has confirmed, or may not answer any more
 *      └─────▶ sync ───────────────────────────────────▶ both have ended: the commit is visible
 */
import type {Commit} from './commit.ts';

export interface RemoteCaches {
  /** Whether a commit made now can have to wait: readers then keep their snapshot until it is visible. */
  readonly mayWait: boolean;
  /**
   * The commit is in the WAL, and no reader sees it yet.
   * @param done called once if the commit must wait, later than this call
   * @returns whether it must wait
   */
  committing(commit: Commit, done: () => void): boolean;
}
