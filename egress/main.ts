/**
 * The egress process: the only route to the network for code of tenants, and for what workers fetch from outside. It
 * holds the policies of all tenants that are awake, resolves names, connects and relays bytes without reading them.
 *
 *   waiting ──start──▶ serving ──channel to the supervisor closes──▶ exit at once
 *
 * When it dies, its connections break off. The supervisor starts another one and sends it the same grants.
 */
import {unreachable} from '../shared/assert.ts';
import type {EgressToSupervisor, SupervisorToEgress} from '../shared/ipc/egress.ts';
import {HEARTBEAT_INTERVAL_MS} from '../shared/limits.ts';
import {createLogger} from '../shared/log.ts';
import {ProxyEndpoints} from './proxy-endpoints.ts';

const log = createLogger({process: 'egress'});
const endpoints = new ProxyEndpoints({
  failed: ({tenant, socketPath}, error) =>
    log.error("a worker's way out cannot be opened; it is tried again", {tenant, path: socketPath, error}),
});

process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('disconnect', () => process.exit(0));
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    log.error('the egress process ends after an unexpected error', {error});
    process.exit(1);
  });
}
process.on('message', (message: SupervisorToEgress) => void received(message));
setInterval(() => send({type: 'heartbeat'}), HEARTBEAT_INTERVAL_MS);

async function received(message: SupervisorToEgress): Promise<void> {
  switch (message.type) {
    case 'start':
      await Promise.all(message.grants.map(grant => endpoints.grant(grant)));
      send({type: 'started'});
      return;
    case 'grant':
      await endpoints.grant(message.grant);
      send({type: 'granted', id: message.id});
      return;
    case 'revoke':
      await endpoints.revoke(message.socketPath);
      return;
    case 'metrics':
      send({type: 'metrics', id: message.id, report: endpoints.report()});
      return;
    default:
      unreachable(message);
  }
}

function send(message: EgressToSupervisor): void {
  // The callback receives the error if the channel is closing; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, () => undefined);
}
