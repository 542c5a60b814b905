/**
 * The live queries of one tenant in this router, and their connection to its worker.
 *
 * Results arrive in batches. Each batch belongs to one committed version, is closed by an end mark and is published as
 * a whole. When the worker dies, connections and subscriptions stay: every query is sent to the next worker, and its
 * subscribers get a frame only if the result has changed. A result is published only after its commit is on disk, and
 * the next worker starts from disk, so the versions that a connection sees never go back.
 *
 * A first result contains every write that was confirmed to its client. With one router this needs no effort, because
 * the worker sends results before answers. With several routers, an answer through another router can overtake the
 * result here. So a registration for an existing query waits for a fence, which the worker returns after everything
 * that it sent before.
 */

import type {TemplatedApp} from 'uWebSockets.js';
import {Buffer} from 'node:buffer';
import {hash} from 'node:crypto';
import {type ErrorObject, ServiceError} from '../../shared/errors.ts';
import {MalformedFrame} from '../../shared/ipc/frame.ts';
import type {RouterMetrics} from '../../shared/metrics/router-metrics.ts';
import {checkValue, storedText} from '../../shared/values/json.ts';
import type {WorkerLink} from '../workers/link.ts';
import {type LiveHolder, LiveTopic} from './live-topic.ts';

/** State that the live queries of all tenants share in this router. */
export class SocketHub {
  readonly #metrics: RouterMetrics;
  readonly #app: TemplatedApp;
  #lastId = 0;
  #turn = 0;
  #turnEnds = false;
  /** Readers that fell behind in this turn. */
  readonly #behind = new Set<LiveHolder>();

  constructor(app: TemplatedApp, metrics: RouterMetrics) {
    this.#app = app;
    this.#metrics = metrics;
  }

  nextId = (): number => ++this.#lastId;

  /** The number of this event-loop turn. Frames published in it are handed to the sockets when it ends. */
  turn(): number {
    if (!this.#turnEnds) {
      this.#turnEnds = true;
      setImmediate(() => this.#endTurn());
    }
    return this.#turn;
  }

  /**
   * A result was skipped for a reader in this turn. It is retried when the turn ends, because no drain event follows if
   * the network takes everything that was sent before.
   */
  fellBehind(reader: LiveHolder): void {
    this.#behind.add(reader);
  }

  /** @param takers number of sockets that take the frame */
  publish(topic: string, frame: Buffer, takers: number, committedMs: number): void {
    if (takers > 0) this.#app.publish(topic, frame as Uint8Array<ArrayBuffer>, false);
    this.#metrics.fanoutFrames.value += takers;
    this.#metrics.fanoutBytes.value += takers * frame.length;
    const ms = performance.timeOrigin + performance.now() - committedMs;
    this.#metrics.commitToSend.observe(Math.max(0, ms / 1000));
  }

  /** A result was skipped for a socket that is behind; the socket will get a newer one. */
  coalesced(): void {
    this.#metrics.count('svc_live_coalesced_total');
  }

  #endTurn(): void {
    this.#turnEnds = false;
    this.#turn++;
    for (const reader of this.#behind) reader.drained();
    this.#behind.clear();
  }
}

/** A connection of the tenant, which ends with the tenant. */
export type LiveConnection = {fatal(error: ServiceError): void};

/** At most one result per query, so its size is bounded whatever the worker sends. */
type Batch = Map<LiveTopic, Buffer>;

export class TenantLive {
  readonly connections = new Set<LiveConnection>();
  readonly #hub: () => SocketHub;
  readonly #hasPeers: boolean;
  readonly #wake: () => void;
  readonly #byKey = new Map<string, LiveTopic>();
  readonly #byStream = new Map<number, LiveTopic>();
  #link: WorkerLink | null = null;
  #batch: Batch = new Map();
  #lastStream = 0;

  /**
   * @param hasPeers whether there are other routers
   * @param wake requests the tenant's worker, which arrives through `attach`
   */
  constructor(hub: () => SocketHub, hasPeers: boolean, wake: () => void) {
    this.#hub = hub;
    this.#hasPeers = hasPeers;
    this.#wake = wake;
  }

  get size(): number {
    return this.#byKey.size;
  }

