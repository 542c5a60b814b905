/** The routes of upgrades, which the supervisor answers. */
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';

/** GET and POST /api/upgrade → 200 */
export async function answerUpgrade(
  control: ControlChannel,
  exchange: Exchange,
  operation: 'upgrade.status' | 'upgrade.start',
): Promise<void> {
  const action = operation === 'upgrade.start' ? 'upgrade_start' : 'upgrade_status';
  exchange.reply(ROUTER_OPERATIONS[operation].success, JSON.stringify(await control.upgrades({action})));
}
