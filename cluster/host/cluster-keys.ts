/**
 * The API keys of the cluster: one small record `key.<id>` for each, which every host receives by its watch. A revoked key
 * leaves an empty record, so its id is never valid again, and a key that has no record was never in the cluster.
 *
 * New keys and rotations take turns, because names are unique and quotas count all keys. The record `key-turn` has the
 * newest change.
 *
 *   turn ── complete the newest change, whose host may have ended ── receive all keys up to it ──▶ the supervisor decides
 *   put  ── replace the newest change by this one ── store the key ──▶ stored
 *             └─▶ again: another host was first
 *
 * A change is one of the cluster from when `key-turn` has it, whatever happens to its host. A revocation needs no turn.
 *
 * The watch receives this host's own entry as well, which is updated each second. What it has then received is everything
 * that was stored before that update, however far behind the server is that sends it.
 */
import {ServiceError} from '../../shared/errors.ts';
import type {ClusterToSupervisor, KeyChanged} from '../../shared/ipc/cluster.ts';
import type {KeyRecord} from '../../shared/ipc/keys.ts';
import {KEY_CHANGE_MS, NATS_SILENT_MS, RENEW_MS} from '../limits.ts';
import {EngineError} from '../log/log-engine.ts';
import {LogError} from '../log/log-error.ts';
import type {SetDecision, SmallRecord, SmallRecords} from '../log/small-records.ts';
import {delay} from '../log/timing.ts';
import type {Clock} from '../members/clock.ts';
import {memberKey} from '../members/member-record.ts';
import {decodeChange, decodeKey, encodeChange, encodeKey, type KeyChange} from './stored-key.ts';

const PREFIX = 'key.';
const TURN = 'key-turn';
/** Updates of the own entry that the watch has not received; beyond it the oldest is forgotten. */
const UPDATES_MAX = 64;

export type ClusterKeysParts = {
  readonly records: SmallRecords;
  readonly clock: Clock;
  readonly host: string;
  /** A key that was revoked is valid for so long at most on a host that does not receive it. */
  readonly leaseMs: number;
  /** `currentUntil` has moved. */
  readonly onCurrent: () => void;
  readonly send: (notice: Extract<ClusterToSupervisor, {type: 'key_is' | 'key_gone'}>) => void;
  /** Receives a sentence about each record that cannot be read. Such a key is not valid. */
  readonly report: (sentence: string) => void;
};

type Seen = {
  /** Revoked, or it cannot be read. */
  readonly isGone: boolean;
  readonly revision: number;
};

export class ClusterKeys {
  readonly #parts: ClusterKeysParts;
  readonly #seen = new Map<string, Seen>();
  /** The watch has received all keys that no later change has replaced, up to this revision. -1: it lists them. */
  #watchedTo = -1;
  readonly #waiting = new Set<() => void>();
  /** Stored updates of the own entry that the watch has not received, oldest first. */
  #updates: {readonly revision: number; readonly sentMs: number}[] = [];
  /** The newest revision of the own entry that the watch has received. */
  #ownRevision = 0;
  /** When the update was sent that the watch has received: the keys are those of then, or of later. */
  #currentMs = Number.NEGATIVE_INFINITY;
  #watch: {readonly end: AbortController; readonly beganMs: number} | null = null;

  constructor(parts: ClusterKeysParts) {
    this.#parts = parts;
  }

