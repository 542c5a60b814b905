/**
 * The queries that a client watches, with their subscribers, what the server knows of them, and the last result of
 * each. A query has one entry, whatever the number of subscribers.
 *
 *   (none) ──subscribe──▶ wanted ──flush, socket ready──▶ sent ◀──────┐
 *      ▲                    │  ▲                           │          │ subscribe
 *      │  last unsubscribe, │  └────── socket lost ────────┤          │
 *      │  microtask         │                  last unsubscribe       │
 *      └────────────────────┘                              ▼          │
 *      ▲                                                unwanted ─────┘
 *      └──────────── flush, socket ready | socket lost ────┘
 *
 * An unwanted query keeps its result until the flush, so that unsubscribing and subscribing in one tick loses nothing
 * and sends nothing. A server accepts CLIENT_QUERIES_MAX per socket. Queries beyond are held back, with an error as
 * their result, until others are removed.
 * On a new socket all queries are sent again, with the digests of results that are still shown, so that the server does
 * not send equal results a second time.
 */
import {CLIENT_FRAME_CHARS, CLIENT_QUERIES_MAX} from '../../shared/client-limits.ts';
import type {QueryChange} from '../../shared/protocol/function-socket/client-message.ts';
import type {DataVersion} from '../../shared/protocol/function-socket/server-message.ts';
import type {FunctionCall, QueryToken} from './function-call.ts';
import type {Query} from './watched-query.ts';

export class QuerySet {
  readonly #byToken = new Map<QueryToken, Query>();
  readonly #byId = new Map<number, Query>();
  /** Queries whose current state the server might not know. */
  readonly #changed = new Set<Query>();
  #nextId = 0;
  /** The number of queries in the server's set. */
  #sent = 0;
  /** Wanted queries beyond the server's limit. */
  readonly #heldBack = new Set<Query>();
  /** The version of the set as sent on the current socket. */
  #version = 0;

  get version(): number {
    return this.#version;
  }

  get(token: QueryToken): Query | undefined {
    return this.#byToken.get(token);
  }

  /** Undefined: the query has been removed. */
  withId(id: number): Query | undefined {
    return this.#byId.get(id);
  }

  all(): Iterable<Query> {
    return this.#byToken.values();
  }

  add(call: FunctionCall, paginated: boolean, journal: string | undefined): Query {
    const token = call.token(paginated);
    let query = this.#byToken.get(token);
    if (query === undefined) {
      const id = this.#nextId++;
      query = {token, id, call, paginated, subscribers: 0, isSent: false, journal, result: undefined, shown: undefined};
      this.#byToken.set(token, query);
      this.#byId.set(id, query);
      this.#changed.add(query);
    }
    query.subscribers++;
    return query;
  }

  release(query: Query): void {
    query.subscribers--;
    if (query.subscribers === 0) this.#changed.add(query);
  }

  /** `flush` has something to do. */
  get isChanged(): boolean {
    return this.#changed.size > 0;
  }

  /**
   * Returns the messages that bring the server up to date; empty if there is nothing to send.
   * @param isReady whether they can be sent. If not, only queries unknown to the server are forgotten
   * @param isTurnOver whether the tick of an unsubscribe has ended, so that subscribers had time to return. If not,
   * nothing is forgotten or removed
   * @param seen goes with the first message, and is a reason to send one
   */
  flush(isReady: boolean, isTurnOver: boolean, seen?: DataVersion): string[] {
    const changes: string[] = [];
    // Removed queries free capacity.
    for (const query of this.#changed) {
      if (query.subscribers > 0 || !isTurnOver || (!isReady && query.isSent)) continue;
      this.#forget(query);
      if (!query.isSent) continue;
      query.isSent = false;
      this.#sent--;
      changes.push(removed(query));
    }
    if (!isReady) return [];
    for (const query of [...this.#heldBack, ...this.#changed]) {
      if (query.subscribers === 0) continue;
      this.#changed.delete(query);
      if (query.isSent) continue;
      if (this.#sent >= CLIENT_QUERIES_MAX) {
        this.#heldBack.add(query);
        continue;
      }
      this.#heldBack.delete(query);
      changes.push(added(query));
      query.isSent = true;
      this.#sent++;
    }
    return this.#messages(changes, seen);
  }

  /** Queries without a result that cannot be sent before others are removed. */
  heldBack(): Query[] {
    return [...this.#heldBack].filter(({result}) => result === undefined);
  }

  /** The socket is lost; the next one starts with an empty set. */
  socketLost(): void {
    this.#version = 0;
    this.#sent = 0;
    this.#heldBack.clear();
    for (const query of [...this.#byToken.values()]) {
      query.isSent = false;
      if (query.subscribers === 0) this.#forget(query);
      else this.#changed.add(query);
    }
  }

  #forget(query: Query): void {
    this.#changed.delete(query);
    this.#heldBack.delete(query);
    this.#byToken.delete(query.token);
    this.#byId.delete(query.id);
  }

  /** Splits the changes into as many messages as the frame size requires. */
  #messages(changes: string[], seen?: DataVersion): string[] {
    const messages: string[] = [];
    for (let first = 0; first < changes.length || (seen !== undefined && messages.length === 0); ) {
      let end = first;
      let chars = 0;
      while (end < changes.length && (end === first || chars + changes[end]!.length < CLIENT_FRAME_CHARS)) {
        chars += changes[end]!.length;
        end++;
      }
      const versions = `"base_version":${this.#version},"new_version":${this.#version + 1}`;
      const added = seen === undefined || first > 0 ? '' : `,"seen":${JSON.stringify(seen)}`;
      messages.push(`{"type":"query_set",${versions},"changes":[${changes.slice(first, end).join()}]${added}}`);
      this.#version++;
      first = end;
    }
    return messages;
  }
}

function added({id, call, paginated, journal, shown}: Query): string {
  const change: Omit<Extract<QueryChange, {type: 'add'}>, 'path' | 'args'> = {type: 'add', query_id: id};
  if (paginated) change.paginated = true;
  if (journal !== undefined) change.journal = journal;
  if (shown !== undefined) change.known = shown.digest;
  return call.message(change);
}

function removed({id}: Query): string {
  const change: QueryChange = {type: 'remove', query_id: id};
  return JSON.stringify(change);
}
