/**
 * The subscriptions of one session, under the numbers that its client chose. A subscription without capacity has an
 * error as its result, and is retried when there may be capacity.
 */

import {rateLimited, ServiceError} from '../../../../shared/errors.ts';
import {QUERIES_PER_SOCKET_MAX} from '../../../../shared/limits.ts';
import type {SocketFailure} from '../../../../shared/metrics/worker-metrics.ts';
import type {QueryChange} from '../../../../shared/protocol/function-socket/client-message.ts';
import {checkedWireText, ValueError} from '../../../../shared/values/wire-value.ts';
import {SOCKET_RESULTS_CHARS_MAX} from '../../limits.ts';
import {Answer, errorResult, type Result} from '../queries/answer.ts';
import type {Waiter} from '../queries/capacity.ts';
import type {QueryRequest} from '../queries/query-runs.ts';
import type {SubscribedQueries} from '../queries/subscribed-queries.ts';
import type {Holder, SubscribedQuery} from '../queries/subscribed-query.ts';

const TOO_LONG_TEXT = `the results of a socket's queries have at most ${SOCKET_RESULTS_CHARS_MAX} characters together`;

/** The session, as its subscriptions see it. */
export interface Watching {
  /** JSON of the identity; null: anonymous. */
  readonly identity: string | null;
  /** There may be something new to send to it. */
  concern(): void;
  /** Does work that no caller waits for: an exception ends the session. */
  guarded(what: SocketFailure, act: () => void): void;
}

export class Subscription implements Holder, Waiter {
  readonly queryId: number;
  requested: QueryRequest;
  readonly #session: Watching;
  readonly #tryAgain: (subscription: Subscription) => void;
  /** Null: there is no capacity for it, and its answer is that error. */
  query: SubscribedQuery | null = null;
  /** The error in place until the query has an answer. */
  #refusal: Answer | null = null;
  /** The result that the client has. */
  shown: Result | null = null;
  /** Digest of the result that it has from an earlier socket. */
  known: string | null;

  constructor(
    session: Watching,
    change: Extract<QueryChange, {type: 'add'}>,
    tryAgain: (subscription: Subscription) => void,
  ) {
    const {query_id: queryId, path, args, journal = null, paginated, known = null} = change;
    this.#session = session;
    this.queryId = queryId;
    const kind = paginated === true ? 'paginatedQuery' : 'query';
    this.requested = {kind, path, args: wireText(args), journal, isInternal: false};
    this.known = known;
    this.#tryAgain = tryAgain;
  }

  get identity(): string | null {
    return this.#session.identity;
  }

  /** Null: there is none yet. */
  answer(): Answer | null {
    const answer = this.query?.answerFor(this.identity) ?? null;
    if (answer !== null) this.#refusal = null;
    return answer ?? this.#refusal;
  }

  refuse({message}: ServiceError): void {
    const result = errorResult(message, message);
    const facts = {result, from: 0, journal: null, lines: [], identityUsed: false};
    this.#refusal = new Answer({...facts, because: {cause: 'added'}}, () => undefined);
  }

  concern(): void {
    this.#session.concern();
  }

  tryAgain(): void {
    this.#session.guarded('query', () => this.#tryAgain(this));
  }
}

/** The answer for queries whose results exceed the limit of one socket. */
const TOO_LONG = new Answer(
  {
    result: errorResult(TOO_LONG_TEXT, TOO_LONG_TEXT),
    from: 0,
    journal: null,
    lines: [],
    because: {cause: 'unknown'},
    identityUsed: false,
  },
  () => undefined,
);

export class SessionQueries {
  readonly #queries: SubscribedQueries;
  readonly #session: Watching;
  readonly #subscriptions = new Map<number, Subscription>();
  /** The number of subscriptions with a held query. */
  #subscribed = 0;

