/** Watches the logs of shards for new records: one watch for each shard, however many tenants it has. */
import {RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';

export type ShardWatchesParts = {
  readonly replicated: Pick<ReplicatedLog, 'newRecords'>;
  readonly clock: Clock;
  /** The log of a tenant has a new record. @param token of the tenant */
  readonly onRecord: (token: string) => void;
  /** Records may have been missed: all logs of the shard have to be read. */
  readonly onBegin: (shard: number) => void;
};

export class ShardWatches {
  readonly #parts: ShardWatchesParts;
  readonly #watches = new Map<number, {end: AbortController; ended: Promise<void>}>();

  constructor(parts: ShardWatchesParts) {
    this.#parts = parts;
  }

  /** Watches these shards and no others. */
  set(shards: ReadonlySet<number>): void {
    for (const [shard, {end}] of this.#watches) if (!shards.has(shard)) end.abort();
    for (const shard of shards) {
      if (this.#watches.get(shard)?.end.signal.aborted === false) continue;
      const end = new AbortController();
      this.#watches.set(shard, {end, ended: this.#watch(shard, end.signal)});
    }
  }

  /** No more is reported when it resolves. */
  async close(): Promise<void> {
    this.set(new Set());
    await Promise.all([...this.#watches.values()].map(({ended}) => ended));
  }

  async #watch(shard: number, signal: AbortSignal): Promise<void> {
    const {replicated, clock, onRecord, onBegin} = this.#parts;
    while (!signal.aborted) {
      try {
        for await (const token of replicated.newRecords(shard, signal)) {
          if (signal.aborted) return;
          if (token === null) onBegin(shard);
          else onRecord(token);
        }
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      if (!signal.aborted) await delay(clock, RENEW_MS);
    }
  }
}
