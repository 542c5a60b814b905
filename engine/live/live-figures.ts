/**
 * What one live query has cost since it was first subscribed to, and its newest evaluations with the writes that caused
 * them. Each evaluation adds a few numbers and one small record. The records of all queries share one ring, so their
 * memory is bounded, and a busy query does not displace more than its own oldest ones beyond that.
 */
import {LIVE_EVALUATIONS_MAX, LIVE_EVALUATIONS_OF_ONE_MAX, LIVE_RANGE_CHARS_MAX} from '../limits.ts';

/** A key range that a write hit. `index` null: an order by `fields` that no index has. */
export type HitRange = {
  readonly index: string | null;
  readonly fields: readonly string[];
  readonly lower: string;
  readonly upper: string;
};

export type LiveCause =
  | {readonly cause: 'written'; readonly sequence: number; readonly table: string; readonly id: string}
  | {readonly cause: 'added' | 'identity' | 'deployment' | 'environment' | 'schema' | 'unknown'};

/**
 * `changed`, `equal`: the result, compared with the one before. `unmatched`: the write was in the watched ranges, but
 * the query's other filters leave the document out.
 */
export type LiveOutcome = 'changed' | 'equal' | 'unmatched';

export type Evaluated = {
  readonly atMs: number;
  readonly ms: number;
  readonly outcome: LiveOutcome;
  readonly cause: LiveCause;
  /** Null: the cause is no write, or the range is not known or too long. */
  readonly range: HitRange | null;
};

const NONE: readonly Evaluated[] = [];

export class LiveFigures {
  readonly sinceMs: number;
  readonly counts: Record<LiveOutcome, number> = {changed: 0, equal: 0, unmatched: 0};
  /** Time of all evaluations. */
  ms = 0;
  lastMs: number | null = null;
  readonly #firstCommit: number;
  #lastCommit = -1;
  #commits = 0;
  #newest: Evaluated[] | null = null;

  /** @param commit number of commits before the query */
  constructor(nowMs: number, commit: number) {
    this.sinceMs = nowMs;
    this.#firstCommit = commit;
  }

  /** The newest evaluations, oldest first. */
  get newest(): readonly Evaluated[] {
    return this.#newest ?? NONE;
  }

  /** This commit concerns the query. */
  touched(commit: number): void {
    if (commit === this.#lastCommit) return;
    this.#lastCommit = commit;
    this.#commits++;
  }

  /** Commits that did not concern it, of all `commits` so far. */
  skipped(commits: number): number {
    return Math.max(0, commits - this.#firstCommit - this.#commits);
  }

  add(evaluated: Evaluated): void {
    this.counts[evaluated.outcome]++;
    this.ms += evaluated.ms;
    this.lastMs = evaluated.atMs;
    this.#newest ??= [];
    this.#newest.push(evaluated);
    if (this.#newest.length > LIVE_EVALUATIONS_OF_ONE_MAX) this.#newest.shift();
  }

  forget(evaluated: Evaluated): void {
    if (this.#newest?.[0] === evaluated) this.#newest.shift();
  }
}

/** The evaluations of all live queries. */
export class LiveEvaluations {
  readonly #ring: {readonly of: LiveFigures; readonly evaluated: Evaluated}[] = [];
  #at = 0;

  add(of: LiveFigures, evaluated: Evaluated): void {
    const oldest = this.#ring[this.#at];
    oldest?.of.forget(oldest.evaluated);
    this.#ring[this.#at] = {of, evaluated};
    this.#at = (this.#at + 1) % LIVE_EVALUATIONS_MAX;
    of.add(evaluated);
  }
}

/** Null: its bounds are too long to keep. */
export function keptRange(range: HitRange): HitRange | null {
  return range.lower.length + range.upper.length > LIVE_RANGE_CHARS_MAX ? null : range;
}
