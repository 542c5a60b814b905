/** The log on three NATS servers. */

import type {LogEngine, StreamName} from '../../../cluster/log/log-engine.ts';
import {REAL_TIMING} from '../../../cluster/log/timing.ts';
import type {NatsServers} from './nats-servers.ts';
import {type Rig, TENANT_SHARD} from './rig.ts';

/** Where all tenants of tests are. */
export const LOG: StreamName = {kind: 'log', shard: TENANT_SHARD};

/** @param wrap makes a mutant of each connection */
export async function natsRig(
  servers: NatsServers,
  wrap: (engine: LogEngine) => LogEngine = engine => engine,
): Promise<Rig> {
  const {engine} = await servers.host();
  const replicas = servers.servers.length;
  for (const stream of [LOG, {kind: 'records'}, {kind: 'bases'}] as const) {
    await engine.prepare(stream, {replicas, isNew: true});
  }
  return {
    timing: REAL_TIMING,
    connect: async () => wrap((await servers.host()).engine),
    setSpace: async (_, bytesMax) => {
      const max = Number.isFinite(bytesMax) ? (await servers.bytesOf(LOG)) + bytesMax : -1;
      await servers.limit(LOG, max);
    },
    run: work => work(),
  };
}