  subscribe(holder: LiveHolder, requestId: string, query: unknown): void {
    checkValue(query ?? null, 'query');
    const text = typeof query === 'object' && query !== null ? storedText(query) : JSON.stringify(query ?? null);
    // Long texts are slow Map keys if they have the same length: engines hash them by length alone.
    const key = hash('sha256', text, 'base64');
    let live = this.#byKey.get(key);
    const needsFence = this.#hasPeers && live !== undefined && this.#link !== null;
    if (live === undefined) {
      live = new LiveTopic(++this.#lastStream, key, text, this.#hub().nextId, abandoned => this.#drop(abandoned));
      this.#byKey.set(key, live);
      this.#byStream.set(live.stream, live);
      if (this.#link !== null) this.#link.subscribe(live.stream, live.query);
    }
    holder.await();
    if (live.isCurrent && !needsFence) {
      live.join(holder, requestId);
      return;
    }
    live.waiting.push({holder, requestId, isFresh: !needsFence});
    if (needsFence) this.#link!.fence(live.stream);
    if (this.#link === null) this.#wake();
  }

  /** A worker serves the tenant from now on. */
  attach(link: WorkerLink): void {
    this.#link = link;
    this.#batch = new Map();
    for (const live of this.#byKey.values()) {
      live.isCurrent = false;
      for (const registration of live.waiting) registration.isFresh = true;
      link.subscribe(live.stream, live.query);
    }
  }

  /** The worker is gone. */
  detach(): void {
    this.#link = null;
    this.#batch = new Map();
    for (const live of this.#byKey.values()) live.isCurrent = false;
    if (this.#byKey.size > 0) this.#wake();
  }

  /** No worker is available: registrations without a first result are refused; the others stay and are retried. */
  unavailable(error: ServiceError): void {
    for (const live of this.#byKey.values()) {
      for (const {holder, requestId} of live.waiting.splice(0)) {
        if (!holder.hasEnded) holder.refuse(requestId, error);
      }
      if (!live.isSubscribed) this.#drop(live);
    }
  }

  /**
   * Takes a result, which is published with the rest of its batch.
   * @throws MalformedFrame when the batch already has a result of this query
   */
  result(stream: number, data: Buffer): void {
    const live = this.#byStream.get(stream);
    if (live === undefined) return;
    if (this.#batch.has(live)) throw new MalformedFrame('two results of one live query in a batch');
    this.#batch.set(live, Buffer.from(data));
  }

  failed(stream: number, error: ErrorObject): void {
    const live = this.#byStream.get(stream);
    if (live === undefined) return;
    const reason = new ServiceError(error.code, error.message, error.detail);
    this.#forget(live);
    for (const {holder, requestId} of live.waiting.splice(0)) if (!holder.hasEnded) holder.refuse(requestId, reason);
    for (const slot of live.slots) for (const holder of slot.holders) holder.lose(slot, reason);
  }

  /** New subscribers wait for the next result, because they know of writes that this one lacks. */
  behind(stream: number): void {
    const live = this.#byStream.get(stream);
    if (live !== undefined) live.isCurrent = false;
  }

  subscriptions(stream: number): number {
    return this.#byStream.get(stream)?.subscriptions ?? 0;
  }

  /**
   * The oldest registration of this query that waits for a fence gets it: fences return in the order of the requests.
   */
  fenced(stream: number): void {
    const live = this.#byStream.get(stream);
    const registration = live?.waiting.find(({isFresh}) => !isFresh);
    if (live === undefined || registration === undefined) return; // ended meanwhile
    registration.isFresh = true;
    if (!live.isCurrent) return;
    live.admit();
    if (!live.isSubscribed) this.#drop(live);
  }

  /** Publishes the batch. */
  endBatch(sequence: number, committedMs: number): void {
    const batch = this.#batch;
    this.#batch = new Map();
    const turn = this.#hub().turn();
    for (const [live, data] of batch) {
      if (this.#byStream.get(live.stream) !== live) continue; // abandoned meanwhile
      if (live.take(data, sequence)) this.#publish(live, turn, committedMs);
      live.admit();
      if (!live.isSubscribed) this.#drop(live);
    }
  }

  /** The tenant is being deleted. */
  end(error: ServiceError): void {
    for (const connection of [...this.connections]) connection.fatal(error);
  }

  #publish(live: LiveTopic, turn: number, committedMs: number): void {
    const hub = this.#hub();
    for (const slot of live.slots) {
      if (slot.holders.size === 0) continue;
      const frame = slot.frame();
      let takers = 0;
      for (const holder of slot.holders) {
        if (holder.isUnsent(slot)) hub.coalesced();
        else if (holder.takes(slot, frame.length, turn)) takers++;
        else hub.fellBehind(holder);
      }
      hub.publish(slot.topic, frame, takers, committedMs);
    }
  }

  #drop(live: LiveTopic): void {
    if (this.#byStream.get(live.stream) !== live) return;
    this.#forget(live);
    this.#link?.unsubscribe(live.stream);
  }

  #forget(live: LiveTopic): void {
    this.#byKey.delete(live.key);
    this.#byStream.delete(live.stream);
    this.#batch.delete(live);
  }
}
