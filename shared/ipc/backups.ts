/** The requests of routers about backups. Each is answered with the body of the route's response. */
export type BackupRequest =
  | {action: 'backup_status'; cursor: string | null; limit: number}
  | {action: 'backup_run'}
  /** `tenants`: this many at random; null: all. */
  | {action: 'backup_drill'; tenants: number | null}
  /** `before`: epoch milliseconds; null: the newest. */
  | {action: 'backup_points'; tenant: string; before: number | null};
