/** The routes of backups, which the supervisor answers. */
import {invalid, ServiceError} from '../../shared/errors.ts';
import type {BackupRequest} from '../../shared/ipc/backups.ts';
import type {RestoreTarget} from '../../shared/ipc/copier.ts';
import {BACKUP_PAGE_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {numberIn} from '../auth/audited.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';
import {isSet, tenantToMake} from './file-handlers.ts';

export type BackupOperation = Extract<RouterOperation, `backup.${string}`> | 'tenants.restore';

const LIMIT_DEFAULT = 50;

/** @param query the query string. @throws op.invalid_input 400; the supervisor's ServiceError */
export async function answerBackups(
  control: ControlChannel,
  exchange: Exchange,
  operation: BackupOperation,
  query: string,
): Promise<void> {
  const answer = await control.backups(requestOf(operation, exchange, query));
  exchange.reply(ROUTER_OPERATIONS[operation].success, JSON.stringify(answer));
}

function requestOf(operation: BackupOperation, exchange: Exchange, query: string): BackupRequest {
  const {tenantId: tenant} = exchange;
  const parameters = new URLSearchParams(query);
  switch (operation) {
    case 'backup.run':
      return {action: 'backup_run'};
    case 'tenants.restore': {
      const as = tenantToMake(exchange, parameters.get('as') ?? tenant);
      const [replace, live] = [isSet(parameters, 'replace'), isSet(parameters, 'live')];
      return {action: 'tenant_restore', tenant, target: targetIn(parameters), as, replace, live};
    }
    case 'backup.drill': {
      const tenants = numberIn(parameters, 'tenants');
      if (tenants === 0) throw new ServiceError('op.invalid_input', 'tenants must be 1 at least, or absent for all');
      return {action: 'backup_drill', tenants};
    }
    case 'backup.points':
      return {action: 'backup_points', tenant, before: numberIn(parameters, 'before')};
    case 'backup.status': {
      const limit = numberIn(parameters, 'limit') ?? LIMIT_DEFAULT;
      if (limit < 1) throw new ServiceError('op.invalid_input', 'limit must be 1 at least');
      return {action: 'backup_status', limit: Math.min(limit, BACKUP_PAGE_MAX), cursor: parameters.get('cursor')};
    }
  }
}

/** @throws op.invalid_input 400 */
function targetIn(parameters: URLSearchParams): RestoreTarget {
  const [timeMs, sequence] = [numberIn(parameters, 'to_time'), numberIn(parameters, 'to_sequence')];
  if (timeMs !== null && sequence !== null) throw invalid('to_time and to_sequence exclude each other: send one');
  if (timeMs !== null) return {timeMs};
  return sequence === null ? 'newest' : {sequence};
}
