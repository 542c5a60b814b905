/**
 * Does a child that says nothing hang, or is it only not let run? A pure step a tick; the clock, /proc and the signal are in
 * `child.ts`.
 *
 *   heard ──a tick without a message──▶ silent ──its own time is used up──▶ hung   (killed, as soon as the kills' pace allows)
 *     ▲                                   │  └──silent for SILENCE_MS_MAX, whatever it did──▶ hung
 *     └─────────────a message─────────────┘
 *
 * What counts is the child's own time: time in which it could have answered and did not.
 *
 *   its main thread…                                  counts
 *   is stopped by a signal                            all of the tick: nothing of it will ever come
 *   sleeps, and so do all its threads                 all of the tick: it waits for what nobody does
 *   sleeps, and another of its threads works          what CPU time it used itself
 *   is runnable                                       what CPU time it used: a loop uses all of it, a starved process little
 *   waits for the disk, or a debugger holds it        what CPU time it used: little
 *
 * So a loop without end is found in HEARTBEAT_TIMEOUT_MS on an idle machine and in as much CPU time on a busy one, and a
 * machine with too much to do becomes slower instead of ending what it has begun. A starting child has more time: loading
 * its code and opening a file are work in one piece. Where the system tells nothing, each silent tick counts.
 */
import type {ProcessLook} from './process-look.ts';

export type Watch =
  | {state: 'heard'}
  /** `seen`: the last look, to tell what happened since. */
  | {state: 'silent'; silentMs: number; ownMs: number; seen: ProcessLook | null}
  | {state: 'hung'; silentMs: number; ownMs: number; seen: ProcessLook | null};

export type Tick = {
  /** A message came since the last tick. */
  heard: boolean;
  /** Of a child that was not heard; null: the system tells nothing. */
  look: ProcessLook | null;
  isStarting: boolean;
};

export type WatchLimits = {
  tickMs: number;
  /** Own time that a serving and a starting child may be silent for. */
  servingMs: number;
  startingMs: number;
  /** Silence that no reason excuses. */
  silenceMs: number;
};

export const HEARD: Watch = {state: 'heard'};

export function watch(before: Watch, {heard, look, isStarting}: Tick, limits: WatchLimits): Watch {
  if (heard || look?.doing === 'ended') return HEARD;
  const {silentMs: wasSilentMs, ownMs: wasOwnMs, seen} = before.state === 'heard' ? NOTHING : before;
  const silentMs = wasSilentMs + limits.tickMs;
  const ownMs = wasOwnMs + ownTimeMs(seen, look, limits.tickMs);
  const isHung = ownMs >= (isStarting ? limits.startingMs : limits.servingMs) || silentMs >= limits.silenceMs;
  return {state: isHung ? 'hung' : 'silent', silentMs, ownMs, seen: look};
}

const NOTHING = {silentMs: 0, ownMs: 0, seen: null};

/** How much of one silent tick the child had for itself. */
function ownTimeMs(seen: ProcessLook | null, look: ProcessLook | null, tickMs: number): number {
  if (look === null) return tickMs;
  if (look.doing === 'stopped' || (look.doing === 'sleeping' && !look.othersWork)) return tickMs;
  // The first look at a silent child has nothing to compare with.
  return seen === null ? 0 : Math.min(tickMs, Math.max(0, look.cpuMs - seen.cpuMs));
}
