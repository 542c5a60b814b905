/**
 * Free space of the logs of tenants that this host serves, so that a write is refused before its COMMIT instead of after it. It
 * is that of the fullest NATS server at the newest poll, less what workers of this host have sent since. Other hosts write as
 * well: that is what the reserve of `serverFreeBytes` is for, because a server that is full may not stay equal to the others.
 * A stream whose settings someone has changed takes nothing until they are as svc set them.
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

/** What a fault of a stream prevents. */
function without(stream: StreamName): string {
  if (stream.kind === 'records') return 'no tenant takes writes';
  return stream.kind === 'bases' ? 'no base is stored' : `shard ${stream.shard} takes no writes`;
}

export class FreeSpace {
  readonly #parts: FreeSpaceParts;
  /** What streams prevent whose settings were changed → why. */
  readonly #faults = new Map<string, string>();
  #wanted: ReadonlySet<number> = new Set();
  #serverBytes: number | null = null;

  constructor(parts: FreeSpaceParts) {
    this.#parts = parts;
  }

  /** Null: no limit is known. */
  of(shard: number): number | null {
    return this.#prevents({kind: 'log', shard}) || this.#prevents({kind: 'records'}) ? 0 : this.#serverBytes;
  }

  /** Of the shards of tenants that this host serves. */
  all(): ReadonlyMap<number, number> {
    return new Map([...this.#wanted].flatMap(shard => (this.of(shard) === null ? [] : [[shard, this.of(shard)!]])));
  }

  /** Workers of this host send so much. */
  spend(bytes: number): void {
    if (this.#serverBytes !== null) this.#serverBytes = Math.max(0, this.#serverBytes - bytes);
  }

  /** For a base. Null: no limit is known. */
  get ofBases(): number | null {
    return this.#prevents({kind: 'bases'}) || this.#prevents({kind: 'records'}) ? 0 : this.#serverBytes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const {shards, clock} = this.#parts;
    while (!signal.aborted) {
      const wanted = shards();
      for (const shard of this.#wanted) if (!wanted.has(shard)) this.#faults.delete(without({kind: 'log', shard}));
      this.#wanted = wanted;
      // Workers hear of it with the lease.
      this.#serverBytes = (await this.#parts.serverBytes()) ?? this.#serverBytes;
      const logs = [...wanted].map(shard => ({kind: 'log', shard}) as const);
      await Promise.all(
        [{kind: 'records'} as const, {kind: 'bases'} as const, ...logs].map(stream => this.#poll(stream)),
      );
      await delay(clock, FREE_SPACE_POLL_MS);
    }
  }

  #prevents(stream: StreamName): boolean {
    return this.#faults.has(without(stream));
  }

  async #poll(stream: StreamName): Promise<void> {
    const {changedSetting, report, onChange} = this.#parts;
    const key = without(stream);
    let fault: string | null;
    try {
      fault = await changedSetting(stream);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return; // what is known stays
    }
    if (fault === (this.#faults.get(key) ?? null)) return;
    if (fault === null) this.#faults.delete(key);
    else this.#faults.set(key, fault);
    report(fault === null ? `it is over that ${key}` : `${key}: ${fault}`);
    for (const shard of stream.kind === 'log' ? [stream.shard] : this.#wanted) onChange(shard);
  }
}
