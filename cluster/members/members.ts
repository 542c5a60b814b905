/**
 * Knows the other hosts, and finds out when one of them serves no more.
 *
 * Each host updates its entry every second. A host whose updates stop is expired: its entry is replaced by the revision
 * that was received last, so no update that is still on its way can be stored. Its lease counts from when it sent that
 * revision, which was before it was received here. So `LEASE_WAIT` times the lease after it was *received* the lease is
 * over, whatever the clocks of the two hosts show. An entry that arrives late makes the wait longer.
 *
 * While the log elects a leader, no host can update its entry, and the first one that can would expire the others. So a host
 * expires none while it cannot update its own entry, and not at once when it can again.
 *
 * An entry that this host has not received yet is found by the refusal of the replacement. The same is true for a host
 * without an entry: it is expired by creating one.
 */
import {assert} from '../../shared/assert.ts';
import {HOSTS_MAX, LEASE_MS, LEASE_WAIT, MEMBER_GRACE_MS, MEMBER_SILENT_MS, RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {SmallRecord, SmallRecords} from '../log/small-records.ts';
import {delay} from '../log/timing.ts';
import type {PlacedHost} from '../placement/placement.ts';
import {type Clock, MONOTONIC_CLOCK} from './clock.ts';
import {
  decodeMember,
  type EndedMember,
  encodeMember,
  isHostName,
  isServing,
  MEMBER_FORMAT,
  MEMBER_PREFIX,
  type MemberRecord,
  memberKey,
  type ServingMember,
} from './member-record.ts';

/** `alive`: it updates its entry. `ended`: it serves nothing, and will not under this incarnation. */
export type MemberOutcome = 'alive' | 'ended' | 'abandoned';

export type MembersOptions = {
  readonly records: SmallRecords;
  /** Default: that of this machine. */
  readonly clock?: Clock;
  /** Of all hosts of the cluster. Default: `LEASE_MS`. */
  readonly leaseMs?: number | undefined;
  /** Receives a sentence about each entry that cannot be read. Such a host gets no tenants. */
  readonly report?: (sentence: string) => void;
};

export type ServingHost = {readonly host: string; readonly record: ServingMember};

/** Those that can get tenants. */
export function placedHosts(serving: readonly ServingHost[]): PlacedHost[] {
  return serving.flatMap(({host: name, record}) => (record.state === 'live' ? [placedHost(name, record)] : []));
}

export function placedHost(name: string, {capacity, versions}: ServingMember): PlacedHost {
  return {name, capacity, storage: versions.storage};
}

type Seen = {
  /** Null: removed, unreadable, or not there. */
  readonly record: MemberRecord | null;
  /** 0: not there. */
  readonly revision: number;
  /** When the newest update of the host itself was received. */
  readonly heardAtMs: number;
  /** That update was received as it was made. False: it was there when the watch began, and can be of any age. */
  readonly isFresh: boolean;
};

/** Of a host that had no entry when it was expired. */
const NO_START = '0'.repeat(32);

export class Members {
  readonly #records: SmallRecords;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #report: (sentence: string) => void;
  readonly #seen = new Map<string, Seen>();
  readonly #waiting = new Set<() => void>();
  readonly #expiring = new Map<string, Promise<void>>();
  /** The newest update of this host itself, and the first one since when none was missing. Null: it makes none. */
  #own: {newestMs: number; sinceMs: number} | null = null;

  constructor({records, clock = MONOTONIC_CLOCK, leaseMs = LEASE_MS, report = () => {}}: MembersOptions) {
    this.#records = records;
    this.#clock = clock;
    this.#waitMs = LEASE_WAIT * leaseMs;
    this.#report = report;
  }

  /** Receives the entries of all hosts until the signal aborts. While the log does not answer, it tries again each second. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const {isListing, records} of this.#records.follow([MEMBER_PREFIX], signal)) {
          for (const [key, record] of records) {
            this.#observe(key.slice(MEMBER_PREFIX.length), record, {isFresh: !isListing, isNow: isListing});
          }
        }
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      if (!signal.aborted) await delay(this.#clock, RENEW_MS);
    }
  }

  /** This host has updated its entry. */
  ownStored(): void {
    const {nowMs} = this.#clock;
    const isNext = this.#own !== null && nowMs - this.#own.newestMs < MEMBER_SILENT_MS;
    this.#own = {newestMs: nowMs, sinceMs: isNext ? this.#own!.sinceMs : nowMs};
    this.#notify();
  }

  /** It updates its entry no more. */
  ownEnded(): void {
    this.#own = null;
  }

  /** Hosts that were heard within a lease and its wait, by name. Those that drain are among them. */
  serving(): ServingHost[] {
    const now = this.#clock.nowMs;
    return [...this.#seen]
      .flatMap(([host, {record, heardAtMs}]) =>
        record !== null && isServing(record) && now < heardAtMs + this.#waitMs ? [{host, record}] : [],
      )
      .sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  /** Every host that has an entry, by name. `silentMs`: since its newest update was received. */
  all(): {readonly host: string; readonly record: MemberRecord; readonly silentMs: number}[] {
    const now = this.#clock.nowMs;
    return [...this.#seen]
      .flatMap(([host, {record, heardAtMs}]) => (record === null ? [] : [{host, record, silentMs: now - heardAtMs}]))
      .sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  /**
   * Finds out whether an incarnation of a host has ended. One that is silent is awaited for the rest of its lease, and then
   * expired. `abandoned`: the signal was aborted.
   * @param silentMs a host that was heard so recently, or since, is alive
   */
  async outcomeOf(
    host: string,
    incarnation: number,
    signal: AbortSignal,
    silentMs = MEMBER_SILENT_MS,
  ): Promise<MemberOutcome> {
    assert(isHostName(host), 'the name of a host is checked where it is read');
    const sinceMs = this.#clock.nowMs - silentMs;
    while (!signal.aborted) {
      const seen = this.#seen.get(host) ?? this.#see(host, {record: null, revision: 0, isFresh: false});
      const {record, heardAtMs, isFresh} = seen;
      const isIt = record?.incarnation === incarnation;
      if (record !== null && record.incarnation > incarnation) return 'ended';
      if (isIt && record.state === 'left') return 'ended';
      if (isIt && isServing(record) && isFresh && heardAtMs > sinceMs) return 'alive';
      const waitMs = heardAtMs + this.#waitMs - this.#clock.nowMs;
      // The log names an incarnation that the entry does not have yet: it is received late, or the entry was lost.
      const isBehind = record !== null && record.incarnation < incarnation;
      if (waitMs > 0 && !isBehind) await this.#changed(waitMs, signal);
      else if (isIt && record.state === 'expired') return 'ended';
      else if (this.#graceMs() > 0) await this.#changed(this.#graceMs(), signal);
      else await this.#expireOnce(host, seen, incarnation, signal);
    }
    return 'abandoned';
  }

  /** For which the silence of others says nothing. */
  #graceMs(): number {
    if (this.#own === null) return 0;
    const {newestMs, sinceMs} = this.#own;
    const {nowMs} = this.#clock;
    return nowMs - newestMs < MEMBER_SILENT_MS ? sinceMs + MEMBER_GRACE_MS - nowMs : RENEW_MS;
  }

  /** Many tenants can wait for one host. */
  #expireOnce(host: string, seen: Seen, incarnation: number, signal: AbortSignal): Promise<void> {
    let expiring = this.#expiring.get(host);
    if (expiring === undefined) {
      expiring = this.#expire(host, seen, incarnation, signal).finally(() => this.#expiring.delete(host));
      this.#expiring.set(host, expiring);
    }
    return expiring;
  }

  async #expire(host: string, seen: Seen, incarnation: number, signal: AbortSignal): Promise<void> {
    const {record, revision} = seen;
    const expired: EndedMember = {
      format: MEMBER_FORMAT,
      state: 'expired',
      incarnation,
      start: record?.start ?? NO_START,
      counter: record?.counter ?? 1,
    };
    const outcome = await this.#records.set(memberKey(host), encodeMember(expired), revision, signal);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind === 'conflict') {
      const {now} = decision;
      this.#observe(host, now, {isFresh: now.revision > revision, isNow: true});
    }
    if (decision.kind === 'full') await this.#changed(RENEW_MS, signal);
    // It replaced what was heard at that time: no later update of the host is stored.
    else if (decision.kind === 'stored' && this.#seen.get(host) === seen) {
      this.#seen.set(host, {...seen, record: expired, revision: decision.revision});
    }
  }

  /** @param isNow it is so now, also if it had a later revision before: that is lost */
  #observe(host: string, {value, revision}: SmallRecord, {isFresh, isNow}: {isFresh: boolean; isNow: boolean}): void {
    const before = this.#seen.get(host);
    if (before !== undefined && (isNow ? revision === before.revision : revision <= before.revision)) return;
    if (before === undefined && this.#seen.size >= HOSTS_MAX) this.#forgetEnded();
    if (before === undefined && (this.#seen.size >= HOSTS_MAX || !isHostName(host))) {
      this.#report(`the entry of the host ${host} is ignored: its name is wrong, or there are over ${HOSTS_MAX}`);
      return;
    }
    const record = value === null ? null : this.#decoded(host, value);
    const isSameUpdate =
      before?.record?.incarnation === record?.incarnation && before?.record?.counter === record?.counter;
    if (before !== undefined && record !== null && isSameUpdate) this.#seen.set(host, {...before, record, revision});
    else this.#see(host, {record, revision, isFresh});
    this.#notify();
  }

  #notify(): void {
    for (const notify of [...this.#waiting]) notify();
  }

  /** A worker can name hosts that never existed: their entries must not keep out a new host. */
  #forgetEnded(): void {
    const ended = [...this.#seen].find(([, {record}]) => record !== null && !isServing(record));
    if (ended !== undefined) this.#seen.delete(ended[0]);
  }

  #see(host: string, update: Omit<Seen, 'heardAtMs'>): Seen {
    const seen = {...update, heardAtMs: this.#clock.nowMs};
    this.#seen.set(host, seen);
    return seen;
  }

  #decoded(host: string, value: Buffer): MemberRecord | null {
    try {
      return decodeMember(host, value);
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.#report(error.message);
      return null;
    }
  }

  /** Until an entry is received, so much time has passed, or the signal aborts. */
  #changed(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        cancel();
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#clock.after(ms, done);
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }
}
