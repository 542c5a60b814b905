/**
 * Queries of functions as server-sent events, for operators: the result of one query as any user, again after each
 * change. They share runs and results with the subscriptions of function sockets. A reader that has not taken the last
 * event gets only the newest result later.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import type {WatchedQuery} from '../../functions/endpoints.ts';
import type {Answer, Result} from '../../functions/sync/queries/answer.ts';
import type {SubscribedQueries} from '../../functions/sync/queries/subscribed-queries.ts';
import type {Holder, SubscribedQuery} from '../../functions/sync/queries/subscribed-query.ts';
import {wireText} from '../../functions/sync/session/session-queries.ts';
import {type EventStream, eventText} from './event-stream.ts';
import type {Followers} from './followers.ts';

export class FunctionFollowers {
  readonly #followers: Followers;

  constructor(followers: Followers) {
    this.#followers = followers;
  }

  /**
   * @param limit number of results after which it ends; null: none
   * @param start begins the response
   * @throws session.overloaded 503
   */
  follow(queries: SubscribedQueries, watched: WatchedQuery, limit: number | null, start: () => OutgoingBody): void {
    this.#followers.checkRoom();
    const follower = new FunctionFollower(queries, watched);
    let stream: EventStream;
    try {
      stream = this.#followers.begin('function', start(), limit, () => follower.end());
    } catch (caught) {
      follower.end();
      throw caught;
    }
    follower.begin(stream);
  }
}

class FunctionFollower implements Holder {
  readonly identity: string | null;
  readonly #queries: SubscribedQueries;
  readonly #query: SubscribedQuery;
  #stream: EventStream | null = null;
  #shown: Result | null = null;
  #isWaiting = false;

  /** @throws session.overloaded 503 */
  constructor(queries: SubscribedQueries, {kind, path, args, identity}: WatchedQuery) {
    this.identity = identity;
    this.#queries = queries;
    this.#query = queries.hold(this, {kind, path, args: wireText(args), journal: null, isInternal: true});
  }

  begin(stream: EventStream): void {
    this.#stream = stream;
    // Another subscriber may already have a result. One that a commit has touched is about to be replaced.
    if (this.#query.answerFor(this.identity)?.isOpen === true) this.concern();
  }

  concern(): void {
    const stream = this.#stream;
    if (stream === null || this.#isWaiting) return;
    const answer = this.#query.answerFor(this.identity);
    if (answer === null || answer.result === this.#shown) return;
    if (!stream.isReady) {
      this.#isWaiting = true;
      void stream.ready().then(() => {
        this.#isWaiting = false;
        this.concern();
      });
      return;
    }
    this.#shown = answer.result;
    stream.write(Buffer.from(eventText(answer.from, null, replyText(answer))), 1);
  }

  end(): void {
    this.#stream = null;
    this.#queries.release(this, this.#query);
  }
}

/** A WatchedReply. The value is JSON already. */
function replyText({result, lines, because}: Answer): string {
  const rest = `"logLines":${JSON.stringify(lines)},"because":${JSON.stringify(because)}}`;
  if (result.ok) return `{"status":"success","value":${result.text},${rest}`;
  return `{"status":"error","errorMessage":${JSON.stringify(result.error)},${rest}`;
}
