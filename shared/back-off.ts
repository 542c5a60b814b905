/** How long to wait before a retry. */

/** More doublings than any pause needs; keeps the power a finite number. */
const DOUBLINGS_MAX = 30;

/**
 * `baseMs` after the first failure, doubled after each further one, capped at `maxMs`. @param failures before the last
 * one
 */
export function backOffMs(baseMs: number, maxMs: number, failures: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(failures, DOUBLINGS_MAX));
}
