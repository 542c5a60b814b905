/**
 * Decides which tenants get a worker: at most `max` of them. Other tenants wait in a queue. If no slot is free, the
 * least recently used worker with nothing under way is released; if there is none, the wait is refused.
 *
 * Tenants that routers request go first, WAKES_AT_ONCE_MAX of them at a time: if all were opened at once, none would be
 * ready before all are. A tenant that takes longer than WAKE_SLOW_MS no longer counts, so slow ones delay no others.
 * All other tenants (after a start, when due, after a crash) are never refused, and only SILENT_WAKES_MAX of them open
 * at a time. Before a worker is released for one of those, a tenant that wants to stay awake or had recent traffic
 * keeps it for IN_USE_TURN_MS: if more tenants have services than there are slots, they take turns.
 */
import type {ErrorObject} from '../../shared/errors.ts';
import {IN_USE_TURN_MS, RECENT_TRAFFIC_MS, SILENT_WAKES_MAX, WAKE_SLOW_MS, WAKES_AT_ONCE_MAX} from '../limits.ts';
import {hasWorker, type Input} from './lifecycle-states.ts';
import type {TenantEntry} from './tenant-entry.ts';

type Decision = {entry: TenantEntry; input: Input};

export class Slots {
  readonly #max: number;
  readonly #occupied = new Set<TenantEntry>();
  /** Those of them whose process can be killed at any time: they count for no slot. */
  readonly #errands = new Set<TenantEntry>();
  readonly #queue = new Set<TenantEntry>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Tenants that have a worker. */
  get occupied(): ReadonlySet<TenantEntry> {
    return this.#occupied;
  }

  /** Must be called whenever the state of a tenant changed. */
  follow(entry: TenantEntry): void {
    if (hasWorker(entry.lifecycle)) this.#occupied.add(entry);
    else this.#occupied.delete(entry);
    if (entry.lifecycle.state === 'errand') this.#errands.add(entry);
    else this.#errands.delete(entry);
    if (entry.lifecycle.state === 'queued') this.#queue.add(entry);
    else this.#queue.delete(entry);
  }

  /** The next decision about the queue, or null. Each decision must be carried out before the next call. */
  decide(nowMs: number): Decision | null {
    if (this.#queue.size === 0) return null;
    if (this.#occupied.size - this.#errands.size < this.#max) {
      const entry = this.#first(nowMs);
      return entry === null ? null : {entry, input: {type: 'admit'}};
    }
    let freeing = 0;
    for (const {lifecycle} of this.#occupied) {
      if (lifecycle.state === 'releasing' || lifecycle.state === 'closing' || lifecycle.state === 'deleting') freeing++;
    }
    if (freeing >= this.#queue.size) return null;
    const leastUsed = this.#leastRecentlyUsed(nowMs);
    if (leastUsed !== null) return {entry: leastUsed, input: {type: 'let_go', forOther: true}};
    const refused = this.#lastRequested(freeing);
    return refused === null ? null : {entry: refused, input: {type: 'refuse', error: noSlotError(this.#max)}};
  }

  #first(nowMs: number): TenantEntry | null {
    let requested = 0;
    let silent = 0;
    for (const entry of this.#occupied) {
      if (entry.lifecycle.state !== 'waking') continue;
      if (!isRequested(entry)) silent++;
      else if (nowMs - entry.wakingSinceMs < WAKE_SLOW_MS) requested++;
    }
    let first: TenantEntry | null = null;
    for (const entry of this.#queue) {
      if (isRequested(entry)) return requested < WAKES_AT_ONCE_MAX ? entry : null;
      first ??= entry;
    }
    return silent < SILENT_WAKES_MAX ? first : null;
  }

  /**
   * Finds the worker to release. A tenant that just answered that it is busy is skipped for a while. A tenant that
   * wants to stay awake comes after all others, but is not exempt: work without requests must not keep out requests of
   * other tenants.
   */
  #leastRecentlyUsed(nowMs: number): TenantEntry | null {
    let least: TenantEntry | null = null;
    const isRequestedFor = [...this.#queue].some(isRequested);
    for (const entry of this.#occupied) {
      const {lifecycle} = entry;
      if (lifecycle.state !== 'awake' || entry.busyUntilMs > nowMs) continue;
      const isInUse = entry.inUseUntilMs > nowMs || nowMs - entry.lastActiveMs < RECENT_TRAFFIC_MS;
      const isItsTurn = isInUse && nowMs - lifecycle.sinceMs < IN_USE_TURN_MS;
      if (isItsTurn && !isRequestedFor) continue;
      if (least === null || isUsedLess(entry, least, nowMs)) least = entry;
    }
    return least;
  }

  /** The latest tenant with waiting requests, if more wait than slots are becoming free. */
  #lastRequested(freeing: number): TenantEntry | null {
    let requested = 0;
    let last: TenantEntry | null = null;
    for (const entry of this.#queue) {
      if (!isRequested(entry)) continue;
      requested++;
      last = entry;
    }
    return requested > freeing ? last : null;
  }
}

function isUsedLess(entry: TenantEntry, than: TenantEntry, nowMs: number): boolean {
  const isInUse = entry.inUseUntilMs > nowMs;
  if (isInUse !== than.inUseUntilMs > nowMs) return !isInUse;
  return entry.lastActiveMs < than.lastActiveMs;
}

function isRequested({lifecycle}: TenantEntry): boolean {
  return (lifecycle.state === 'queued' || lifecycle.state === 'waking') && lifecycle.requested;
}

function noSlotError(max: number): ErrorObject {
  return {
    code: 'session.overloaded',
    message: `all ${max} workers (--max-awake) are in use; try again later`,
  };
}
