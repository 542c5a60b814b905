/** Why a tenant is on no host at the moment, for clients. */
import {unreachable} from '../../shared/assert.ts';
import {type ErrorObject, PAUSED} from '../../shared/errors.ts';
import type {TenantLocation} from '../../shared/ipc/cluster.ts';
import type {Located} from '../ownership/host-tenants.ts';

export function nowhere(id: string, located: Exclude<Located, {kind: 'here' | 'there'}>): TenantLocation {
  const not = (message: string, isTemporary: boolean, code: ErrorObject['code'] = 'session.worker_unavailable') =>
    ({kind: 'nowhere', error: {code, message}, isTemporary}) as const;
  switch (located.kind) {
    case 'missing':
      return not(`there is no tenant ${JSON.stringify(id)}`, false, 'session.tenant_not_found');
    case 'paused':
      return {kind: 'nowhere', error: PAUSED, isTemporary: false};
    case 'full':
      return not("the cluster's log is full: free space in it and try again", false, 'session.storage_full');
    case 'damaged':
      return not(`the log of tenant ${id} cannot be continued: ${located.sentence}`, false, 'op.storage_damaged');
    case 'too_new':
      return not('a host of a later release had the tenant, and none of those serves now', true);
    case 'apart':
      return not('this host is no member of the cluster at the moment; try again', true);
    case 'abandoned':
      return not('the tenant could not be opened on this host; try again', true);
    default:
      return unreachable(located);
  }
}
