/**
 * A live query of a service. Sends each new result after the service has taken the previous one; intermediate results
 * are skipped.
 */
import type {Result} from './sync/queries/answer.ts';
import type {QueryRequest} from './sync/queries/query-runs.ts';
import type {SubscribedQueries} from './sync/queries/subscribed-queries.ts';
import type {Holder, SubscribedQuery} from './sync/queries/subscribed-query.ts';

export class ServiceWatch implements Holder {
  readonly identity = null;
  readonly #subscribedQueries: SubscribedQueries;
  readonly #tell: (result: Result) => void;
  readonly #query: SubscribedQuery;
  #notified: Result | null = null;
  /** The service is still working on the previous result. */
  #isBusy = false;
  #isOver = false;

  /** @throws session.overloaded 503 */
  constructor(subscribedQueries: SubscribedQueries, requested: QueryRequest, tell: (result: Result) => void) {
    this.#subscribedQueries = subscribedQueries;
    this.#tell = tell;
    this.#query = subscribedQueries.hold(this, requested);
    // Another subscriber may already have an answer.
    if (this.#query.answerFor(null)?.isOpen === true) this.concern();
  }

  concern(): void {
    if (this.#isBusy || this.#isOver) return;
    const result = this.#query?.answerFor(null)?.result ?? null;
    if (result === null || result === this.#notified) return;
    this.#notified = result;
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
    this.#subscribedQueries.release(this, this.#query);
  }
}