  /** Receives all keys until the signal aborts. While the log does not answer, it tries again each second. */
  async watch(signal: AbortSignal): Promise<void> {
    const {records, clock, host} = this.#parts;
    const own = memberKey(host);
    while (!signal.aborted) {
      const end = new AbortController();
      this.#watch = {end, beganMs: clock.nowMs};
      try {
        let listedTo = 0;
        const found = records.follow([PREFIX, own], AbortSignal.any([signal, end.signal]));
        for await (const {isListing, records: changed} of found) {
          for (const [key, record] of changed) {
            if (key.startsWith(PREFIX)) this.#observe(key.slice(PREFIX.length), record, isListing);
            listedTo = Math.max(listedTo, record.revision);
          }
          if (isListing) this.#notListed(changed);
          const ownNow = changed.get(own);
          if (ownNow !== undefined) this.#ownReceived(ownNow.revision);
          this.#received(listedTo);
        }
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      this.#watch = null;
      if (!signal.aborted) await delay(clock, RENEW_MS);
    }
  }

  /** An update of the host's own entry was stored. A watch that does not receive them begins again, by another server if it can. */
  ownStored(revision: number, sentMs: number): void {
    // Later revisions are of servers that have lost them.
    if (revision < this.#ownRevision) this.#ownRevision = 0;
    const earlier = this.#updates.filter(update => update.revision < revision);
    this.#updates = [...earlier, {revision, sentMs}].slice(-UPDATES_MAX);
    this.#countReceived();
    const [oldest] = this.#updates;
    if (oldest === undefined || this.#watch === null) return;
    if (this.#parts.clock.nowMs - Math.max(oldest.sentMs, this.#watch.beganMs) > NATS_SILENT_MS)
      this.#watch.end.abort();
  }

  /** Until when the keys are those of the cluster, or were within a lease. */
  currentUntil(leaseUntilMs: number): number {
    return Math.min(leaseUntilMs, this.#currentMs + this.#parts.leaseMs);
  }

  /** Resolves when the supervisor has received all keys that there were when the watch began, or the signal aborts. */
  async listed(signal: AbortSignal): Promise<void> {
    while (this.#watchedTo < 0 && !signal.aborted) await this.#changed(signal);
  }

  /** @returns a turn for `put`. The supervisor has received all keys when it resolves. @throws ServiceError, LogError, EngineError */
  async turn(signal: AbortSignal): Promise<number> {
    const {signal: within, end} = this.#bounded(signal);
    try {
      const newest = await this.#parts.records.get(TURN);
      const change = newest === null || newest.value === null ? null : decodeChange(newest.value);
      const revision = change === null ? 0 : await this.#complete(change, within);
      while (this.#watchedTo < revision) {
        if (within.aborted)
          throw new ServiceError('session.worker_unavailable', 'the log of the cluster does not answer; try again');
        await this.#changed(within);
      }
      return newest?.revision ?? 0;
    } finally {
      end();
    }
  }

  /**
   * A new key, or one with other secrets.
   * @returns `again`: another change had the turn. `removed`: the key was revoked. @throws ServiceError, EngineError
   */
  async put(key: KeyRecord, turn: number, signal: AbortSignal): Promise<KeyChanged> {
    const before = this.#seen.get(key.id);
    if (before?.isGone) return 'removed';
    const {signal: within, end} = this.#bounded(signal);
    try {
      const change = {key, revision: before?.revision ?? 0};
      const taken = this.#decided(await this.#set(TURN, encodeChange(change), turn, within));
      if (taken !== null) return 'again';
      await this.#complete(change, within);
      return this.#seen.get(key.id)?.isGone ? 'removed' : 'stored';
    } finally {
      end();
    }
  }

  /** A key of this host that the log has never had. One that it has stays as it is. @throws ServiceError, EngineError */
  async adopt(key: KeyRecord, signal: AbortSignal): Promise<void> {
    if (this.#seen.has(key.id)) return;
    const {signal: within, end} = this.#bounded(signal);
    try {
      await this.#complete({key, revision: 0}, within);
    } finally {
      end();
    }
  }

  /** @throws ServiceError, EngineError */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    const {signal: within, end} = this.#bounded(signal);
    try {
      for (let revision = this.#seen.get(id)?.revision ?? 0; !this.#seen.get(id)?.isGone; ) {
        const decision = await this.#set(PREFIX + id, null, revision, within);
        const now = this.#decided(decision);
        const removed = decision.kind === 'stored' ? {value: null, revision: decision.revision} : now!;
        this.#observe(id, removed, true);
        if (removed.value === null) return;
        revision = removed.revision;
      }
    } finally {
      end();
    }
  }

  /** Stores a key unless that was done before. @returns the revision of its record */
  async #complete({key, revision}: KeyChange, signal: AbortSignal): Promise<number> {
    const seen = this.#seen.get(key.id);
    if (seen !== undefined && seen.revision > revision) return seen.revision;
    const value = encodeKey(key);
    const decision = await this.#set(PREFIX + key.id, value, revision, signal);
    const now = this.#decided(decision) ?? {value, revision: (decision as {revision: number}).revision};
    this.#observe(key.id, now, true);
    return now.revision;
  }

  async #set(key: string, value: Buffer | null, revision: number, signal: AbortSignal): Promise<SetDecision> {
    const outcome = await this.#parts.records.set(key, value, revision, signal);
    return outcome.kind === 'unknown' ? await outcome.decided : outcome;
  }

  /** @returns the record that is there instead; null: it was stored. @throws ServiceError */
  #decided(decision: SetDecision): SmallRecord | null {
    switch (decision.kind) {
      case 'stored':
        return null;
      case 'conflict':
        return decision.now;
      case 'full':
        throw new ServiceError('session.storage_full', "the cluster's log is full: free space in it and try again");
      case 'abandoned':
        throw new ServiceError(
          'session.outcome_unknown',
          'the log of the cluster does not answer: the keys may have been changed',
        );
    }
  }

  /** @param isNow it is so now, also if it had a later revision before: that is lost */
  #observe(id: string, {value, revision}: SmallRecord, isNow: boolean): void {
    const seen = this.#seen.get(id);
    if (seen !== undefined && (isNow ? revision === seen.revision : revision <= seen.revision)) return;
    if (seen?.isGone && revision < seen.revision) {
      // It stays revoked here.
      this.#seen.set(id, {...seen, revision});
      return;
    }
    const key = value === null ? null : this.#decoded(id, value);
    this.#seen.set(id, {isGone: key === null, revision});
    this.#parts.send(key === null ? {type: 'key_gone', key: id} : {type: 'key_is', key});
  }

  /** Keys that the servers have lost stay as they are here, and their next change makes their records again. */
  #notListed(listed: ReadonlyMap<string, SmallRecord>): void {
    for (const [id, seen] of this.#seen) if (!listed.has(PREFIX + id)) this.#seen.set(id, {...seen, revision: 0});
  }

  #decoded(id: string, value: Buffer): KeyRecord | null {
    try {
      return decodeKey(id, value);
    } catch (error) {
      if (!(error instanceof LogError)) throw error;
      this.#parts.report(`${error.message}: it is not valid on this host`);
      return null;
    }
  }

  #ownReceived(revision: number): void {
    this.#ownRevision = Math.max(this.#ownRevision, revision);
    if (this.#countReceived()) this.#parts.onCurrent();
  }

  /** @returns whether the keys are newer than before */
  #countReceived(): boolean {
    const received = this.#updates.findLast(({revision}) => revision <= this.#ownRevision);
    if (received === undefined) return false;
    this.#updates = this.#updates.filter(({revision}) => revision > this.#ownRevision);
    this.#currentMs = Math.max(this.#currentMs, received.sentMs);
    return true;
  }

  #received(revision: number): void {
    this.#watchedTo = revision;
    for (const notify of [...this.#waiting]) notify();
  }

  /** Aborts after `KEY_CHANGE_MS`: a request has to be answered. */
  #bounded(signal: AbortSignal): {signal: AbortSignal; end: () => void} {
    const late = new AbortController();
    const cancel = this.#parts.clock.after(KEY_CHANGE_MS, () => late.abort());
    return {signal: AbortSignal.any([signal, late.signal]), end: cancel};
  }

  /** Until the watch has received something, or the signal aborts. */
  #changed(signal: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }
}
