/**
 * Free space of the logs of tenants that this host serves, so that a write is refused before its COMMIT instead of after it. It
 * is that of the fullest NATS server at the newest poll, less what workers of this host have sent since. Other hosts write as
 * well: that is what the reserve of `serverFreeBytes` is for, because a server that is full may not stay equal to the others.
 * A stream whose settings someone has changed has no space until they are as svc set them.
 */
import {FREE_SPACE_POLL_MS} from '../limits.ts';
import {EngineError, type StreamName} from '../log/log-engine.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';

export type FreeSpaceParts = {
  /** One sentence; null: it is as svc made it. @throws EngineError */
  readonly changedSetting: (stream: StreamName) => Promise<string | null>;
  /** Of each stream on the fullest server. Null: it is not known. */
  readonly serverBytes: () => Promise<number | null>;
  /** Shards of the tenants that this host serves. */
  readonly shards: () => ReadonlySet<number>;
  readonly clock: Clock;
  /** The space of a shard is another one than before. */
  readonly onChange: (shard: number) => void;
  readonly report: (message: string) => void;
};

export class FreeSpace {
  readonly #parts: FreeSpaceParts;
  /** Why a shard takes nothing. */
  readonly #faults = new Map<number, string>();
  #wanted: ReadonlySet<number> = new Set();
  #serverBytes: number | null = null;

  constructor(parts: FreeSpaceParts) {
    this.#parts = parts;
  }

  /** Null: no limit is known. */
  of(shard: number): number | null {
    return this.#faults.has(shard) ? 0 : this.#serverBytes;
  }

  /** Of the shards of tenants that this host serves. */
  all(): ReadonlyMap<number, number> {
    return new Map([...this.#wanted].flatMap(shard => (this.of(shard) === null ? [] : [[shard, this.of(shard)!]])));
  }

  /** Workers of this host send so much. */
  spend(bytes: number): void {
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
      for (const shard of [...this.#faults.keys()]) if (!wanted.has(shard)) this.#faults.delete(shard);
      // Workers hear of it with the lease.
      this.#serverBytes = (await this.#parts.serverBytes()) ?? this.#serverBytes;
      await Promise.all([...wanted].map(shard => this.#poll(shard)));
      await delay(clock, FREE_SPACE_POLL_MS);
    }
  }

  async #poll(shard: number): Promise<void> {
    const {changedSetting, report, onChange} = this.#parts;
    const before = this.#faults.get(shard) ?? null;
    let fault: string | null;
    try {
      fault = await changedSetting({kind: 'log', shard});
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return; // what is known stays
    }
    if (fault === before) return;
    if (fault === null) this.#faults.delete(shard);
    else this.#faults.set(shard, fault);
    report(fault === null ? `shard ${shard} takes writes again` : `shard ${shard} takes no writes: ${fault}`);
    onChange(shard);
  }
}
