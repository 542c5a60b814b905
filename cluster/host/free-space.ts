/**
 * Free space of the logs of tenants that this host serves, so that a write is refused before its COMMIT instead of after it. A
 * stream whose settings someone has changed takes nothing until they are as svc set them.
 */
import {FREE_SPACE_POLL_MS, HIDDEN_READS} from '../limits.ts';
import {EngineError, type StreamName} from '../log/log-engine.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import type {ServerSpace} from '../nats/server-space.ts';

export type FreeSpaceParts = {
  /** One sentence; null: it is as svc made it. @throws EngineError */
  readonly changedSetting: (stream: StreamName) => Promise<string | null>;
  readonly server: Pick<ServerSpace, 'freeBytes' | 'hidden' | 'read'>;
  /** Shards of the tenants that this host serves. */
  readonly shards: () => ReadonlySet<number>;
  readonly clock: Clock;
  /** The space of a shard is another one than before. */
  readonly onChange: (shard: number) => void;
  readonly report: (message: string) => void;
};

/** What a fault of a stream prevents. */
function preventedBy(stream: StreamName): string {
  if (stream.kind === 'records') return 'no tenant takes writes';
  return stream.kind === 'bases' ? 'no base is stored' : `shard ${stream.shard} takes no writes`;
}

export class FreeSpace {
  readonly #parts: FreeSpaceParts;
  /** What streams prevent whose settings were changed → why. */
  readonly #faults = new Map<string, string>();
  #wanted: ReadonlySet<number> = new Set();
  /** Readings in a row at which a server that runs had no page. */
  #hiddenReads = 0;

  constructor(parts: FreeSpaceParts) {
    this.#parts = parts;
  }

  /** Null: no limit is known. */
  of(shard: number): number | null {
    return this.#prevents({kind: 'log', shard}) || this.#prevents({kind: 'records'}) ? 0 : this.#parts.server.freeBytes;
  }

  /** Of the shards of tenants that this host serves. */
  all(): ReadonlyMap<number, number> {
    return new Map([...this.#wanted].flatMap(shard => (this.of(shard) === null ? [] : [[shard, this.of(shard)!]])));
  }

  /** For a base. Null: no limit is known. */
  get ofBases(): number | null {
    return this.#prevents({kind: 'bases'}) || this.#prevents({kind: 'records'}) ? 0 : this.#parts.server.freeBytes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const {shards, clock} = this.#parts;
    while (!signal.aborted) {
      const wanted = shards();
      for (const shard of this.#wanted) if (!wanted.has(shard)) this.#faults.delete(preventedBy({kind: 'log', shard}));
      this.#wanted = wanted;
      // Workers hear of it with the lease.
      await this.#parts.server.read();
      this.#noteHidden();
      const logs = [...wanted].map(shard => ({kind: 'log', shard}) as const);
      await Promise.all(
        [{kind: 'records'} as const, {kind: 'bases'} as const, ...logs].map(stream => this.#poll(stream)),
      );
      await delay(clock, FREE_SPACE_POLL_MS);
    }
  }

  /** Pages of servers that stop or start are missing for a moment. */
  #noteHidden(): void {
    const {server, report} = this.#parts;
    const before = this.#hiddenReads;
    this.#hiddenReads = server.hidden === 0 ? 0 : before + 1;
    if (this.#hiddenReads === HIDDEN_READS) {
      report(
        `the monitoring pages of ${server.hidden} NATS servers that run cannot be read: their space is not known for certain`,
      );
    }
    if (this.#hiddenReads === 0 && before >= HIDDEN_READS)
      report('the monitoring pages of all NATS servers that run can be read');
  }

  #prevents(stream: StreamName): boolean {
    return this.#faults.has(preventedBy(stream));
  }

  async #poll(stream: StreamName): Promise<void> {
    const {changedSetting, report, onChange} = this.#parts;
    const key = preventedBy(stream);
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
    report(fault === null ? `it is over: ${key}` : `${key}: ${fault}`);
    for (const shard of stream.kind === 'log' ? [stream.shard] : this.#wanted) onChange(shard);
  }
}
