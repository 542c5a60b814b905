/** Requests that a host of a cluster refuses: the other hosts would not know of what they do. docs/cluster.md lists them. */
import {conflict} from '../../shared/errors.ts';
import type {RouterMessage} from '../processes/router-process.ts';

const REPLACED = 'in a cluster a file cannot replace a tenant: make another tenant of it';
const UPGRADES = 'in a cluster each tenant is upgraded when its owner opens it: there is no run for all';

/** @throws op.conflict 409 */
export function refuseInCluster(message: RouterMessage & {type: 'request'}): void {
  switch (message.action) {
    case 'tenant_restore':
    case 'file_expected':
    case 'file_arrived':
      if (message.replace) throw conflict(REPLACED);
      return;
    case 'upgrade_start':
      throw conflict(UPGRADES);
    default:
  }
}
