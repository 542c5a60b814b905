/** A live query of a service: tells each new result once the one before was taken, and then the newest alone. */
import type {Result} from './sync/queries/answer.ts';
import type {HeldQueries} from './sync/queries/held-queries.ts';
import type {HeldQuery, Holder} from './sync/queries/held-query.ts';
import type {Asked} from './sync/queries/query-runs.ts';

export class ServiceWatch implements Holder {
  readonly identity = null;
  readonly #held: HeldQueries;
  readonly #tell: (result: Result) => void;
  readonly #query: HeldQuery;
  #told: Result | null = null;
  /** What was told is still worked on. */
  #isBusy = false;
  #isOver = false;

  /** @throws session.overloaded 503 */
  constructor(held: HeldQueries, asked: Asked, tell: (result: Result) => void) {
    this.#held = held;
    this.#tell = tell;
    this.#query = held.hold(this, asked);
    // Others may hold it already.
    if (this.#query.answerFor(null)?.isOpen === true) this.concern();
  }

  concern(): void {
    if (this.#isBusy || this.#isOver) return;
    const result = this.#query?.answerFor(null)?.result ?? null;
    if (result === null || result === this.#told) return;
    this.#told = result;
    this.#isBusy = true;
    this.#tell(result);
  }

  /** What was told has been taken. */
  heard(): void {
    this.#isBusy = false;
    this.concern();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#held.release(this, this.#query);
  }
}
