/**
 * Commits with `--ack local`: each is acknowledged when it is on disk, and appended to the log of the cluster behind that,
 * in order. Several that wait are one record.
 *
 *   begin ─▶ done        pending ─▶ page set ─▶ append ──┬─ committed ─▶ the next ones
 *                                      ▲                 ├─ full ─▶ a pause ─┐
 *                                      └─────────────────┼───────────────────┘
 *                                                        └─ refused ─▶ lost: the process ends; the file is set aside
 *
 * Invariants
 * - The WAL has every commit that the log lacks: checkpoints wait (`commit/checkpoints.ts`).
 * - The oldest pending commit is at most `lagMaxMs` old when another group begins.
 * - The note `.local` is beside a file that can have acknowledged commits which the log lacks.
 */
import {hadSpace} from '../../shared/disk-errors.ts';
import type {Durability, DurabilityEvents, DurabilityLag} from '../commit/durability.ts';
import type {CommitFacts} from '../copies/captured-set.ts';
import type {LogReader} from '../copies/log-reader.ts';
import {LOCAL_FULL_RETRY_MS, LOCAL_SET_PAGES, PLACE_PAGES} from '../limits.ts';
import type {CommitPages} from './commit-pages.ts';
import {noteLocal, removeLocalNote} from './local-note.ts';
import {removeMadeNote} from './made-note.ts';
import {type FilePlace, savePlace} from './place-file.ts';
import {appendFirst, logFull, type ReplicatedCommitParts} from './replicated-commit.ts';

export type LocalCommitParts = ReplicatedCommitParts & {
  /** How old a commit that the log lacks can be. Beyond: no group begins. */
  readonly lagMaxMs: number;
  /** Of a clock that is never set. */
  readonly nowMs: () => number;
  readonly after?: (ms: number, then: () => void) => void;
};

type Pending = {readonly facts: CommitFacts; readonly pages: number; readonly sinceMs: number};

export class LocalCommit implements Durability {
  readonly #parts: LocalCommitParts;
  readonly #log: LogReader;
  readonly #pages: CommitPages;
  /** The oldest first: also those that are being appended. */
  readonly #pending: Pending[] = [];
  #isAppending = false;
  #isFull = false;
  #isLost = false;
  #pagesOfNext = 0;
  #pagesSinceSaved = 0;
  #appended: FilePlace | null = null;
  readonly #onShorter: (() => void)[] = [];
  #onEmpty: ((isInLog: boolean) => void) | null = null;

  /** As of `ReplicatedCommit`. */
  static async begin(parts: LocalCommitParts): Promise<LocalCommit> {
    const {log, pages} = await appendFirst(parts);
    noteLocal(parts.path);
    removeMadeNote(parts.path);
    return new LocalCommit(parts, log, pages);
  }

  private constructor(parts: LocalCommitParts, log: LogReader, pages: CommitPages) {
    this.#parts = parts;
    this.#log = log;
    this.#pages = pages;
  }

  /** Age of the oldest commit that the log lacks; 0: it has all. */
  get lagMs(): number {
    const [oldest] = this.#pending;
    return oldest === undefined ? 0 : this.#parts.nowMs() - oldest.sinceMs;
  }

  readonly lag: DurabilityLag = (commits => ({
    get isPending() {
      return commits.#pending.length > 0;
    },
    get isTooLong() {
      // Without space, writes are refused instead.
      return !commits.#isFull && commits.lagMs > commits.#parts.lagMaxMs;
    },
    whenShorter: (then: () => void) => commits.#onShorter.push(then),
  }))(this);

  refusal(pages: number): ReturnType<Durability['refusal']> {
    this.#pagesOfNext = pages;
    const {appender, file} = this.#parts;
    return this.#isFull || pages * file.pageBytes > appender.freeBytes ? logFull() : null;
  }

  begin(facts: CommitFacts, {done}: DurabilityEvents): void {
    this.#savePlace();
    this.#pending.push({facts, pages: this.#pagesOfNext, sinceMs: this.#parts.nowMs()});
    this.#appendNext();
    done();
  }

  /** Its commits up to here are known to be in the log: the next open compares only those behind. */
  beforeCheckpoint(): boolean {
    return hadSpace(() => this.#savePlace(0));
  }

  /** As of `ReplicatedCommit`: resolves when the log has all commits. */
  async last(facts: CommitFacts): Promise<boolean> {
    const newest = this.#pending.at(-1)?.facts.commit ?? this.#pages.position.commit;
    if (facts.commit > newest) this.#pending.push({facts, pages: 0, sinceMs: this.#parts.nowMs()});
    if (this.#isLost) return false;
    if (this.#pending.length === 0) return true;
    this.#appendNext();
    return await new Promise(resolve => {
      this.#onEmpty = resolve;
    });
  }

  /** As of `ReplicatedCommit`. */
  close(closed: string | null = null): void {
    const {path} = this.#parts;
    if (closed !== null) {
      savePlace(path, {at: this.#pages.position, log: closed});
      removeLocalNote(path);
    }
    this.#log.close();
  }

  #appendNext(): void {
    if (this.#isAppending || this.#isLost || this.#pending.length === 0) return;
    this.#isAppending = true;
    const taken: Pending[] = [];
    let pages = 0;
    for (const one of this.#pending) {
      if (taken.length > 0 && pages + one.pages > LOCAL_SET_PAGES) break;
      taken.push(one);
      pages += one.pages;
    }
    const {facts} = taken.at(-1)!;
    this.#append(facts)
      .then(place => {
        if (place === null) return;
        this.#appended = place;
        this.#pagesSinceSaved += pages;
        this.#isAppending = false;
        this.#pending.splice(0, taken.length);
        for (const then of this.#onShorter) then();
        if (this.#pending.length === 0) this.#onEmpty?.(true);
        else this.#appendNext();
      })
      .catch((error: unknown) => this.#lose(`commit ${facts.commit} could not be appended to the log`, error));
  }

  /** Until it is decided. @returns null: the log has not taken it */
  async #append(facts: CommitFacts): Promise<FilePlace | null> {
    const {appender, after = later} = this.#parts;
    const set = this.#pages.next(facts);
    const at = this.#pages.position;
    for (;;) {
      const outcome = await appender.append(set);
      const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
      this.#isFull = decision.kind === 'full';
      if (decision.kind === 'committed') return {at, log: decision.place};
      if (decision.kind === 'refused') {
        this.#lose(`the log has refused commit ${facts.commit}`);
        return null;
      }
      for (const then of this.#onShorter) then(); // what waits is refused
      await new Promise<void>(resolve => after(LOCAL_FULL_RETRY_MS, resolve));
    }
  }

  #lose(reason: string, error?: unknown): void {
    this.#isLost = true;
    this.#onEmpty?.(false);
    this.#parts.onLost(reason, error);
  }

  /** Every commit that was appended is on disk now, because another one follows. */
  #savePlace(pages = this.#parts.placePages ?? PLACE_PAGES): void {
    if (this.#appended === null || this.#pagesSinceSaved < pages) return;
    savePlace(this.#parts.path, this.#appended);
    this.#pagesSinceSaved = 0;
  }
}

function later(ms: number, then: () => void): void {
  setTimeout(then, ms);
}
