/**
 * One live query of a tenant in this router: its newest result and the connections that subscribe to it.
 *
 * A connection that subscribes to one query several times has one slot per subscription, numbered from 0. The n-th
 * subscriptions of all connections share a slot with its subscription id and topic. So a new result is one frame per
 * slot, published once for all its subscribers.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import type {ServiceError} from '../../shared/errors.ts';

/** The connection's side of a subscription. */
export type LiveHolder = {
  readonly hasEnded: boolean;
  /** A registration waits for its first result: `begin` delivers it, `refuse` reports that there is none. */
  await(): void;
  begin(slot: Slot, requestId: string): void;
  refuse(requestId: string, error: ServiceError): void;
  /** The worker ended this live query. */
  lose(slot: Slot, error: ServiceError): void;
  /** Called before a frame of `bytes` is published. @returns false: the reader is behind */
  takes(slot: Slot, bytes: number, turn: number): boolean;
  isUnsent(slot: Slot): boolean;
  drained(): void;
};

export type Slot = {
  readonly live: LiveTopic;
  readonly subscriptionId: number;
  readonly topic: string;
  readonly holders: Set<LiveHolder>;
  /** The newest result as a frame, without the request_id. */
  frame(): Buffer;
};

/**
 * `isFresh`: results from now on contain every write that any router had confirmed to the client before it subscribed.
 */
export type Registration = {readonly holder: LiveHolder; readonly requestId: string; isFresh: boolean};

export class LiveTopic {
  /** The stream id under which the worker knows it. */
  readonly stream: number;
  /** The query object as JSON, sent to the worker, and sent again after a crash. */
  readonly query: string;
  readonly key: string;
  readonly slots: Slot[] = [];
  /** Registrations that wait for their first result. */
  readonly waiting: Registration[] = [];
  /** The newest result's JSON array; null before the first. */
  #data: Buffer | null = null;
  /** The journal sequence of the newest result. */
  sequence = 0;
  /** The present worker has answered; until then the result may be stale. */
  isCurrent = false;
  readonly #nextId: () => number;
  readonly #onAbandoned: (live: LiveTopic) => void;

  constructor(
    stream: number,
    key: string,
    query: string,
    nextId: () => number,
    onAbandoned: (live: LiveTopic) => void,
  ) {
    this.stream = stream;
    this.key = key;
    this.query = query;
    this.#nextId = nextId;
    this.#onAbandoned = onAbandoned;
  }

  get text(): string {
    assert(this.#data !== null, 'there is a result');
    return this.#data.toString('utf8');
  }

  /** Gives the newest result to waiting registrations that may receive it. */
  admit(): void {
    const registrations = this.waiting.splice(0);
    for (const registration of registrations) {
      const {holder, requestId, isFresh} = registration;
      // Kept even if the client has disconnected, because its fence will still arrive and must match this entry.
      if (!isFresh) this.waiting.push(registration);
      else if (!holder.hasEnded) this.join(holder, requestId);
    }
  }

  /** Subscriptions of clients, including those that wait for their first result. */
  get subscriptions(): number {
    return this.slots.reduce((sum, slot) => sum + slot.holders.size, this.waiting.length);
  }

  get isSubscribed(): boolean {
    return this.waiting.length > 0 || this.slots.some(slot => slot.holders.size > 0);
  }

  /** @returns whether the result differs from the one before */
  take(data: Buffer, sequence: number): boolean {
    this.isCurrent = true;
    if (this.#data?.equals(data)) return false;
    this.#data = data;
    this.sequence = sequence;
    return true;
  }

  /** Gives a registration the first result, in the first slot that its connection does not use yet. */
  join(holder: LiveHolder, requestId: string): void {
    let slot = this.slots.find(candidate => !candidate.holders.has(holder));
    if (slot === undefined) {
      slot = this.#newSlot();
      this.slots.push(slot);
    }
    slot.holders.add(holder);
    holder.begin(slot, requestId);
  }

  leave(slot: Slot, holder: LiveHolder): void {
    slot.holders.delete(holder);
    if (!this.isSubscribed) this.#onAbandoned(this);
  }

  #newSlot(): Slot {
    const subscriptionId = this.#nextId();
    const head = Buffer.from(`{"type":"subscription_result","subscription_id":${subscriptionId},"data":`);
    const tail = Buffer.from('}');
    const frame = () => {
      assert(this.#data !== null, 'there is a result');
      return Buffer.concat([head, this.#data, tail]);
    };
    return {live: this, subscriptionId, topic: `s${subscriptionId}`, holders: new Set(), frame};
  }
}