  constructor(queries: SubscribedQueries, session: Watching) {
    this.#queries = queries;
    this.#session = session;
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  /** @throws ServiceError: the message breaks the protocol */
  change(changes: readonly QueryChange[]): void {
    const wasFull = this.#subscribed >= QUERIES_PER_SOCKET_MAX;
    for (const change of changes) {
      if (change.type === 'add') this.#add(change);
      else this.#remove(change.query_id);
    }
    if (!wasFull) return;
    for (const subscription of this.#subscriptions.values()) {
      if (this.#subscribed >= QUERIES_PER_SOCKET_MAX) break;
      if (subscription.query === null) this.#hold(subscription);
    }
  }

  end(): void {
    for (const subscription of this.#subscriptions.values()) this.#release(subscription);
    this.#subscriptions.clear();
  }

  identityChanged(): void {
    for (const subscription of this.#subscriptions.values()) {
      const {query} = subscription;
      if (query === null) continue;
      const next = this.#queries.identityChanged(subscription, query);
      if ('refused' in next) this.#lose(subscription, next);
      else subscription.query = next;
    }
  }

  get(queryId: number): Subscription | undefined {
    return this.#subscriptions.get(queryId);
  }

  /**
   * The current answer of each, up to the limit of one socket: a query can be subscribed under many numbers, and each
   * copy is sent.
   * @param instead answers that replace those of their queries
   * @returns null: one has no answer yet, and `concern` follows when it has
   */
  answers(instead: ReadonlyMap<SubscribedQuery, Answer> | null): {subscription: Subscription; answer: Answer}[] | null {
    const answers: {subscription: Subscription; answer: Answer}[] = [];
    let chars = 0;
    for (const subscription of this.#subscriptions.values()) {
      const {query} = subscription;
      const answer = (query === null ? null : instead?.get(query)) ?? subscription.answer();
      if (answer === null) return null;
      const fits = chars + answer.chars <= SOCKET_RESULTS_CHARS_MAX;
      if (fits) chars += answer.chars;
      answers.push({subscription, answer: fits ? answer : TOO_LONG});
    }
    return answers;
  }

  /**
   * Runs all of them in one snapshot.
   * @returns null: it failed, or the subscriptions or the identity changed meanwhile
   */
  async together(notBefore: number): Promise<ReadonlyMap<SubscribedQuery, Answer> | null> {
    const {identity} = this.#session;
    const subscribed = [...this.#subscriptions.values()].flatMap(holder =>
      holder.query === null ? [] : [{holder, query: holder.query}],
    );
    const batch = await this.#queries.together(subscribed, notBefore);
    if (batch === null || identity !== this.#session.identity) return null;
    const isAll = [...this.#subscriptions.values()].every(({query}) => query === null || batch.has(query));
    return isAll ? batch : null;
  }

  #add(change: Extract<QueryChange, {type: 'add'}>): void {
    const {query_id: queryId} = change;
    if (this.#subscriptions.has(queryId))
      throw new ServiceError('protocol.out_of_step', `there is a query ${queryId} already`);
    // Refused subscriptions count, too.
    if (this.#subscriptions.size >= 2 * QUERIES_PER_SOCKET_MAX) throw tooMany();
    const subscription = new Subscription(this.#session, change, one => {
      this.#hold(one);
      one.concern();
    });
    this.#subscriptions.set(queryId, subscription);
    this.#hold(subscription);
  }

  #remove(queryId: number): void {
    const subscription = this.#subscriptions.get(queryId);
    if (subscription === undefined)
      throw new ServiceError('protocol.out_of_step', `there is no query ${queryId} to remove`);
    this.#subscriptions.delete(queryId);
    this.#release(subscription);
  }

  #hold(subscription: Subscription): void {
    try {
      if (this.#subscribed >= QUERIES_PER_SOCKET_MAX) throw tooMany();
      subscription.query = this.#queries.hold(subscription, subscription.requested);
      this.#subscribed++;
      this.#queries.forgetWaiter(subscription);
    } catch (caught) {
      if (!(caught instanceof ServiceError)) throw caught;
      this.#refused(subscription, caught);
    }
  }

  /** There is no capacity any more for its query. @param asked keeps its page end */
  #lose(subscription: Subscription, {refused, requested}: {refused: ServiceError; requested: QueryRequest}): void {
    subscription.query = null;
    subscription.requested = requested;
    this.#subscribed--;
    this.#refused(subscription, refused);
  }

  #refused(subscription: Subscription, error: ServiceError): void {
    subscription.refuse(error);
    if (error.code === 'session.overloaded') this.#queries.awaitRoom(subscription);
  }

  #release(subscription: Subscription): void {
    if (subscription.query === null) this.#queries.forgetWaiter(subscription);
    else {
      this.#subscribed--;
      this.#queries.release(subscription, subscription.query);
    }
  }
}

function tooMany(): ServiceError {
  return rateLimited(`a socket holds at most ${QUERIES_PER_SOCKET_MAX} queries`);
}

/** Arguments that are no value are an error of the query, reported when it is called. */
export function wireText(args: unknown): string {
  try {
    return checkedWireText(args, 'the arguments').text;
  } catch (caught) {
    if (!(caught instanceof ValueError)) throw caught;
    return JSON.stringify(args);
  }
}
