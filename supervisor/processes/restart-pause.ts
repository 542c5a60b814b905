/** The pause before the supervisor restarts a process that serves all tenants; none after the first crash. */
const PAUSES_MS = [0, 100, 250, 500, 1_000, 2_500, 5_000];

/** @param deaths consecutive crashes before the latest one */
export function restartPauseMs(deaths: number): number {
  return PAUSES_MS[Math.min(deaths, PAUSES_MS.length - 1)]!;
}
