/** What routers request of the supervisor, and who answers. */
import {conflict} from '../shared/errors.ts';
import type {PauseMode} from '../shared/protocol/tenant-status.ts';
import type {AuditLog} from './keys/audit-log.ts';
import type {Keys} from './keys/keys.ts';
import type {RefusalLog} from './keys/refusal-log.ts';
import type {Sessions} from './keys/sessions.ts';
import type {MetricsPage} from './metrics/metrics-page.ts';
import type {RouterMessage} from './processes/router-process.ts';
import type {Backups} from './server/backups.ts';
import type {Cluster} from './server/cluster.ts';
import {refuseInCluster} from './server/cluster-refusals.ts';
import type {ServerState} from './server/server-status.ts';
import type {Adoptions} from './tenants/adoptions.ts';
import type {Clones} from './tenants/clones.ts';
import type {TenantOverview} from './tenants/tenant-overview.ts';
import type {Tenants} from './tenants/tenants.ts';
import type {Upgrades} from './tenants/upgrades.ts';

export type RequestParts = {
  tenants: Tenants;
  adoptions: Adoptions;
  clones: Clones;
  backups: Backups;
  /** Null: the server is not part of a cluster. */
  cluster: Cluster | null;
  upgrades: Upgrades;
  overview: TenantOverview;
  state: ServerState;
  page: MetricsPage;
  audit: AuditLog;
  refusals: RefusalLog;
  sessions: Sessions;
  keys: Keys;
};

/** What actions make of the pause of a tenant. */
const PAUSES: ReadonlyMap<string, PauseMode | null> = new Map([
  ['pause', 'nothing'],
  ['pause_for_reads', 'reads'],
  ['resume', null],
]);

/** @param router that sent it. @returns its reply. @throws ServiceError */
export async function performRequest(
  parts: RequestParts,
  router: number,
  message: RouterMessage & {type: 'request'},
): Promise<unknown> {
  const {tenants, cluster, adoptions, clones, backups, upgrades, overview, state, page, audit, refusals} = parts;
  const {sessions, keys} = parts;
  if (cluster !== null) refuseInCluster(message);
  switch (message.action) {
    case 'tenant_create':
      await (cluster ?? tenants).create(message.tenant);
      return null;
    case 'tenant_delete':
      await (cluster ?? tenants).delete(message.tenant);
      return null;
    case 'metrics':
      return await page.render();
    case 'audit_intent':
      return audit.intent(message.audited);
    case 'audit_page':
      return (message.of === 'actions' ? audit : refusals).page(message.after, message.limit);
    case 'tenant_clone':
      await clones.clone(message);
      return await overview.perform({action: 'tenant_status', tenant: message.as});
    case 'file_expected':
    case 'file_dropped':
    case 'file_arrived':
      return await adoptions.perform(message, router);
    case 'backup_status':
    case 'backup_run':
    case 'tenant_restore':
    case 'backup_drill':
    case 'backup_points':
      return await backups.perform(message);
    case 'cluster_status':
    case 'cluster_members':
    case 'cluster_move':
    case 'cluster_pin':
    case 'cluster_drain':
      if (cluster === null) throw conflict('this server is no host of a cluster: start it with --cluster');
      return await cluster.perform(message);
    case 'upgrade_status':
    case 'upgrade_start':
      return await upgrades.perform(message);
    case 'server_status':
      return await state.status();
    case 'tenant_control': {
      const paused = PAUSES.get(message.does);
      if (cluster === null || paused === undefined) return await overview.perform(message);
      await cluster.pause(message.tenant, paused);
      return await overview.perform({action: 'tenant_status', tenant: message.tenant});
    }
    case 'tenants_overview':
    case 'figures':
    case 'tenant_status':
      return await overview.perform(message);
    case 'session_open':
    case 'session_list':
    case 'session_end':
    case 'code_make':
    case 'code_take':
      return await sessions.perform(message);
    case 'key_rotate':
    case 'key_revoke': {
      const answer = await keys.perform(message);
      await sessions.sweep();
      return answer;
    }
    default:
      return await keys.perform(message);
  }
}
