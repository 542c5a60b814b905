/** The requests of routers about upgrades. Each is answered with the body of the route's response. */
export type UpgradeRequest = {action: 'upgrade_status'} | {action: 'upgrade_start'};
