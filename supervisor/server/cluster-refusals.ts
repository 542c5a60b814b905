/**
 * Requests that a host of a cluster refuses: they change or read files of tenants beside the log, so the other hosts would
 * not know of it, or they hold on this host alone. docs/cluster.md lists them.
 */
import {conflict} from '../../shared/errors.ts';
import type {RouterMessage} from '../processes/router-process.ts';

const COPIES_OF_FILES = 'in a cluster no tenant can be made of a file yet: make a tenant, and import its documents';
const PAUSES = 'in a cluster no tenant can be paused yet: other hosts would go on to serve it';

const REFUSED: Partial<Record<(RouterMessage & {type: 'request'})['action'], string>> = {
  tenant_clone: COPIES_OF_FILES,
  tenant_restore: COPIES_OF_FILES,
  file_expected: COPIES_OF_FILES,
  file_arrived: COPIES_OF_FILES,
  upgrade_start: 'in a cluster each tenant is upgraded when its owner opens it: there is no run for all',
};

/** @throws op.conflict 409 */
export function refuseInCluster(message: RouterMessage & {type: 'request'}): void {
  const isPause =
    message.action === 'tenant_control' && (message.does === 'pause' || message.does === 'pause_for_reads');
  const sentence = isPause ? PAUSES : REFUSED[message.action];
  if (sentence !== undefined) throw conflict(sentence);
}
