/**
 * Free space of the streams with the logs of tenants that this host serves, so that a write is refused before its COMMIT
 * instead of after it. It is as old as the newest poll: an append to a full stream is refused by NATS in any case.
 */
import {FREE_SPACE_POLL_MS} from '../limits.ts';
import {EngineError, type StreamName} from '../log/log-engine.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';

export type FreeSpaceParts = {
  /** Null: the stream has no limit. @throws EngineError */
  readonly freeBytes: (stream: StreamName) => Promise<number | null>;
  /** Shards of the tenants that this host serves. */
  readonly shards: () => ReadonlySet<number>;
  readonly clock: Clock;
  /** The space of a shard is another one than before. */
  readonly onChange: (shard: number) => void;
};

export class FreeSpace {
  readonly #parts: FreeSpaceParts;
  /** Of shards with a limit. */
  readonly #bytes = new Map<number, number>();

  constructor(parts: FreeSpaceParts) {
    this.#parts = parts;
  }

  /** Null: no limit is known. */
  of(shard: number): number | null {
    return this.#bytes.get(shard) ?? null;
  }

  all(): ReadonlyMap<number, number> {
    return this.#bytes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const {shards, clock} = this.#parts;
    while (!signal.aborted) {
      const wanted = shards();
      for (const shard of [...this.#bytes.keys()]) if (!wanted.has(shard)) this.#bytes.delete(shard);
      await Promise.all([...wanted].map(shard => this.#poll(shard)));
      await delay(clock, FREE_SPACE_POLL_MS);
    }
  }

  async #poll(shard: number): Promise<void> {
    const before = this.of(shard);
    try {
      const free = await this.#parts.freeBytes({kind: 'log', shard});
      if (free === null) this.#bytes.delete(shard);
      else this.#bytes.set(shard, free);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return; // the space that is known stays
    }
    if (this.of(shard) !== before) this.#parts.onChange(shard);
  }
}
