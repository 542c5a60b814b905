/** Time for what waits: durations only, because clocks of hosts are never compared. Tests pass their own. */
export interface Timing {
  /** @returns what cancels it */
  after(ms: number, fire: () => void): () => void;
}

export const REAL_TIMING: Timing = {
  after: (ms, fire) => {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

export function delay(timing: Timing, ms: number): Promise<void> {
  return new Promise(resolve => {
    timing.after(ms, resolve);
  });
}
