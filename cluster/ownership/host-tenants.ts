/**
 * The tenants of this host, and where the others are. The entry of a tenant says who may open it, and its log who does.
 *
 *   away ──locate: this host should have it, and its owner has ended──▶ claiming ──claimed──▶ opening ──opened──▶ serving
 *    ▲ ▲                                                                   │conflict            │ superseded    │     │
 *    │ └───────────────────────────────────────────────────────────────────┴────────────────────┘               │     │
 *    │◀──closed── closing ◀──release, or the entry has another owner────────────────────────────────────────────┘     │
 *    │               │ lost                                                                                           │
 *    └──the worker has ended── ending ◀──lost: an append was refused, or the lease of this host was expired───────────┘
 *       (and its `close` is appended, if the log names it still)
 *
 * Invariants
 * - A tenant has at most one holder (a worker) on this host, and it has ended before the next claim.
 * - A holder serves reads only while the host has its lease, and opens only after the former owner serves none.
 * - Each opening has an epoch of its own, so nothing of an earlier holder can be appended after it.
 */
import {sourceOf} from '../../engine/copies/bytes.ts';
import {assert} from '../../shared/assert.ts';
import {NEWEST_STORAGE_VERSION} from '../../shared/storage-version.ts';
import {OWNER_RETRY_MS, RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {LogPosition} from '../log/record.ts';
import type {ReplicatedLog} from '../log/replicated-log.ts';
import type {RecordChange} from '../log/small-records.ts';
import type {TenantName} from '../log/subjects.ts';
import type {OpenOptions, OpenOutcome, TenantLog} from '../log/tenant-log.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import {type Members, placedHosts} from '../members/members.ts';
import {placementOf} from '../placement/placement.ts';
import {claim, findTenant} from './claim.ts';
import {formerOwnerEnds} from './former-owner.ts';
import {
  decodeTenant,
  type FoundTenant,
  isSameOwner,
  noteOfOwner,
  type Owner,
  placedTenant,
  TENANT_PREFIX,
  type TenantRecord,
} from './tenant-record.ts';

/** What a holder gets to open the tenant. */
export type Grant = {readonly tenant: TenantName; readonly log: TenantLog} & Pick<
  OpenOptions,
  'epoch' | 'note' | 'ownerEnds'
> & {readonly isReadOnly: boolean; readonly signal: AbortSignal};

/** What has the file of a tenant open: a worker. */
export interface Holder {
  /** Brings the file to the log and opens the log. It is called again when the log did not answer. @throws LogError, EngineError */
  open(grant: Grant): Promise<OpenOutcome>;
  /** Completes what is under way and appends `close`. @returns whether the log has it; if not, `end` follows */
  close(): Promise<boolean>;
  /** Serves nothing more when it resolves, and none of its appends is under way. */
  end(): Promise<void>;
  /** The newest record that it read or appended; null: there is none. */
  readonly tail: LogPosition | null;
}

export type HostTenantsParts = {
  readonly replicated: Pick<ReplicatedLog, 'records' | 'tenant'>;
  readonly members: Pick<Members, 'outcomeOf' | 'serving'>;
  readonly clock: Clock;
  /** The present membership of this host; null: it has not joined, or was expired. */
  readonly self: () => Owner | null;
  readonly holderOf: (tenant: TenantName) => Holder;
  /** Receives a sentence when a tenant's entry can't be read, or its log has lost records. */
  readonly report: (sentence: string) => void;
  /** For metrics. `takeover`: the owner in the entry was another host, which had ended. */
  readonly count?: (what: 'takeover' | 'hand_over') => void;
  /** An entry as the watch received it, and the one before; null: there was none. */
  readonly changed?: (id: string, entry: TenantRecord, before: TenantRecord | null) => void;
  /** The watch has received all entries that there were when it began. It is called again after the log was lost. */
  readonly listed?: () => void;
};

export type Located =
  | {readonly kind: 'here'; readonly epoch: number}
  | {readonly kind: 'there'; readonly host: string}
  | {readonly kind: 'missing'}
  /** An operator paused it altogether. */
  | {readonly kind: 'paused'}
  /** The log has no space for it to be opened. */
  | {readonly kind: 'full'}
  /** Its entry can't be read, or its log can't be continued. */
  | {readonly kind: 'damaged'; readonly sentence: string}
  /** This host is no member, so it can't say. */
  | {readonly kind: 'apart'}
  /** No host that serves has a release that can open its file. */
  | {readonly kind: 'too_new'}
  | {readonly kind: 'abandoned'};

type Held = {
  readonly owner: Owner;
  readonly epoch: number;
  readonly log: TenantLog;
  readonly holder: Holder;
  /** Aborts when the holder ends. */
  readonly life: AbortController;
  state: 'opening' | 'serving' | 'closing' | 'ending';
};

export class HostTenants {
  readonly #parts: HostTenantsParts;
  readonly #held = new Map<string, Held>();
  readonly #locating = new Map<string, Promise<Located>>();
  readonly #ending = new Map<string, Promise<void>>();
  /** Entries as the watch reported them last. */
  readonly #watched = new Map<string, TenantRecord>();
  /** The newest loop of each tenant that appends a `close`. It ends when a later holder has opened the log. */
  readonly #closings = new Map<string, AbortController>();
  /** Of the present membership. */
  #membership = new AbortController();

  constructor(parts: HostTenantsParts) {
    this.#parts = parts;
  }

  /** Epochs of the tenants that this host serves, while it has its lease. */
  serving(): ReadonlyMap<string, number> {
    return new Map([...this.#held].filter(([, {state}]) => state === 'serving').map(([id, {epoch}]) => [id, epoch]));
  }

  /**
   * Finds who serves the tenant, and takes it over if its owner has ended.
   * @param isForwarded another host chose this one, so the placement is not asked again
   */
  locate(id: string, isForwarded = false): Promise<Located> {
    const held = this.#held.get(id);
    if (held?.state === 'serving') return Promise.resolve({kind: 'here', epoch: held.epoch});
    const key = `${id} ${isForwarded}`;
    let locating = this.#locating.get(key);
    if (locating === undefined) {
      locating = this.#locate(id, isForwarded, this.#membership.signal).finally(() => this.#locating.delete(key));
      this.#locating.set(key, locating);
    }
    return locating;
  }

  /**
   * Makes a host the owner in the tenant's entry. The present owner closes the tenant when it receives that, and the new
   * one opens it for the first request. @returns whether it is stored; not: there is no such tenant, the log is full, or
   * the signal aborted. @throws LogError, EngineError
   */
  async move(id: string, to: Owner, signal: AbortSignal): Promise<boolean> {
    const {records} = this.#parts.replicated;
    for (;;) {
      const found = await findTenant(records, id);
      if (found === null) return false;
      if (isSameOwner(found.record.owner, to)) return true;
      const {kind} = await claim(records, id, found, {owner: to, above: 0, opens: false, signal});
      if (kind !== 'conflict') return kind === 'claimed';
    }
  }

  /** Releases tenants whose entry has a later epoch, of another owner or a pause, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const {replicated, clock} = this.#parts;
    while (!signal.aborted) {
      try {
        for await (const change of replicated.records.watch([TENANT_PREFIX], signal)) {
          if (change !== null) this.#changed(change);
          else this.#parts.listed?.();
        }
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      if (!signal.aborted) await delay(clock, RENEW_MS);
    }
  }

  #changed({key, record: {value}}: RecordChange): void {
    const id = key.slice(TENANT_PREFIX.length);
    const before = this.#watched.get(id) ?? null;
    try {
      const entry = value === null ? null : decodeTenant(id, value);
      if (entry === null || entry.isDeleted) this.#watched.delete(id);
      else this.#watched.set(id, entry);
      if (entry !== null) this.#parts.changed?.(id, entry, before);
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.#parts.report(error.message);
    }
    this.#releaseMoved(id);
  }

  /** The entries of tenants that there are, as the watch received them. */
  entries(): ReadonlyMap<string, TenantRecord> {
    return this.#watched;
  }

  /** Resolves when no worker of this host ends. */
  async ended(id: string): Promise<void> {
    await this.#ending.get(id);
  }

  /** Whether a worker of this host has the tenant's file, or is about to. */
  holds(id: string): boolean {
    return this.#held.has(id) || this.#ending.has(id);
  }

  #releaseMoved(id: string): void {
    const [held, entry] = [this.#held.get(id), this.#watched.get(id)];
    if (held === undefined || entry === undefined || entry.epoch <= held.epoch) return;
    void this.release(id);
  }

  /** Stops serving the tenant in order: the next owner need not wait for a lease. @returns whether this host served it */
  async release(id: string): Promise<boolean> {
    const held = this.#held.get(id);
    if (held?.state !== 'serving') return false;
    held.state = 'closing';
    const hasClosed = await held.holder.close();
    if (hasClosed) this.#parts.count?.('hand_over');
    if (hasClosed && !this.#ending.has(id)) {
      held.life.abort();
      this.#held.delete(id);
    } else await this.#end(id, held);
    return true;
  }

  /** No worker of this host has the tenant in an epoch up to this one when it resolves, unless the signal has aborted. */
  async releaseUpTo(id: string, epoch: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const held = this.#held.get(id);
      if (held === undefined || held.epoch > epoch) return;
      if (!(await this.release(id))) await delay(this.#parts.clock, OWNER_RETRY_MS);
    }
  }

  /** An append of this epoch was refused, or the holder has ended by itself. */
  async lost(id: string, epoch: number): Promise<void> {
    const held = this.#held.get(id);
    if (held !== undefined && held.epoch === epoch) await this.#end(id, held);
  }

  /** The lease was expired, or the host stops. Nothing is served when it resolves, and the host can join again. */
  async endAll(): Promise<void> {
    this.#membership.abort();
    await Promise.all([...this.#held].map(([id, held]) => this.#end(id, held)));
    await Promise.allSettled(this.#locating.values());
    assert(this.#held.size === 0, 'what was being opened has ended as well');
    this.#membership = new AbortController();
  }

  async #locate(id: string, isForwarded: boolean, signal: AbortSignal): Promise<Located> {
    const {replicated, clock} = this.#parts;
    for (let above = 0; !signal.aborted; ) {
      const owner = this.#parts.self();
      if (owner === null) return {kind: 'apart'};
      try {
        const found = await findTenant(replicated.records, id);
        if (found === null) return {kind: 'missing'};
        if (found.record.paused === 'nothing') return {kind: 'paused'};
        const there = await this.#otherHost(id, found, {owner, isForwarded, signal});
        if (there !== null) return there.host === null ? {kind: 'too_new'} : {kind: 'there', host: there.host};
        await this.#ending.get(id);
        const held = this.#held.get(id);
        if (held?.state === 'serving') return {kind: 'here', epoch: held.epoch};
        if (held === undefined && !signal.aborted) {
          const outcome = await this.#take(id, found, {owner, above, signal});
          if (outcome.kind === 'above') above = outcome.epoch;
          else if (outcome.kind !== 'again') return outcome;
        }
      } catch (error) {
        if (error instanceof LogError) return {kind: 'damaged', sentence: error.message};
        if (!(error instanceof EngineError)) throw error;
      }
      await delay(clock, OWNER_RETRY_MS);
    }
    return {kind: 'abandoned'};
  }

  /** Null: this host takes it. `host` is null: there is none that can open it. */
  async #otherHost(
    id: string,
    {record}: FoundTenant,
    {owner, isForwarded, signal}: {owner: Owner; isForwarded: boolean; signal: AbortSignal},
  ): Promise<{host: string | null} | null> {
    const {members} = this.#parts;
    const {owner: other} = record;
    // An earlier membership of this host has ended before the present one began.
    if (other !== null && other.host !== owner.host) {
      const outcome = await members.outcomeOf(other.host, other.incarnation, signal);
      if (outcome === 'alive') return {host: other.host};
    }
    const canOpen = (record.storage ?? 0) <= NEWEST_STORAGE_VERSION;
    if (canOpen && (isForwarded || isSameOwner(other, owner))) return null;
    const chosen = placementOf(placedTenant(id, record), placedHosts(members.serving()), 0).owner;
    return chosen === owner.host ? null : {host: chosen};
  }

  async #take(
    id: string,
    found: FoundTenant,
    {owner, above, signal}: {owner: Owner; above: number; signal: AbortSignal},
  ): Promise<Located | {kind: 'again'} | {kind: 'above'; epoch: number}> {
    const {replicated, members, clock, holderOf} = this.#parts;
    const claimed = await claim(replicated.records, id, found, {owner, above, opens: true, signal});
    if (claimed.kind === 'conflict') return {kind: 'again'};
    if (claimed.kind !== 'claimed') return claimed;
    if (this.#held.has(id) || signal.aborted) return {kind: 'again'};
    const tenant = {id, generation: found.record.generation};
    const log = replicated.tenant(tenant);
    const life = new AbortController();
    const held: Held = {owner, epoch: claimed.epoch, log, holder: holderOf(tenant), life, state: 'opening'};
    this.#held.set(id, held);
    const untilEnd = AbortSignal.any([signal, life.signal]);
    const ownerEnds = formerOwnerEnds({log, members, clock, self: owner, signal: untilEnd});
    const isReadOnly = found.record.paused === 'reads';
    const {epoch} = held;
    const grant: Grant = {tenant, log, epoch, note: noteOfOwner(owner), isReadOnly, ownerEnds, signal: untilEnd};
    const outcome = await this.#opened(id, held, grant);
    if (outcome.kind === 'opened' && held.state === 'opening') {
      held.state = 'serving';
      this.#closings.get(id)?.abort();
      const before = found.record.owner;
      if (before !== null && before.host !== owner.host) this.#parts.count?.('takeover');
      this.#releaseMoved(id);
      return {kind: 'here', epoch: held.epoch};
    }
    await this.#end(id, held);
    if (outcome.kind === 'superseded') return {kind: 'above', epoch: outcome.epoch};
    return outcome.kind === 'opened' ? {kind: 'again'} : {kind: outcome.kind};
  }

  /** Until it is decided: the holder goes on from where it is. @throws LogError; the holder has ended */
  async #opened(id: string, held: Held, grant: Grant): Promise<OpenOutcome> {
    while (!grant.signal.aborted && held.state === 'opening') {
      try {
        return await held.holder.open(grant);
      } catch (error) {
        // A read that missed the newest records is not repeated for ever by an engine that answers.
        const isTemporary = error instanceof EngineError || (error instanceof LogError && error.code === 'behind');
        if (!isTemporary) {
          await this.#end(id, held);
          throw error;
        }
        await delay(this.#parts.clock, OWNER_RETRY_MS);
      }
    }
    return {kind: 'abandoned'};
  }

  #end(id: string, held: Held): Promise<void> {
    held.state = 'ending';
    held.life.abort();
    let ending = this.#ending.get(id);
    if (ending === undefined && this.#held.get(id) === held) {
      ending = held.holder.end().finally(() => {
        this.#held.delete(id);
        this.#ending.delete(id);
        void this.#closeBehind(id, held);
      });
      this.#ending.set(id, ending);
    }
    return ending ?? Promise.resolve();
  }

  /**
   * Appends the `close` of a holder that has ended without it, so that the next owner need not wait for the end of this
   * host's lease, which goes on. Only an append decides what the log has: a read can miss the newest records.
   */
  async #closeBehind(id: string, held: Held): Promise<void> {
    const closing = new AbortController();
    this.#closings.set(id, closing);
    try {
      await this.#close(id, held, AbortSignal.any([this.#membership.signal, closing.signal]));
    } finally {
      if (this.#closings.get(id) === closing) this.#closings.delete(id);
    }
  }

  async #close(id: string, {owner, epoch, log, holder}: Held, signal: AbortSignal): Promise<void> {
    const {clock, report} = this.#parts;
    const entry = {kind: 'close', epoch, body: sourceOf(Buffer.from(noteOfOwner(owner)))} as const;
    let after = holder.tail;
    while (!signal.aborted && after?.epoch === epoch && after.kind !== 'close') {
      try {
        const outcome = await log.append(after, entry, signal);
        const {kind} = outcome.kind === 'unknown' ? await outcome.decided : outcome;
        if (kind === 'committed') return;
        const tail = await log.tail();
        if (tail !== null && tail.n > after.n) after = tail;
        else if (kind === 'unknowable') return; // the log has lost it: the next open gets it back
      } catch (error) {
        if (error instanceof LogError) return report(`the tenant ${id}: ${error.message}`);
        if (!(error instanceof EngineError)) throw error;
      }
      await delay(clock, OWNER_RETRY_MS);
    }
  }
}
