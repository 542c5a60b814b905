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
import {hasWorker, type Input} from './lifecycle.ts';
import type {Place} from './place.ts';

type Decision = {place: Place; input: Input};

export class Slots {
  readonly #max: number;
  readonly #occupied = new Set<Place>();
  readonly #queue = new Set<Place>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Tenants that have a worker. */
  get occupied(): ReadonlySet<Place> {
    return this.#occupied;
  }

  /** Must be called whenever the state of a tenant changed. */
  follow(place: Place): void {
    if (hasWorker(place.lifecycle)) this.#occupied.add(place);
    else this.#occupied.delete(place);
    if (place.lifecycle.state === 'queued') this.#queue.add(place);
    else this.#queue.delete(place);
  }

  /** The next decision about the queue, or null. Each decision must be carried out before the next call. */
  decide(nowMs: number): Decision | null {
    if (this.#queue.size === 0) return null;
    if (this.#occupied.size < this.#max) {
      const place = this.#first(nowMs);
      return place === null ? null : {place, input: {type: 'admit'}};
    }
    let freeing = 0;
    for (const {lifecycle} of this.#occupied) {
      if (lifecycle.state === 'releasing' || lifecycle.state === 'closing' || lifecycle.state === 'deleting') freeing++;
    }
    if (freeing >= this.#queue.size) return null;
    const leastUsed = this.#leastRecentlyUsed(nowMs);
    if (leastUsed !== null) return {place: leastUsed, input: {type: 'let_go'}};
    const refused = this.#lastAsked(freeing);
    return refused === null ? null : {place: refused, input: {type: 'refuse', error: noSlotError(this.#max)}};
  }

  #first(nowMs: number): Place | null {
    let asked = 0;
    let silent = 0;
    for (const place of this.#occupied) {
      if (place.lifecycle.state !== 'waking') continue;
      if (!isAsked(place)) silent++;
      else if (nowMs - place.wakingSinceMs < WAKE_SLOW_MS) asked++;
    }
    let first: Place | null = null;
    for (const place of this.#queue) {
      if (isAsked(place)) return asked < WAKES_AT_ONCE_MAX ? place : null;
      first ??= place;
    }
    return silent < SILENT_WAKES_MAX ? first : null;
  }

  /**
   * Finds the worker to release. A tenant that just answered that it is busy is skipped for a while. A tenant that
   * wants to stay awake comes after all others, but is not exempt: work without requests must not keep out requests of
   * other tenants.
   */
  #leastRecentlyUsed(nowMs: number): Place | null {
    let least: Place | null = null;
    const isAskedFor = [...this.#queue].some(isAsked);
    for (const place of this.#occupied) {
      const {lifecycle} = place;
      if (lifecycle.state !== 'awake' || place.busyUntilMs > nowMs) continue;
      const isInUse = place.inUseUntilMs > nowMs || nowMs - place.lastActiveMs < RECENT_TRAFFIC_MS;
      const isItsTurn = isInUse && nowMs - lifecycle.sinceMs < IN_USE_TURN_MS;
      if (isItsTurn && !isAskedFor) continue;
      if (least === null || isUsedLess(place, least, nowMs)) least = place;
    }
    return least;
  }

  /** The latest tenant with waiting requests, if more wait than slots are becoming free. */
  #lastAsked(freeing: number): Place | null {
    let asked = 0;
    let last: Place | null = null;
    for (const place of this.#queue) {
      if (!isAsked(place)) continue;
      asked++;
      last = place;
    }
    return asked > freeing ? last : null;
  }
}

function isUsedLess(place: Place, than: Place, nowMs: number): boolean {
  const isInUse = place.inUseUntilMs > nowMs;
  if (isInUse !== than.inUseUntilMs > nowMs) return !isInUse;
  return place.lastActiveMs < than.lastActiveMs;
}

function isAsked({lifecycle}: Place): boolean {
  return (lifecycle.state === 'queued' || lifecycle.state === 'waking') && lifecycle.asked;
}

function noSlotError(max: number): ErrorObject {
  return {
    code: 'session.overloaded',
    message: `all ${max} workers (--max-awake) are in use; try again later`,
  };
}
