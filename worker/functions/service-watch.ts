/**
 * A live query of a service. Sends each new result after the service has taken the previous one; intermediate results
 * are skipped.
 */
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
  /** The service is still working on the previous result. */
  #isBusy = false;
  #isOver = false;

  /** @throws session.overloaded 503 */
  constructor(held: HeldQueries, asked: Asked, tell: (result: Result) => void) {
    this.#held = held;
    this.#tell = tell;
    this.#query = held.hold(this, asked);
    // Another subscriber may already have an answer.
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

  /** The service has taken the previous result. */
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
