/**
 * Results of query functions that routers may have, and which of them a commit touches (decision 0136). The platform
 * keeps results, each until a commit touches what it read is visible. A router loses it earlier: before the commit is
 * visible. So these results have an index of their own, which is asked directly after COMMIT.
 */
import type {Buffer} from 'node:buffer';
import {changesAnswers} from '../../engine/commit/code-events.ts';
import type {Commit} from '../../engine/commit/commit.ts';
import {LiveIndex, type Watch, type Watcher} from '../../engine/live/live-index.ts';
import {type PackedReadSet, touches} from '../../engine/reads/read-set.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {AnsweredCall} from '../../shared/ipc/operations.ts';
import {CALLS_REPORT_BYTES_MAX} from '../../shared/limits.ts';
import {PENDING_COMPARISONS_MAX} from './limits.ts';

/** A result that a run at the newest visible commit would return, while it is kept. */
export interface KeptResult {
  readonly readSet: PackedReadSet;
  /** See `callName`. */
  readonly name: string;
  readonly isKept: boolean;
  /** Called when it is kept no longer; null: nothing is called. */
  onEnd: (() => void) | null;
}

/** A result that the worker keeps, and that at least one router may have. */
export class SharedResult implements Watcher {
  readonly number: number;
  readonly kept: KeptResult;
  watch: Watch | null = null;
  readonly #touched: Set<SharedResult>;

  constructor(number: number, kept: KeptResult, touched: Set<SharedResult>) {
    this.number = number;
    this.kept = kept;
    this.#touched = touched;
  }

  wrote(): void {
    this.#touched.add(this);
  }
}

export class SharedResults {
  readonly #index = new LiveIndex();
  readonly #byKept = new Map<KeptResult, SharedResult>();
  #touched = new Set<SharedResult>();
  #last = 0;

  get size(): number {
    return this.#byKept.size;
  }

  /** @param onEnd called when it is kept no longer, unless it was forgotten before */
  of(kept: KeptResult, onEnd: (shared: SharedResult) => void): SharedResult {
    let shared = this.#byKept.get(kept);
    if (shared === undefined) {
      shared = new SharedResult(++this.#last, kept, this.#touched);
      shared.watch = this.#index.watchReads(shared, kept.readSet);
      this.#byKept.set(kept, shared);
      const ended = shared;
      kept.onEnd = () => {
        this.forget(ended);
        onEnd(ended);
      };
    }
    return shared;
  }

  /** The results that the commit touches. */
  touchedBy(commit: Commit): ReadonlySet<SharedResult> {
    this.#touched.clear();
    if (this.#byKept.size > 0) this.#index.committed(commit);
    return this.#touched;
  }

  forget(shared: SharedResult): void {
    if (!this.#byKept.delete(shared.kept)) return;
    shared.watch?.end();
    shared.kept.onEnd = null;
  }

  forgetAll(): void {
    for (const shared of [...this.#byKept.values()]) this.forget(shared);
  }
}

/** Whether a result with this read set may be different after the commit; also if finding that out would take long. */
export function mayTouch({hasNewCatalog, events, changes}: Commit, readSet: PackedReadSet): boolean {
  if (hasNewCatalog || changesAnswers(events)) return true;
  const {intervals, absentTables} = readSet;
  if (changes.length * (intervals.length + absentTables.length) > PENDING_COMPARISONS_MAX) return true;
  return changes.some(change => touches(change, readSet));
}

/* ── calls that routers answered ── */

const KINDS = ['query', 'paginatedQuery'] as const;
export type QueryKind = (typeof KINDS)[number];

/** A call that a router answered, for the log. */
export type ReportedCall = {atMs: number; kind: QueryKind; path: string; requestId: string};

/** The name under which calls of this function are reported. */
export function callName(kind: QueryKind, path: string): string {
  return `${kind} ${path}`;
}

/** @throws MalformedFrame */
export function reportedIn(body: Buffer): ReportedCall[] {
  if (body.length > CALLS_REPORT_BYTES_MAX) throw new MalformedFrame(`a report of ${body.length} bytes`);
  let calls: unknown;
  try {
    calls = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new MalformedFrame('a report that is not JSON', {cause});
  }
  if (!Array.isArray(calls)) throw new MalformedFrame('a report that is no list');
  return calls.map(reportedCall);
}

function reportedCall(given: unknown): ReportedCall {
  const [atMs, name, requestId] = (Array.isArray(given) ? given : []) as unknown as AnsweredCall;
  const isCall = Number.isSafeInteger(atMs) && typeof name === 'string' && typeof requestId === 'string';
  const kind = isCall ? KINDS.find(one => name.startsWith(`${one} `)) : undefined;
  if (kind === undefined) throw new MalformedFrame('a report of what is no call');
  return {atMs, kind, path: name.slice(kind.length + 1), requestId};
}
