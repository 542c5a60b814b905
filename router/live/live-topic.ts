/**
 * One live query of a tenant in this router: its newest result and who holds it.
 *
 * A connection that subscribes to one query several times has a slot of the query for each, numbered from 0; all
 * connections' n-th subscriptions to it share the slot, its subscription id and its topic. So a new result is one frame a
 * slot, published once, whoever holds it.
 */
import {Buffer} from 'node:buffer';
import {assert} from '../../shared/assert.ts';
import type {ServiceError} from '../../shared/errors.ts';

/** A connection's side of its subscriptions. */
export type LiveHolder = {
  readonly hasEnded: boolean;
  /** A registration waits for its first result, which `begin` brings, or `refuse` does not. */
  await(): void;
  begin(slot: Slot, requestId: string): void;
  refuse(requestId: string, error: ServiceError): void;
  /** The worker ended this live query. */
  lose(slot: Slot, error: ServiceError): void;
  /** A frame of `bytes` is about to be published. @returns false: its reader is behind */
  takes(slot: Slot, bytes: number, turn: number): boolean;
  owes(slot: Slot): boolean;
  drained(): void;
};

export type Slot = {
  readonly live: LiveTopic;
  readonly subscriptionId: number;
  readonly topic: string;
  readonly holders: Set<LiveHolder>;
  /** The newest result as a frame without request_id. */
  frame(): Buffer;
};

/**
 * `isFresh`: what comes from now on holds whatever its client had been told was written, by any router, when it subscribed.
 */
export type Registration = {readonly holder: LiveHolder; readonly requestId: string; isFresh: boolean};

export class LiveTopic {
  /** The stream id under which the worker knows it. */
  readonly stream: number;
  /** The query object as JSON: what the worker is asked for, and asked for again after its death. */
  readonly query: string;
  readonly key: string;
  readonly slots: Slot[] = [];
  /** Registrations that wait for their first result. */
  readonly waiting: Registration[] = [];
  /** The newest result's JSON array; null before the first. */
  #data: Buffer | null = null;
  /** The journal sequence of the newest result. */
  sequence = 0;
  /** The worker that serves now has answered; before that the result may be behind. */
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

  /** Gives the newest result to those that wait and may be given it. */
  admit(): void {
    const registrations = this.waiting.splice(0);
    for (const registration of registrations) {
      const {holder, requestId, isFresh} = registration;
      // Also if its client has gone: its fence will come, and is no other's.
      if (!isFresh) this.waiting.push(registration);
      else if (!holder.hasEnded) this.join(holder, requestId);
    }
  }

  get isHeld(): boolean {
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

  /** Gives the first result to a registration, in the first slot that its connection does not hold yet. */
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
    if (!this.isHeld) this.#onAbandoned(this);
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
