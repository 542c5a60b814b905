/** Bytes per second that a host reads of bases, all tenants together, so that a new standby leaves the network to owners. */
import {TokenBucket} from '../../shared/token-bucket.ts';
import {PART_BYTES} from '../limits.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';

export class CopyRate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket | null;
  readonly #burst: number;

  /** @param bytesPerSecond null: no limit */
  constructor(bytesPerSecond: number | null, clock: Clock) {
    this.#clock = clock;
    // Two seconds, because the bucket says in whole seconds when it has enough.
    const burst = Math.max(2 * (bytesPerSecond ?? 0), PART_BYTES);
    this.#burst = burst;
    this.#bucket =
      bytesPerSecond === null ? null : new TokenBucket({requests_per_second: bytesPerSecond, burst}, clock.nowMs);
  }

  /** The parts, each when there are as many bytes for it. */
  async *metered(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const part of parts) {
      await this.spend(part.length);
      yield part;
    }
  }

  /** Resolves when there were so many bytes. */
  async spend(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; left -= this.#burst) {
      const some = Math.min(left, this.#burst);
      while (this.#bucket?.take(this.#clock.nowMs, some) === false) {
        await delay(this.#clock, 1_000 * this.#bucket.secondsUntil(some));
      }
    }
  }
}
