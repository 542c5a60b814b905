/** The routes of backups, which the supervisor answers. */
import {ServiceError} from '../../shared/errors.ts';
import {BACKUP_PAGE_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS} from '../../shared/operations.ts';
import {numberIn} from '../auth/audited.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';

const LIMIT_DEFAULT = 50;

/** GET /api/backup → 200. @throws op.invalid_input 400 */
export async function showBackups(control: ControlChannel, exchange: Exchange, query: string): Promise<void> {
  const parameters = new URLSearchParams(query);
  const limit = numberIn(parameters, 'limit') ?? LIMIT_DEFAULT;
  if (limit < 1) throw new ServiceError('op.invalid_input', 'limit must be 1 at least');
  const page = {limit: Math.min(limit, BACKUP_PAGE_MAX), cursor: parameters.get('cursor')};
  const status = await control.backups({action: 'backup_status', ...page});
  exchange.reply(ROUTER_OPERATIONS['backup.status'].success, JSON.stringify(status));
}
