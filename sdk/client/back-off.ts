/** How long is waited before something is tried again. */
import {CLIENT_BACK_OFF_MS_MAX} from '../../shared/client-limits.ts';

/**
 * @param failures in a row, before this one
 * @param random 0 to 1: clients that lost their connections together shall not come back together
 */
export function backOffMs(baseMs: number, failures: number, random: number): number {
  return Math.min(baseMs * 2 ** failures, CLIENT_BACK_OFF_MS_MAX) * (0.5 + random);
}
