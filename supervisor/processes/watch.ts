/**
 * Decides whether a silent child hangs or is only starved of CPU time: a pure step function, called per tick. The
 * clock, /proc and the signal are in `child.ts`.
 *
 *   heard ──a tick without a message──▶ silent ──its own time is used up──▶ hung   (killed, as soon as the kills' pace allows)
 *     ▲                                   │  └──silent for SILENCE_MS_MAX, whatever it did──▶ hung
 *     └─────────────a message─────────────┘
 *
 * The decision is based on the child's own time: time in which it could have answered and did not.
 *
 *   its main thread…                               time that counts
 *   is stopped by a signal                         the whole tick: it will never answer
 *   sleeps, and so do all its threads              the whole tick: nothing works on what it waits for
 *   sleeps, and another of its threads works       the CPU time that it used itself
 *   is runnable                                    the CPU time: a loop uses the whole tick, a starved process little
 *   waits for the disk, or a debugger holds it     the CPU time: little
 *
 * So an endless loop is detected after HEARTBEAT_TIMEOUT_MS on an idle machine, and after the same CPU time on a busy
 * one, and an overloaded machine becomes slower instead of killing work that it has begun. A starting child has more
 * time, because loading its code and opening a file block the event loop. If the system reports nothing, each silent
 * tick counts.
 */
import type {ProcessProbe} from './process-probe.ts';

export type Watch =
  | {state: 'heard'}
  /** `seen`: the previous reading, for comparison. */
  | {state: 'silent'; silentMs: number; ownMs: number; seen: ProcessProbe | null}
  | {state: 'hung'; silentMs: number; ownMs: number; seen: ProcessProbe | null};

export type Tick = {
  /** A message has arrived since the last tick. */
  heard: boolean;
  /** The state of a silent child; null: the system reports nothing. */
  probe: ProcessProbe | null;
  isStarting: boolean;
};

export type WatchLimits = {
  tickMs: number;
  /** Own time for which a serving and a starting child can be silent. */
  servingMs: number;
  startingMs: number;
  /** Silence after which a child is killed for any reason. */
  silenceMs: number;
};

export const HEARD: Watch = {state: 'heard'};

export function watch(before: Watch, {heard, probe, isStarting}: Tick, limits: WatchLimits): Watch {
  if (heard || probe?.doing === 'ended') return HEARD;
  const {silentMs: wasSilentMs, ownMs: wasOwnMs, seen} = before.state === 'heard' ? NOTHING : before;
  const silentMs = wasSilentMs + limits.tickMs;
  const ownMs = wasOwnMs + ownTimeMs(seen, probe, limits.tickMs);
  const isHung = ownMs >= (isStarting ? limits.startingMs : limits.servingMs) || silentMs >= limits.silenceMs;
  return {state: isHung ? 'hung' : 'silent', silentMs, ownMs, seen: probe};
}

const NOTHING = {silentMs: 0, ownMs: 0, seen: null};

/** The child's own time within one silent tick. */
function ownTimeMs(seen: ProcessProbe | null, probe: ProcessProbe | null, tickMs: number): number {
  if (probe === null) return tickMs;
  if (probe.doing === 'stopped' || (probe.doing === 'sleeping' && !probe.othersWork)) return tickMs;
  // The first reading of a silent child cannot be compared.
  return seen === null ? 0 : Math.min(tickMs, Math.max(0, probe.cpuMs - seen.cpuMs));
}
