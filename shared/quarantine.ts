/**
 * Attributes crashes to calls and refuses calls that keep crashing: the supervisor has one for its workers, the worker
 * one for the processes of its isolates. No limit of V8 catches everything that user code can do to a process, so a
 * crash is attributed to the calls in flight. The same call is refused after a few crashes, and in the end its whole
 * function; meanwhile the tenant's other requests continue.
 *
 *   unknown ──under way at a death──▶ suspected ──enough points──▶ refused ──time is up──▶ suspected, one death short of it
 *      ▲                                 │  ▲                                                  │
 *      └──answered | SUSPICION_MS ───────┘  └──────────────────────────────────────────────────┘
 *
 * - A call (a function with its arguments) that was alone at a crash gets more points than one of several. A call that
 *   is answered is innocent, because a call that crashes its worker is never answered. So only calls that were in
 *   flight at each of several crashes, and never answered in between, are refused.
 * - A function gets a point for each crash at which all calls in flight were its own. Answers do not clear it, because
 *   it can be deadly with some arguments and harmless with most; it takes many crashes instead.
 * - Each further refusal lasts twice as long as the previous one.
 *
 * For workers, routers know the suspected calls, refuse them (router/tenants/suspects.ts) and report their answers.
 * Crashes that are attributed to calls do not count towards the tenant's cool-down, up to ATTRIBUTED_CRASHES_MAX within
 * SUSPICION_MS.
 */
import {backOffMs} from './back-off.ts';
import {shownFunction} from './function-name.ts';
import type {TenantSuspects, UserCall} from './ipc/control.ts';
import {
  ATTRIBUTED_CRASHES_MAX,
  FUNCTION_CRASHES_MAX,
  QUARANTINE_MS_MAX,
  QUARANTINE_MS_MIN,
  SUSPECTS_MAX,
  SUSPICION_MS,
} from './limits.ts';

/** Points for a crash at which the call was the only one in flight, and for one that it shared. */
const POINTS_ALONE = 3;
const POINTS_SHARED = 2;
/** Two crashes alone, or three shared ones. */
const CALL_POINTS_MAX = 6;

type Suspect = {name: string; points: number; refusals: number; lastMs: number; untilMs: number};

export type Refusal = {what: 'call' | 'function'; name: string; seconds: number};

export class Quarantine {
  readonly #calls = new Map<string, Suspect>();
  readonly #functions = new Map<string, Suspect>();
  /** Times of the crashes that were attributed to calls. */
  #crashesMs: number[] = [];

  /** True if nothing is suspected any more. */
  isEmpty(nowMs: number): boolean {
    forgetOld(this.#calls, nowMs);
    forgetOld(this.#functions, nowMs);
    return this.#calls.size === 0 && this.#functions.size === 0;
  }

  /** The part that routers need: suspected calls, because their answers matter, and refused functions. */
  suspects(nowMs: number): Omit<TenantSuspects, 'tenant'> {
    const calls = [...this.#calls].map(([key, {untilMs}]) => ({key, refusedMs: Math.max(0, untilMs - nowMs)}));
    const functions = [...this.#functions].map(([name, {untilMs}]) => ({name, refusedMs: untilMs - nowMs}));
    return {calls, functions: functions.filter(({refusedMs}) => refusedMs > 0)};
  }

  /** How much longer the call or its function is refused; 0: it is not. */
  refusedMs({name, key}: UserCall, nowMs: number): number {
    const untilMs = Math.max(this.#calls.get(key)?.untilMs ?? 0, this.#functions.get(name)?.untilMs ?? 0);
    return Math.max(0, untilMs - nowMs);
  }

  /** A call was answered. */
  answered(key: string): void {
    this.#calls.delete(key);
  }

  /**
   * The worker crashed with these calls in flight.
   * @returns whether the crash is attributed to them and not to the tenant, and what is refused from now on
   */
  died(underWay: readonly UserCall[], nowMs: number): {isAttributed: boolean; refused: Refusal[]} {
    const calls = new Map(underWay.map(call => [call.key, call]));
    if (calls.size === 0) return {isAttributed: false, refused: []};
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
      if (blame(suspect, 1, FUNCTION_CRASHES_MAX, nowMs)) refused.push(refusal('function', suspect, nowMs));
    }
    this.#crashesMs = this.#crashesMs.filter(ms => ms > nowMs - SUSPICION_MS);
    const isAttributed = this.#crashesMs.length < ATTRIBUTED_CRASHES_MAX;
    if (isAttributed) this.#crashesMs.push(nowMs);
    return {isAttributed, refused};
  }
}

/** The newest are at the end of the map; beyond its limit the oldest is dropped. */
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
