/**
 * Live queries as server-sent events: the whole result, again after each commit that changed it, by the same means as
 * on a socket (`engine/live/live-queries.ts`). A reader that has not taken the last event gets only the newest result
 * later.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import type {LiveHolder, LiveQueries} from '../../../engine/live/live-queries.ts';
import type {ServiceError} from '../../../shared/errors.ts';
import type {LiveQueryObject} from '../../../shared/protocol/queries.ts';
import {type EventStream, eventText} from './event-stream.ts';
import type {Followers} from './followers.ts';

/** The stream id under which each holder of one query knows it. */
const ONLY = 0;

/** Cache of the newest event: all readers of the query get the same bytes. */
let made: {readonly text: string; readonly sequence: number; readonly bytes: Buffer} | null = null;

function resultEvent(sequence: number, text: string): Buffer {
  if (made !== null && made.sequence === sequence && made.text === text) return made.bytes;
  if (made === null) {
    setImmediate(() => {
      made = null;
    });
  }
  made = {text, sequence, bytes: Buffer.from(eventText(sequence, null, `{"data":${text}}`))};
  return made.bytes;
}

export class ResultFollowers {
  readonly #followers: Followers;
  readonly #live: LiveQueries;

  constructor(followers: Followers, live: LiveQueries) {
    this.#followers = followers;
    this.#live = live;
  }

  /**
   * @param limit number of results after which it ends; null: none
   * @param start begins the response
   * @throws the query's error, session.overloaded 503
   */
  follow(query: LiveQueryObject, limit: number | null, start: () => OutgoingBody): void {
    this.#followers.checkRoom();
    const follower = new ResultFollower();
    this.#live.subscribe(follower, ONLY, query);
    if (follower.failure !== null) {
      this.#live.release(follower);
      throw follower.failure;
    }
    follower.begin(this.#followers.begin('query', start(), limit, () => this.#live.release(follower)));
  }
}

class ResultFollower implements LiveHolder {
  /** Why there will be no more results. */
  failure: ServiceError | null = null;
  #stream: EventStream | null = null;
  /** The newest result, if it was not sent yet. */
  #newest: string | null = null;
  #sequence = 0;
  /** The last result sent. A result missed by a slow reader is sent again, equal or not. */
  #shown: string | null = null;
  #isWaiting = false;

  begin(stream: EventStream): void {
    this.#stream = stream;
    this.#offer();
  }

  live(_: number, text: string): void {
    this.#newest = text;
  }

  liveBehind(): void {
    // The next result follows when it exists. The unsent one is older than results that others have already got.
    this.#newest = null;
  }

  liveFailed(_: number, error: ServiceError): void {
    this.failure = error;
  }

  liveEnd(sequence: number): void {
    this.#sequence = sequence;
    this.#offer();
  }

  #offer(): void {
    const stream = this.#stream;
    if (stream === null || this.#isWaiting) return;
    if (this.failure !== null) {
      stream.end(this.failure);
      return;
    }
    if (this.#newest === null) return;
    if (!stream.isReady) {
      this.#isWaiting = true;
      void stream.ready().then(() => {
        this.#isWaiting = false;
        this.#offer();
      });
      return;
    }
    const text = this.#newest;
    this.#newest = null;
    if (text === this.#shown) return;
    this.#shown = text;
    stream.write(resultEvent(this.#sequence, text), 1);
  }
}
