/** What the tenants that this host serves have in the log. Bases let it go: those of a large share are looked at. */
import {LogShare} from '../endpoint/log-share.ts';
import {BASES_KEPT, FREE_SPACE_POLL_MS} from '../limits.ts';
import type {Bases} from '../log/bases.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import {shardOf, type TenantName, tokenOf} from '../log/subjects.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';

export type LogSharesParts = {
  readonly bases: Pick<Bases, 'list'>;
  readonly clock: Clock;
  /** Null: no limit is known. */
  readonly freeBytes: (shard: number) => number | null;
  /** The share of the tenant is smaller. */
  readonly onChange: (tenantId: string) => void;
};

export class LogShares {
  readonly #parts: LogSharesParts;
  /** They outlive workers and their endpoints: a worker that ends has what it sent in the log. */
  readonly #shares = new Map<string, {readonly tenant: TenantName; readonly share: LogShare}>();

  constructor(parts: LogSharesParts) {
    this.#parts = parts;
  }

  of(tenant: TenantName): LogShare {
    const token = tokenOf(tenant);
    const found = this.#shares.get(token);
    if (found !== undefined) return found.share;
    const shard = shardOf(tenant.id);
    const share = new LogShare(() => this.#parts.freeBytes(shard));
    this.#shares.set(token, {tenant, share});
    return share;
  }

  /** The tenant has been deleted. */
  forget(tenant: TenantName): void {
    this.#shares.delete(tokenOf(tenant));
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const {tenant, share} of this.#shares.values()) if (share.isLarge) await this.#look(tenant, share);
      await delay(this.#parts.clock, FREE_SPACE_POLL_MS);
    }
  }

  async #look(tenant: TenantName, share: LogShare): Promise<void> {
    const {bases, onChange} = this.#parts;
    try {
      const listed = await bases.list(tenant);
      // The log is trimmed below the older of two.
      if (listed.length < BASES_KEPT) return;
      share.trimmed(listed[0]!.position.sequence);
      onChange(tenant.id);
    } catch (error) {
      if (!(error instanceof EngineError || error instanceof LogError)) throw error;
    }
  }
}
