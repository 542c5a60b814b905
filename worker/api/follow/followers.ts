/**
 * All readers of this tenant's server-sent events. A reader keeps its tenant awake, like a socket, because its request
 * is under way. Each gets a heartbeat at intervals, unless it has not taken the previous data.
 */
import {Buffer} from 'node:buffer';
import type {OutgoingBody} from '../../../engine/io/outgoing-body.ts';
import {BufferedBytes} from '../../../shared/byte-accounts.ts';
import {overloaded} from '../../../shared/errors.ts';
import type {WorkerMetrics} from '../../../shared/metrics/worker-metrics.ts';
import {FOLLOWER_HEARTBEAT_MS, FOLLOWERS_BUFFERED_BYTES_MAX, FOLLOWERS_MAX} from '../limits.ts';
import {EventStream} from './event-stream.ts';

const KINDS = ['journal', 'query', 'function'] as const;
type FollowedKind = (typeof KINDS)[number];

/** A comment, which readers ignore. */
const ALIVE = Buffer.from(':\n\n');

type Follower = {
  readonly kind: FollowedKind;
  readonly stream: EventStream;
  /** The event to send as a heartbeat. */
  readonly heartbeat: () => Buffer;
};

export class Followers {
  readonly #metrics: WorkerMetrics;
  readonly #buffered = new BufferedBytes(FOLLOWERS_BUFFERED_BYTES_MAX);
  readonly #followers = new Set<Follower>();
  /** Null: there are no readers. */
  #timer: NodeJS.Timeout | null = null;

  constructor(metrics: WorkerMetrics) {
    this.#metrics = metrics;
    metrics.measure('svc_followers', () => KINDS.map(kind => [{kind}, this.count(kind)]));
    metrics.measure('svc_follower_owed_bytes', () => this.bufferedBytes);
  }

  /** Bytes buffered for them in this worker. */
  get bufferedBytes(): number {
    return this.#buffered.buffered;
  }

  count(kind: FollowedKind): number {
    let count = 0;
    for (const follower of this.#followers) if (follower.kind === kind) count++;
    return count;
  }

  /** Call before anything is started. @throws session.overloaded 503 */
  checkRoom(): void {
    if (this.#followers.size < FOLLOWERS_MAX) return;
    throw overloaded(`${FOLLOWERS_MAX} readers follow this tenant already; try again later`);
  }

  /**
   * @param limit number of events after which the stream ends; null: none
   * @param onOver called when it has ended, for any reason
   */
  begin(
    kind: FollowedKind,
    body: OutgoingBody,
    limit: number | null,
    onOver: () => void,
    {heartbeat = () => ALIVE, isContinued = false}: {heartbeat?: () => Buffer; isContinued?: boolean} = {},
  ): EventStream {
    const stream = new EventStream(body, this.#buffered, limit, isContinued, () => {
      this.#followers.delete(follower);
      this.#metrics.add('svc_follower_events_total', stream.sent, {kind});
      if (this.#followers.size === 0) this.#rest();
      onOver();
    });
    const follower: Follower = {kind, stream, heartbeat};
    this.#followers.add(follower);
    this.#timer ??= setInterval(() => this.#beat(), FOLLOWER_HEARTBEAT_MS).unref();
    return stream;
  }

  #beat(): void {
    for (const {stream, heartbeat} of this.#followers) if (stream.isReady) stream.write(heartbeat());
  }

  #rest(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
