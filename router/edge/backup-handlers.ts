/** The routes of backups, which the supervisor answers. */
import {ServiceError} from '../../shared/errors.ts';
import type {BackupRequest} from '../../shared/ipc/backups.ts';
import {BACKUP_PAGE_MAX} from '../../shared/limits.ts';
import {ROUTER_OPERATIONS, type RouterOperation} from '../../shared/operations.ts';
import {numberIn} from '../auth/audited.ts';
import type {ControlChannel} from '../control-channel.ts';
import type {Exchange} from '../http/exchange.ts';

export type BackupOperation = Extract<RouterOperation, `backup.${string}`>;

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

function requestOf(operation: BackupOperation, {tenantId: tenant}: Exchange, query: string): BackupRequest {
  const parameters = new URLSearchParams(query);
  switch (operation) {
    case 'backup.run':
      return {action: 'backup_run'};
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
