/**
 * Hands tenants of this host to others, and lets it get no more. The supervisor requests it before svc stops. An operator
 * requests it by a small record with the start of svc, so that it goes on when another cluster process follows, and ends
 * when svc is started again.
 */
import {DRAIN_POLL_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import type {SmallRecords} from '../log/small-records.ts';
import {delay} from '../log/timing.ts';
import {MONOTONIC_CLOCK} from '../members/clock.ts';
import type {HostTenants} from '../ownership/host-tenants.ts';
import {placedTenant} from '../ownership/tenant-record.ts';
import {type PlacedHost, placementOf} from '../placement/placement.ts';
import type {Move} from './rebalance.ts';

const DRAIN_PREFIX = 'drain.';

export type DrainParts = {
  readonly records: SmallRecords;
  /** Name of this host, and the start of svc that it runs in. */
  readonly host: string;
  readonly start: string;
  readonly tenants: Pick<HostTenants, 'entries' | 'holds' | 'serving'>;
  /** Hosts that can own tenants. */
  readonly hosts: () => PlacedHost[];
  readonly moveAll: (moves: readonly Move[]) => Promise<void>;
  /** Called once: the others must know. */
  readonly onBegin: () => void;
  readonly signal: AbortSignal;
};

export class Drain {
  readonly #parts: DrainParts;
  #hasBegun = false;

  constructor(parts: DrainParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#parts.onBegin();
  }

  /** Hands over what this host serves, as long as there is a host to take it. */
  async run(): Promise<void> {
    const {tenants, signal} = this.#parts;
    this.begin();
    while (!signal.aborted) {
      const served = [...tenants.serving().keys()];
      if (served.length === 0 || !(await this.#handOver(served, this.#others()))) return;
      await delay(MONOTONIC_CLOCK, DRAIN_POLL_MS);
    }
  }

  /** Hands over what this host owns, once: also tenants that sleep. */
  async handOverOwned(): Promise<void> {
    const {tenants, host} = this.#parts;
    this.begin();
    const owned = [...tenants.entries()].flatMap(([id, {owner}]) => (owner?.host === host ? [id] : []));
    const [served, asleep] = [owned.filter(id => tenants.holds(id)), owned.filter(id => !tenants.holds(id))];
    await this.#handOver([...served, ...asleep], this.#others());
  }

  /** Whether an operator has requested it. False without an answer of the log: the caller reads it again. */
  async isRequested(): Promise<boolean> {
    const {records, host, start} = this.#parts;
    try {
      return (await records.get(DRAIN_PREFIX + host))?.value?.toString() === start;
    } catch (error) {
      if (error instanceof EngineError) return false;
      throw error;
    }
  }

  #others(): PlacedHost[] {
    return this.#parts.hosts().filter(({name}) => name !== this.#parts.host);
  }

  /** @returns whether there is a host that can take any of them */
  async #handOver(ids: readonly string[], others: readonly PlacedHost[]): Promise<boolean> {
    const {tenants, moveAll} = this.#parts;
    const moves = ids.flatMap(id => {
      const entry = tenants.entries().get(id);
      const owner = entry === undefined ? null : placementOf(placedTenant(id, entry), others, 0).owner;
      return owner === null ? [] : [{id, host: owner}];
    });
    await moveAll(moves);
    return moves.length > 0;
  }
}

/** A host hands over its tenants. @param start of that host. @throws EngineError */
export async function requestDrain(
  records: SmallRecords,
  {host, start, signal}: {host: string; start: string; signal: AbortSignal},
): Promise<void> {
  for (;;) {
    const before = await records.get(DRAIN_PREFIX + host);
    const outcome = await records.set(DRAIN_PREFIX + host, Buffer.from(start), before?.revision ?? 0, signal);
    const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (kind === 'stored') return;
    if (kind !== 'conflict') throw new EngineError(`the request to drain was not stored: ${kind}`);
  }
}
