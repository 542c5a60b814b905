/**
 * The subscriptions of one connection, and how far behind its reader is. A reader that falls behind is removed from its
 * topics and gets only the newest result of each subscription once it has caught up. So it costs the router at most
 * SOCKET_SLOW_BYTES and one result, however many it misses. These bytes count in the total of all sockets of the
 * router. If the total is exceeded, a connection that is about to be sent more and has more than an equal share is
 * dropped.
 */
import type {WebSocket} from 'uWebSockets.js';
import type {Backlog, BufferedBytes} from '../../shared/byte-accounts.ts';
import {rateLimited, ServiceError} from '../../shared/errors.ts';
import {SOCKET_SLOW_BYTES, SUBSCRIPTIONS_PER_SOCKET_MAX} from '../limits.ts';
import type {LiveHolder, Slot} from '../live/live-topic.ts';

/** The connection that has these subscriptions. */
type Owner = {
  readonly tenant: {readonly live: {subscribe(holder: LiveHolder, requestId: string, query: unknown): void}};
  requestFailed(requestId: string, error: ServiceError): void;
  error(error: ServiceError): void;
  drop(): void;
};

export class Subscriptions implements LiveHolder {
  readonly #ws: WebSocket<unknown>;
  readonly #connection: Owner;
  readonly #slots = new Map<number, Slot>();
  /** Number of registrations without a result yet. */
  #waiting = 0;
  /** Slots whose newest result the reader has not been sent, with the request_id if it would be the first one. */
  readonly #unsent = new Map<Slot, string | null>();
  /** Bytes handed over in this turn, which uWebSockets.js does not count as buffered yet. */
  #turn = 0;
  #turnBytes = 0;
  #ended = false;
  readonly #backlog: Backlog;

  /** @param ofAll bytes buffered for all sockets */
  constructor(ws: WebSocket<unknown>, connection: Owner, ofAll: BufferedBytes) {
    this.#ws = ws;
    this.#connection = connection;
    this.#backlog = ofAll.open();
  }

  get size(): number {
    return this.#slots.size;
  }

  /** @throws op.rate_limited */
  add(requestId: string, query: unknown): void {
    if (this.#slots.size + this.#waiting >= SUBSCRIPTIONS_PER_SOCKET_MAX) {
      throw rateLimited(`a connection holds at most ${SUBSCRIPTIONS_PER_SOCKET_MAX} subscriptions`);
    }
    this.#connection.tenant.live.subscribe(this, requestId, query);
  }

  /** @throws session.unsubscribe_failed */
  remove(subscriptionId: number): void {
    const slot = this.#slots.get(subscriptionId);
    if (slot === undefined) {
      throw new ServiceError(
        'session.unsubscribe_failed',
        `there is no subscription ${subscriptionId} on this connection`,
      );
    }
    this.#slots.delete(subscriptionId);
    if (!this.#unsent.delete(slot)) this.#ws.unsubscribe(slot.topic);
    slot.live.leave(slot, this);
  }

  /** The connection is closed. */
  end(): void {
    this.#ended = true;
    this.#backlog.close();
    for (const slot of this.#slots.values()) slot.live.leave(slot, this);
    this.#slots.clear();
    this.#unsent.clear();
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  await(): void {
    this.#waiting++;
  }

  /** The first result of a registration is available. */
  begin(slot: Slot, requestId: string): void {
    this.#waiting--;
    this.#slots.set(slot.subscriptionId, slot);
    if (this.#isBehind(0)) this.#unsent.set(slot, requestId);
    else this.#give(slot, requestId);
  }

  /** The registration failed. */
  refuse(requestId: string, error: ServiceError): void {
    this.#waiting--;
    this.#connection.requestFailed(requestId, error);
  }

  lose(slot: Slot, error: ServiceError): void {
    this.#slots.delete(slot.subscriptionId);
    const unanswered = this.#unsent.get(slot) ?? null;
    if (!this.#unsent.delete(slot)) this.#ws.unsubscribe(slot.topic);
    if (unanswered !== null) {
      this.#connection.requestFailed(unanswered, error);
      return;
    }
    const detail = {...error.detail, code: error.code, subscription_id: slot.subscriptionId};
    this.#connection.error(new ServiceError('session.subscription_error', error.message, detail));
  }

  /**
   * Called before a frame of `bytes` is published to this slot's topic.
   * @returns false if the reader is behind: it leaves the topic and is sent the newest result later
   */
  takes(slot: Slot, bytes: number, turn: number): boolean {
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#turnBytes = 0;
    }
    if (this.#isBehind(this.#turnBytes)) {
      this.#ws.unsubscribe(slot.topic);
      this.#unsent.set(slot, null);
      return false;
    }
    this.#turnBytes += bytes;
    return true;
  }

  isUnsent(slot: Slot): boolean {
    return this.#unsent.has(slot);
  }

  /** Updates the number of buffered bytes. @returns it */
  poll(): number {
    this.#backlog.measured(this.#ws.getBufferedAmount());
    return this.#backlog.bytes;
  }

  /** The reader may have taken bytes: sends it pending results, the oldest change first, until it is behind again. */
  drained(): void {
    if (this.#ended) return;
    this.poll();
    if (this.#backlog.isTooMuch && this.#unsent.size > 0) {
      this.#connection.drop();
      return;
    }
    const unsent = [...this.#unsent].sort(([a], [b]) => a.live.sequence - b.live.sequence);
    for (const [slot, requestId] of unsent) {
      if (this.#ws.getBufferedAmount() > SOCKET_SLOW_BYTES) return;
      this.#unsent.delete(slot);
      this.#give(slot, requestId);
    }
  }

  /** While results are pending, nothing else is sent before them, so the sequences of the frames never go back. */
  #isBehind(turnBytes: number): boolean {
    if (this.#unsent.size > 0) return true;
    const bytes = this.poll();
    return bytes + turnBytes > SOCKET_SLOW_BYTES || this.#backlog.isTooMuch;
  }

  #give(slot: Slot, requestId: string | null): void {
    if (requestId === null) this.#ws.send(slot.frame());
    else {
      const head = `"subscription_id":${slot.subscriptionId},"request_id":${JSON.stringify(requestId)}`;
      this.#ws.send(`{"type":"subscription_result",${head},"data":${slot.live.text}}`);
    }
    this.#ws.subscribe(slot.topic);
  }
}
