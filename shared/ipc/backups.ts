/** The requests of routers about backups. Each is answered with the body of the route's response. */
export type BackupRequest = {action: 'backup_status'; cursor: string | null; limit: number};
