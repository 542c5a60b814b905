/** A tenant with its log in memory, and hosts with real files: two that can own it and a standby, on one connection. */
import {afterEach} from 'vitest';
import type {TenantName} from '../../../cluster/log/subjects.ts';
import {type MemoryRig, memoryRig} from './memory-rig.ts';
import {ReplicatedHost} from './replicated-host.ts';
import {type Host, hostOf, newTenant} from './rig.ts';
import {StandbyHost} from './standby-host.ts';

export type Parts = {
  rig: MemoryRig;
  tenant: TenantName;
  connection: Host;
  owner: ReplicatedHost;
  other: ReplicatedHost;
  standby: StandbyHost;
};

const ended: {end(): Promise<void> | void}[] = [];
afterEach(async () => {
  for (const host of ended.splice(0)) await host.end();
});

/** @returns the host, which is ended with the test */
export function untilEnd<H extends ReplicatedHost | StandbyHost>(host: H): H {
  ended.push(host);
  return host;
}

export function scenario(work: (parts: Parts) => Promise<void>): () => Promise<void> {
  return async () => {
    const rig = memoryRig();
    await rig.run(async () => {
      const tenant = newTenant();
      const connection = await hostOf(rig);
      const [owner, other] = [0, 1].map(() => untilEnd(new ReplicatedHost(rig, connection, tenant))) as [
        ReplicatedHost,
        ReplicatedHost,
      ];
      const standby = untilEnd(new StandbyHost(rig, connection, tenant));
      await work({rig, tenant, connection, owner, other, standby});
    });
  };
}
