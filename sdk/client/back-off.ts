/** How long a client waits before it tries something again. */
import {backOffMs} from '../../shared/back-off.ts';
import {CLIENT_BACK_OFF_MS_MAX} from '../../shared/client-limits.ts';

/**
 * @param failures in a row, before this one
 * @param random 0 to 1: clients that lost their connections together shall not come back together
 */
export function clientBackOffMs(baseMs: number, failures: number, random: number): number {
  return backOffMs(baseMs, CLIENT_BACK_OFF_MS_MAX, failures) * (0.5 + random);
}
