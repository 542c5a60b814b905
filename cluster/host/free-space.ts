/**
 * Free space of the logs of tenants that this host serves, so that a write is refused before its COMMIT instead of after it:
 * that of the stream, if it has a limit, and that of the servers. It is that of the newest poll, less what workers of this host have
 * sent since. Other hosts write as well: an append to a full stream or server is refused by NATS in any case.
 */
import {FREE_SPACE_POLL_MS} from '../limits.ts';
import {EngineError, type StreamName} from '../log/log-engine.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';

export type FreeSpaceParts = {
  /** Null: the stream has no limit. @throws EngineError */
  readonly freeBytes: (stream: StreamName) => Promise<number | null>;
  /** Of each stream on the fullest server. Null: it is not known. */
  readonly serverBytes: () => Promise<number | null>;
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
  #wanted: ReadonlySet<number> = new Set();
  #serverBytes: number | null = null;

  constructor(parts: FreeSpaceParts) {
    this.#parts = parts;
  }

  /** Null: no limit is known. */
  of(shard: number): number | null {
    const bytes = this.#bytes.get(shard) ?? null;
    return bytes === null || this.#serverBytes === null
      ? (bytes ?? this.#serverBytes)
      : Math.min(bytes, this.#serverBytes);
  }

  /** Of the shards of tenants that this host serves. */
  all(): ReadonlyMap<number, number> {
    return new Map([...this.#wanted].flatMap(shard => (this.of(shard) === null ? [] : [[shard, this.of(shard)!]])));
  }

  /** A worker of this host sends so much. */
  spend(shard: number, bytes: number): void {
    const free = this.#bytes.get(shard);
    if (free !== undefined) this.#bytes.set(shard, Math.max(0, free - bytes));
    if (this.#serverBytes !== null) this.#serverBytes = Math.max(0, this.#serverBytes - bytes);
  }

  /** For what every stream can have, such as a base. Null: no limit is known. */
  get serverBytes(): number | null {
    return this.#serverBytes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const {shards, clock} = this.#parts;
    while (!signal.aborted) {
      const wanted = shards();
      this.#wanted = wanted;
      for (const shard of [...this.#bytes.keys()]) if (!wanted.has(shard)) this.#bytes.delete(shard);
      // Workers hear of it with the lease.
      this.#serverBytes = (await this.#parts.serverBytes()) ?? this.#serverBytes;
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
