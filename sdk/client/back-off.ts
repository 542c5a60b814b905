/** The delay of a client before it tries again, in milliseconds. */
import {backOffMs} from '../../shared/back-off.ts';
import {CLIENT_BACK_OFF_MS_MAX} from '../../shared/client-limits.ts';

/**
 * @param failures in a row, before this one
 * @param random 0 to 1: spreads out clients that lost their connections at the same time
 */
export function clientBackOffMs(baseMs: number, failures: number, random: number): number {
  return backOffMs(baseMs, CLIENT_BACK_OFF_MS_MAX, failures) * (0.5 + random);
}
