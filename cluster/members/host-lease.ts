/**
 * The lease of this host: the time until which its workers can answer reads. `renew` updates the host's entry each second,
 * by its revision, and each stored update gives a lease from when it was sent. An update that takes long, or whose answer
 * was lost, gives what is left of it.
 *
 *   absent ──join──▶ joined ──renew: its revision is another one──▶ expired ──all workers have ended──▶ join
 *                      │                                        └─▶ superseded: another svc has this host name
 *                      └──all workers have ended──leave──▶ absent
 *
 * The deadline reaches workers as an instant of the host's clock. Beyond it they answer no read, and nothing else without
 * a commit; it comes back if a later update is stored, because then no other host has expired this one.
 */
import {assert} from '../../shared/assert.ts';
import {LEASE_MS, RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {SetDecision, SmallRecord, SmallRecords} from '../log/small-records.ts';
import {delay} from '../log/timing.ts';
import {type Clock, MONOTONIC_CLOCK} from './clock.ts';
import {forgottenIncarnation} from './forgotten-incarnation.ts';
import {
  type AboutHost,
  decodeMember,
  encodeMember,
  isHostName,
  isServing,
  MEMBER_FORMAT,
  type MemberRecord,
  memberKey,
} from './member-record.ts';
import type {Members} from './members.ts';

export type HostLeaseOptions = {
  readonly records: SmallRecords;
  /** The one of `members`. Default: that of this machine. */
  readonly clock?: Clock;
  readonly members: Pick<Members, 'outcomeOf' | 'ownStored' | 'ownEnded'>;
  /** Lower-case letters, digits and dashes, up to 32. Unique in the cluster. */
  readonly host: string;
  /** A random id of this start of svc: 32 hexadecimal digits. */
  readonly start: string;
  readonly about: AboutHost;
  /** Of all hosts of the cluster. Default: `LEASE_MS`. */
  readonly leaseMs?: number | undefined;
  /** Between updates. Default: `RENEW_MS`. */
  readonly renewMs?: number | undefined;
  /** An update was stored. @param sentMs an instant of the clock */
  readonly onStored?: ((revision: number, sentMs: number) => void) | undefined;
  /** The deadline has moved: an instant of the clock, in milliseconds. */
  readonly onDeadline?: ((untilMs: number) => void) | undefined;
};

export type JoinOutcome =
  | {readonly kind: 'joined'; readonly incarnation: number}
  /** Another svc with this host name is running, or the entry is damaged. The sentence is for the operator. */
  | {readonly kind: 'refused'; readonly sentence: string}
  | {readonly kind: 'abandoned'};

/**
 * Why the updates ended. `expired`: another host has waited for the end of the lease, so all workers of this host must
 * end before it joins again. `superseded`: another svc has joined with this host name. `stopped`: the signal was aborted.
 */
export type LeaseEnd = 'expired' | 'superseded' | 'stopped';

export class HostLease {
  readonly host: string;
  readonly #options: HostLeaseOptions;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  #state: 'live' | 'draining' = 'live';
  #incarnation = 0;
  /** Of the newest membership. The entry has an earlier one if the servers have lost it. */
  #newest = 0;
  #counter = 0;
  #revision = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(options: HostLeaseOptions) {
    assert(isHostName(options.host), 'the name of a host is checked where it is given');
    this.#options = options;
    this.#clock = options.clock ?? MONOTONIC_CLOCK;
    this.host = options.host;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#renewMs = options.renewMs ?? RENEW_MS;
    assert(this.#renewMs < this.#leaseMs, 'a lease is renewed before it ends');
  }

  /** Of the present membership, from 1; 0 before the first one. */
  get incarnation(): number {
    return this.#incarnation;
  }

  /** An instant of the host's clock, in milliseconds. In the past: there is no lease. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** Compares with the clock as it is now. Call it after the request has arrived. */
  holds(): boolean {
    return this.#clock.nowMs < this.#untilMs;
  }

  /**
   * Becomes a member, under a new incarnation. No worker of this host runs. The entry of another start of svc is awaited
   * for its lease, unless it is known to have ended; if that start lives, the join is refused after a second or two.
   * @param previousStart whose end the lock on the data directory proves; null: there is none
   */
  async join(previousStart: string | null, signal: AbortSignal): Promise<JoinOutcome> {
    const {records, members, start} = this.#options;
    for (; !signal.aborted; await delay(this.#clock, this.#renewMs)) {
      try {
        let found = await records.get(memberKey(this.host));
        const before = found?.value ? decodeMember(this.host, found.value) : null;
        const isKnown = before?.start === start || before?.start === previousStart || before?.state === 'left';
        if (found !== null && !isKnown) {
          // It may run. An entry that was removed can have been that of a host with a lease.
          const last = before?.incarnation ?? Math.max(1, await forgottenIncarnation(records));
          const outcome = await members.outcomeOf(this.host, last, signal, 0);
          if (outcome === 'alive') return {kind: 'refused', sentence: this.#refusal(before)};
          if (outcome === 'abandoned') return {kind: 'abandoned'};
          found = await records.get(memberKey(this.host));
        }
        const record = found?.value ? decodeMember(this.host, found.value) : null;
        const hasEnded = isKnown ? record?.start === before?.start : record === null || !isServing(record);
        if (hasEnded && (await this.#begin(record, found?.revision ?? 0, signal))) {
          return {kind: 'joined', incarnation: this.#incarnation};
        }
      } catch (error) {
        if (error instanceof LogError) return {kind: 'refused', sentence: error.message};
        if (!(error instanceof EngineError)) throw error;
      }
    }
    return {kind: 'abandoned'};
  }

  /** Updates the entry until something ends that. */
  async renew(signal: AbortSignal): Promise<LeaseEnd> {
    assert(this.#incarnation > 0, 'a host joins before it renews its lease');
    while (!signal.aborted) {
      const sentMs = this.#clock.nowMs;
      this.#counter++;
      const decision = await this.#set(this.#record(this.#state), this.#revision, signal);
      if (decision.kind === 'stored') this.#stored(decision.revision, sentMs);
      else if (decision.kind === 'conflict') return this.#end(decision.now);
      const pauseMs = sentMs + this.#renewMs - this.#clock.nowMs;
      if (pauseMs > 0 && !signal.aborted) await delay(this.#clock, pauseMs);
    }
    return 'stopped';
  }

  /** The next updates report that the host gets no more tenants. */
  drain(): void {
    this.#state = 'draining';
  }

  /**
   * Reports that this host serves nothing, so that the others need not wait. All its workers have ended, and so has
   * `renew`. @returns whether it was stored; if not, the others wait for the end of the lease
   */
  async leave(signal: AbortSignal): Promise<boolean> {
    this.#ended();
    const {start} = this.#options;
    const left = {format: MEMBER_FORMAT, state: 'left', incarnation: this.#incarnation, start} as const;
    // An update that `renew` has abandoned can have been stored, so the revision can be another one.
    for (let revision = this.#revision; ; ) {
      const decision = await this.#set({...left, counter: ++this.#counter}, revision, signal);
      if (decision.kind !== 'conflict') return decision.kind === 'stored';
      const now = this.#decoded(decision.now);
      if (now?.start !== start || now.incarnation !== this.#incarnation || !isServing(now)) return false;
      revision = decision.now.revision;
    }
  }

  async #begin(record: MemberRecord | null, revision: number, signal: AbortSignal): Promise<boolean> {
    const sentMs = this.#clock.nowMs;
    this.#incarnation = Math.max(record?.incarnation ?? 0, this.#newest) + 1;
    this.#counter = 1;
    const decision = await this.#set(this.#record(this.#state), revision, signal);
    if (decision.kind !== 'stored') return false;
    this.#newest = this.#incarnation;
    this.#stored(decision.revision, sentMs);
    return true;
  }

  #stored(revision: number, sentMs: number): void {
    this.#revision = revision;
    this.#options.members.ownStored();
    this.#options.onStored?.(revision, sentMs);
    this.#setUntil(Math.max(this.#untilMs, sentMs + this.#leaseMs));
  }

  #end(now: SmallRecord): LeaseEnd {
    this.#ended();
    const record = this.#decoded(now);
    return record === null || record.start === this.#options.start ? 'expired' : 'superseded';
  }

  #ended(): void {
    this.#options.members.ownEnded();
    this.#setUntil(Number.NEGATIVE_INFINITY);
  }

  #setUntil(untilMs: number): void {
    this.#untilMs = untilMs;
    this.#options.onDeadline?.(untilMs);
  }

  #record(state: 'live' | 'draining'): MemberRecord {
    const {start, about} = this.#options;
    const {peer, capacity, versions} = about;
    const identity = {format: MEMBER_FORMAT, incarnation: this.#incarnation, start, counter: this.#counter} as const;
    return {...identity, state, peer, capacity, versions: {...versions}};
  }

  async #set(record: MemberRecord, revision: number, signal: AbortSignal): Promise<SetDecision> {
    const outcome = await this.#options.records.set(memberKey(this.host), encodeMember(record), revision, signal);
    return outcome.kind === 'unknown' ? await outcome.decided : outcome;
  }

  /** Null: it is not there, or cannot be read. */
  #decoded({value}: SmallRecord): MemberRecord | null {
    try {
      return value === null ? null : decodeMember(this.host, value);
    } catch (error) {
      if (error instanceof LogError) return null;
      throw error;
    }
  }

  #refusal(record: MemberRecord | null): string {
    const other = record === null ? '' : ` (incarnation ${record.incarnation})`;
    return `another svc runs with the host name ${this.host}${other}; give each host a name of its own`;
  }
}
