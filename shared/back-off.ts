/** How long to wait before something is tried again. */

/** More doublings than any pause has; the power stays a number. */
const DOUBLINGS_MAX = 30;

/** `baseMs` after the first failure, twice as long after each one that follows, `maxMs` at most. @param failures before the last one */
export function backOffMs(baseMs: number, maxMs: number, failures: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(failures, DOUBLINGS_MAX));
}
