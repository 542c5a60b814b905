/**
 * What one tenant has in its shard of the log, as far as this host has passed it on. The tenants of a shard share a stream,
 * and a worker runs code of its tenant: without this, one that appends at full speed, or sends parts that no record ever
 * names, would fill the stream for all of them. Then its own writes are 507 (decision 0133).
 *
 * Invariants
 * - A tenant above `LOG_SHARE_BYTES` has no more than is still free. So each leaves half of the space to the others.
 * - Its worker knows that before, and stops. What it had committed until then is taken, up to `LOG_SHARE_BYTES` more: a
 *   commit that the log never takes would keep the tenant from being opened.
 * - No more parts wait for their record than one record can have.
 */
import {LOG_SHARE_BYTES, LOG_SHARE_SPAN_BYTES, PARTS_MAX} from '../limits.ts';

/** A run of messages. `upTo`: sequence of the last one. */
type Span = {upTo: number; bytes: number};

export class LogShare {
  readonly #freeOfShard: () => number | null;
  /** Oldest first. */
  #spans: Span[] = [];
  /** Sequences of parts that no record has named. */
  readonly #unnamed = new Set<number>();
  /** Of all spans. */
  #bytes = 0;
  /** Stored since it has more than is free. */
  #overBytes = 0;

  /** @param freeOfShard in bytes; null: no limit is known */
  constructor(freeOfShard: () => number | null) {
    this.#freeOfShard = freeOfShard;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** For this tenant. Null: no limit is known. */
  get freeBytes(): number | null {
    const [free, {bytes}] = [this.#freeOfShard(), this];
    return free === null || bytes <= LOG_SHARE_BYTES ? free : Math.max(0, free - bytes);
  }

  /** Whether it could be that bases have let some of it go. */
  get isLarge(): boolean {
    const free = this.#freeOfShard();
    const isOver = free !== null && this.bytes > Math.max(LOG_SHARE_BYTES, free / 4);
    return isOver || this.#unnamed.size > PARTS_MAX / 2;
  }

  takesPart(bytes: number): boolean {
    return this.#unnamed.size < PARTS_MAX && this.takes(bytes);
  }

  takes(bytes: number): boolean {
    return !this.#isOver(bytes) || this.#overBytes + bytes <= LOG_SHARE_BYTES;
  }

  storedPart(sequence: number, bytes: number): void {
    this.#unnamed.add(sequence);
    this.#stored(sequence, bytes);
  }

  /** @param parts their sequences */
  storedRecord(sequence: number, bytes: number, parts: readonly number[]): void {
    for (const part of parts) this.#unnamed.delete(part);
    this.#stored(sequence, bytes);
  }

  /** The log has nothing before this sequence any more. */
  trimmed(before: number): void {
    this.#spans = this.#spans.filter(({upTo}) => upTo >= before);
    this.#bytes = this.#spans.reduce((sum, {bytes}) => sum + bytes, 0);
    for (const part of this.#unnamed) if (part < before) this.#unnamed.delete(part);
  }

  #isOver(bytes: number): boolean {
    const free = this.freeBytes;
    return this.bytes > LOG_SHARE_BYTES && free !== null && bytes > free;
  }

  #stored(sequence: number, bytes: number): void {
    this.#overBytes = this.#isOver(bytes) ? this.#overBytes + bytes : 0;
    let span = this.#spans.at(-1);
    if (span === undefined || span.bytes >= LOG_SHARE_SPAN_BYTES) {
      span = {upTo: 0, bytes: 0};
      this.#spans.push(span);
    }
    span.upTo = Math.max(span.upTo, sequence);
    span.bytes += bytes;
    this.#bytes += bytes;
  }
}
