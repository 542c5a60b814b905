/** The requests of routers about backups. Each is answered with the body of the route's response. */
import type {RestoreTarget} from './copier.ts';

export type BackupRequest =
  | {action: 'backup_status'; cursor: string | null; limit: number}
  | {action: 'backup_run'}
  /** Makes the tenant `as` of it, paused for reads unless it is `live`. */
  | {action: 'tenant_restore'; tenant: string; target: RestoreTarget; as: string; replace: boolean; live: boolean}
  /** `tenants`: this many at random; null: all. */
  | {action: 'backup_drill'; tenants: number | null}
  /** `before`: epoch milliseconds; null: the newest. */
  | {action: 'backup_points'; tenant: string; before: number | null};
