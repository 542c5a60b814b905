/**
 * What a commit waits for in addition to the sync of the WAL before anyone sees it (decision 0111).
 *
 *   before COMMIT ── refusal ──▶ the group is refused
 *   COMMIT ──▶ begin ──▶ pending ──┬───────────────────────────────▶ done
 *                                  ├── undecided: writes are refused ──▶ done
 *                                  └── refused for ever: the durability ends the process
 */
import type {ServiceError} from '../../shared/errors.ts';
import type {CommitFacts} from '../copies/captured-set.ts';

export interface Durability {
  /** Of a durability that follows behind the commits; undefined: it has each commit when that is done. */
  readonly lag?: DurabilityLag | undefined;
  /** Why no commit can be made now. Null: it can. @param pages that the commit will change, an estimate */
  refusal(pages: number): ServiceError | null;
  /** The commit is in the WAL, and no other one before `done`. */
  begin(facts: CommitFacts, events: DurabilityEvents): void;
  /**
   * All commits are on disk and not pending, and a checkpoint follows: the pages before them are gone then, with which the
   * next open would compare them. @returns false: the disk has no space to note that, so no checkpoint can be made
   */
  beforeCheckpoint(): boolean;
}

export type DurabilityEvents = {
  done(): void;
  /** It takes so long that it is unknown whether the commit stays. `done` can follow. */
  undecided(): void;
};

/** Commits that are done, and that only the WAL has. */
export interface DurabilityLag {
  /** There are some: a checkpoint would move them to where they can be neither appended nor cut off. */
  readonly isPending: boolean;
  /** There are too many, so no group begins. */
  readonly isTooLong: boolean;
  /** Calls `then` each time that there are fewer. */
  whenShorter(then: () => void): void;
}
