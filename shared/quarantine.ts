/**
 * Calls that ended a process of their tenant: the supervisor's is of its workers, the worker's of the processes of its
 * isolates. No limit of V8 catches everything user code can do to a process, so a death is held against the calls that were under way: the same call is refused after a few deaths, and in the end its whole function, and
 * meanwhile the tenant's other requests go on.
 *
 *   unknown ──under way at a death──▶ suspected ──enough points──▶ refused ──time is up──▶ suspected, one death short of it
 *      ▲                                 │  ▲                                                  │
 *      └──answered | SUSPICION_MS ───────┘  └──────────────────────────────────────────────────┘
 *
 * - A call (a function with its arguments) that was alone in a death gets more points than one that shared it. One that is
 *   answered is innocent: whatever ends a worker is never answered, so only calls that were under way in each of several
 *   deaths, and never answered between them, are refused.
 * - A function gets a point for each death in which all calls under way were its own. Answers do not clear it, because it
 *   may be deadly with some arguments and harmless with most; it takes many deaths instead.
 * - Each refusal of the same lasts twice as long as the one before.
 *
 * Of workers routers know what is suspected, and refuse (router/tenants/suspects.ts); answers are told from there. Deaths that are held against calls do not count towards the tenant's rest, up to HELD_DEATHS_MAX within SUSPICION_MS.
 */
import {backOffMs} from './back-off.ts';
import {shownFunction} from './function-name.ts';
import type {TenantSuspects, UserCall} from './ipc/control.ts';
import {
  FUNCTION_DEATHS_MAX,
  HELD_DEATHS_MAX,
  QUARANTINE_MS_MAX,
  QUARANTINE_MS_MIN,
  SUSPECTS_MAX,
  SUSPICION_MS,
} from './limits.ts';

/** Points of a call for a death in which it was the only one under way, and for one that it shared. */
const POINTS_ALONE = 3;
const POINTS_SHARED = 2;
/** Two deaths alone, or three shared ones. */
const CALL_POINTS_MAX = 6;

type Suspect = {name: string; points: number; refusals: number; lastMs: number; untilMs: number};

export type Refusal = {what: 'call' | 'function'; name: string; seconds: number};

export class Quarantine {
  readonly #calls = new Map<string, Suspect>();
  readonly #functions = new Map<string, Suspect>();
  /** When deaths were held against calls. */
  #deathsMs: number[] = [];

  /** Nothing is suspected any more. */
  isEmpty(nowMs: number): boolean {
    forgetOld(this.#calls, nowMs);
    forgetOld(this.#functions, nowMs);
    return this.#calls.size === 0 && this.#functions.size === 0;
  }

  /** What routers have to know: calls that are suspected, because their answers matter, and functions that are refused. */
  suspects(nowMs: number): Omit<TenantSuspects, 'tenant'> {
    const calls = [...this.#calls].map(([key, {untilMs}]) => ({key, refusedMs: Math.max(0, untilMs - nowMs)}));
    const functions = [...this.#functions].map(([name, {untilMs}]) => ({name, refusedMs: untilMs - nowMs}));
    return {calls, functions: functions.filter(({refusedMs}) => refusedMs > 0)};
  }

  /** How much longer it is refused, itself or its function; 0: it is not. */
  refusedMs({name, key}: UserCall, nowMs: number): number {
    const untilMs = Math.max(this.#calls.get(key)?.untilMs ?? 0, this.#functions.get(name)?.untilMs ?? 0);
    return Math.max(0, untilMs - nowMs);
  }

  /** A call was answered. */
  answered(key: string): void {
    this.#calls.delete(key);
  }

  /**
   * The worker ended with these calls under way.
   * @returns whether the death is held against them and not against the tenant, and what is refused from now on
   */
  died(underWay: readonly UserCall[], nowMs: number): {isHeld: boolean; refused: Refusal[]} {
    const calls = new Map(underWay.map(call => [call.key, call]));
    if (calls.size === 0) return {isHeld: false, refused: []};
    this.isEmpty(nowMs);
    const refused: Refusal[] = [];
    const points = calls.size === 1 ? POINTS_ALONE : POINTS_SHARED;
    for (const [key, {name}] of calls) {
      const suspect = suspectIn(this.#calls, key, name);
      if (blame(suspect, points, CALL_POINTS_MAX, nowMs)) refused.push(refusal('call', suspect, nowMs));
    }
    const names = new Set(underWay.map(call => call.name));
    if (names.size === 1) {
      const [name = ''] = names;
      const suspect = suspectIn(this.#functions, name, name);
      if (blame(suspect, 1, FUNCTION_DEATHS_MAX, nowMs)) refused.push(refusal('function', suspect, nowMs));
    }
    this.#deathsMs = this.#deathsMs.filter(ms => ms > nowMs - SUSPICION_MS);
    const isHeld = this.#deathsMs.length < HELD_DEATHS_MAX;
    if (isHeld) this.#deathsMs.push(nowMs);
    return {isHeld, refused};
  }
}

/** The newest are at the end of the map; beyond its bound the oldest leaves. */
function suspectIn(suspects: Map<string, Suspect>, key: string, name: string): Suspect {
  const suspect = suspects.get(key) ?? {name, points: 0, refusals: 0, lastMs: 0, untilMs: 0};
  suspects.delete(key);
  suspects.set(key, suspect);
  if (suspects.size > SUSPECTS_MAX) suspects.delete(suspects.keys().next().value!);
  return suspect;
}

/** @returns whether it is refused from now on */
function blame(suspect: Suspect, points: number, pointsMax: number, nowMs: number): boolean {
  suspect.points += points;
  suspect.lastMs = nowMs;
  if (suspect.points < pointsMax) return false;
  suspect.points = pointsMax - 1;
  suspect.untilMs = nowMs + backOffMs(QUARANTINE_MS_MIN, QUARANTINE_MS_MAX, suspect.refusals);
  suspect.refusals++;
  return true;
}

function forgetOld(suspects: Map<string, Suspect>, nowMs: number): void {
  for (const [key, {lastMs, untilMs}] of suspects) {
    if (Math.max(lastMs, untilMs) + SUSPICION_MS <= nowMs) suspects.delete(key);
  }
}

function refusal(what: Refusal['what'], {name, untilMs}: Suspect, nowMs: number): Refusal {
  return {what, name: shownFunction(name), seconds: Math.ceil((untilMs - nowMs) / 1_000)};
}
