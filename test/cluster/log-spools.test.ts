/** Requests to copy everything now, which wait until the spools of all tenants have what their logs have. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {LogSpools} from '../../cluster/copies/log-spools.ts';
import type {Clock} from '../../cluster/members/clock.ts';
import {newTenant as entryOf} from '../../cluster/ownership/tenant-record.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {hostOf, newTenant, opened} from './harness/rig.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-log-spools-'));
});
afterEach(() => rmSync(directory, {recursive: true}));

test('a run ends with the reason when a log cannot be read, and outlasts an election', () => {
  const rig = memoryRig();
  return rig.run(async () => {
    const host = await hostOf(rig);
    const reports: string[] = [];
    const spools = new LogSpools({
      replicated: host.replicated,
      clock: rig.timing as Clock,
      directory: join(directory, 'spools'),
      copyBytesPerSecond: null,
      onSpooled: () => undefined,
      report: sentence => reports.push(sentence),
    });
    const tenant = newTenant();
    await opened(host.log(tenant), 1);
    spools.set(true, new Map([[tenant.id, entryOf(tenant.generation, 1)]]));
    let reads = 0;
    host.choose(request => (request === 'read' && ++reads < 2 ? 'lost' : 'none'));
    await spools.flush();
    host.choose(request => (request === 'read' ? 'lost' : 'none'));
    const why = `the log of ${tenant.id} cannot be copied to the repository`;
    for (let run = 0; run < 2; run++)
      await expect(spools.flush()).rejects.toMatchObject({
        code: 'session.worker_unavailable',
        message: expect.stringContaining(why),
      });
    expect(reports).toEqual([expect.stringContaining(why)]);
    // One that begins while a step fails waits for the next step.
    let later: Promise<void> | null = null;
    host.choose(request => {
      if (request !== 'read' || later !== null) return 'none';
      later = Promise.resolve().then(() => spools.flush());
      return 'lost';
    });
    await expect(spools.flush()).rejects.toMatchObject({message: expect.stringContaining(why)});
    await later;
    host.choose(() => 'none');
    await spools.flush();
    await spools.close();
  });
});
