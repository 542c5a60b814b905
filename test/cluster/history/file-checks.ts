/**
 * Compares the files that killed hosts leave of a tenant, each brought to the tail of the log, with one that is made of the
 * newest base and the log. They have to be equal table by table.
 */
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {REAL_TIMING} from '../../../cluster/log/timing.ts';
import {findTenant} from '../../../cluster/ownership/claim.ts';
import {snapshotOf} from '../../copies/tenant-capture.ts';
import {ReplicatedHost} from '../harness/replicated-host.ts';
import {hostOf, type Rig} from '../harness/rig.ts';
import type {SvcHosts} from '../harness/svc-hosts.ts';

/** All hosts are killed. @returns one sentence for each file that differs */
export async function fileFindings(cluster: SvcHosts, id: string): Promise<string[]> {
  const rig: Rig = {
    timing: REAL_TIMING,
    connect: async () => (await cluster.nats.host()).engine,
    setSpace: async () => undefined,
    run: work => work(),
  };
  const host = await hostOf(rig);
  const {record} = (await findTenant(host.replicated.records, id))!;
  let {epoch} = record;
  const name = {id, generation: record.generation};
  const made = new ReplicatedHost(rig, host, name);
  try {
    await made.bring(++epoch);
    const expected = snapshotOf(made.path);
    const findings: string[] = [];
    for (const {name: place, service} of cluster.hosts) {
      const path = join(service.directoryOf(id)!, 'tenant.sqlite');
      if (!existsSync(path)) continue;
      const kept = new ReplicatedHost(rig, host, name, path);
      try {
        await kept.bring(++epoch);
        const found = snapshotOf(path);
        for (const [table, content] of Object.entries(expected.tables)) {
          if (found.tables[table] !== content)
            findings.push(`${table} has ${found.tables[table]} on ${place} and ${content} according to the log`);
        }
        if (found.timeline !== expected.timeline) findings.push(`the file on ${place} is of another timeline`);
      } catch (error) {
        findings.push(`the file on ${place} cannot be brought to the log: ${(error as Error).message}`);
      } finally {
        await kept.end();
      }
      findings.push(...kept.reports.map(report => `on ${place}: ${report}`));
    }
    return findings.map(finding => `${id}: ${finding}`);
  } finally {
    await made.end();
  }
}
