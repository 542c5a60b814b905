/**
 * Decides when subscribed queries run. A limited number runs at a time, and a smaller number of each function. Functions
 * take turns. Runs start at the end of the tick, so that queries requested together read one version.
 */
import {performance} from 'node:perf_hooks';
import {LIVE_RUNS_MAX, LIVE_RUNS_OF_ONE_MAX} from '../../limits.ts';
import type {Slot, SubscribedQuery} from './subscribed-query.ts';

type Wanted = {query: SubscribedQuery; slot: Slot};
/** A run under way. `sequence`: the newest one when it began. `path`: null for a snapshot batch. */
export type Begun = {readonly path: string | null; readonly sequence: number; readonly startedMs: number};

export class RunQueue {
  readonly #run: (query: SubscribedQuery, slot: Slot) => void;
  /** Runs that wait for a slot, by function, oldest first. */
  readonly #waiting = new Map<string, Wanted[]>();
  /** Number of runs under way, by function. */
  readonly #running = new Map<string, number>();
  /** Oldest first. */
  readonly #began = new Set<Begun>();
  #isScheduled = false;
  #isClosed = false;

  /** @param run calls `begin` at once, and `end` when the run has ended */
  constructor(run: (query: SubscribedQuery, slot: Slot) => void) {
    this.#run = run;
  }

  /** Number of runs under way. */
  get running(): number {
    return this.#began.size;
  }

  /** The newest sequence when the oldest run under way began; null: there is none. */
  get oldestSequence(): number | null {
    const [oldest] = this.#began;
    return oldest?.sequence ?? null;
  }

  add(query: SubscribedQuery, slot: Slot): void {
    const waiting = this.#waiting.get(query.path);
    if (waiting === undefined) this.#waiting.set(query.path, [{query, slot}]);
    else waiting.push({query, slot});
    this.#schedule();
  }

  begin(path: string | null, sequence: number): Begun {
    const begun = {path, sequence, startedMs: performance.now()};
    this.#began.add(begun);
    if (path !== null) this.#running.set(path, (this.#running.get(path) ?? 0) + 1);
    return begun;
  }

  end(begun: Begun): void {
    const {path} = begun;
    if (path !== null) {
      const running = this.#running.get(path)! - 1;
      if (running === 0) this.#running.delete(path);
      else this.#running.set(path, running);
    }
    this.#began.delete(begun);
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #start(): void {
    for (const [path, waiting] of this.#waiting) {
      let places = Math.min(LIVE_RUNS_OF_ONE_MAX - (this.#running.get(path) ?? 0), LIVE_RUNS_MAX - this.#began.size);
      if (places <= 0) continue;
      let taken = 0;
      while (taken < waiting.length && places > 0) {
        const {query, slot} = waiting[taken++]!;
        // It has no subscribers any more.
        if (!query.isSubscribed) continue;
        places--;
        this.#run(query, slot);
      }
      waiting.splice(0, taken);
      // Functions take turns (round-robin).
      this.#waiting.delete(path);
      if (waiting.length > 0) this.#waiting.set(path, waiting);
    }
  }
}
