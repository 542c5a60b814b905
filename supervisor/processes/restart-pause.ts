/** How long the supervisor waits before it starts a process again that serves all tenants: at once after the first death. */
const PAUSES_MS = [0, 100, 250, 500, 1_000, 2_500, 5_000];

/** @param deaths in a row, before the last one */
export function restartPauseMs(deaths: number): number {
  return PAUSES_MS[Math.min(deaths, PAUSES_MS.length - 1)]!;
}
