/** What a host answers to others that are about to open a tenant, while it gives back what the tenant's log has lost. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {LostTails} from '../../cluster/host/lost-tails.ts';
import {FILE_ASK_MS} from '../../cluster/limits.ts';
import {delay} from '../../cluster/log/timing.ts';
import {encodePlace} from '../../cluster/owner/place.ts';
import type {FileState} from '../../cluster/standby/file-order.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {hostOf, newTenant, opened} from './harness/rig.ts';
import type {VirtualTime} from './harness/virtual-time.ts';

test('a host that reads a large file to give it back answers in time, so that the log is not opened without it', async () => {
  const rig = memoryRig();
  const time = rig.timing as VirtualTime;
  const scratch = mkdtempSync(join(tmpdir(), 'svc-lost-tails-'));
  await rig.run(async () => {
    const {log, replicated} = await hostOf(rig);
    const tenant = newTenant();
    const position = {...(await opened(log(tenant), 1)), kind: 'commit', n: 5} as const;
    const state: FileState = {place: encodePlace(position, 'b.1'), at: null, commit: 5, bytes: 1};
    let end = () => {};
    const read = new Promise<void>(resolve => {
      end = resolve;
    });
    let isRead = false;
    const lostTails = new LostTails({
      ...{replicated, clock: time, host: 'b', scratch, signal: new AbortController().signal},
      hosts: {askHost: async () => null},
      members: {all: () => []},
      inspect: async (_, {kind}) => {
        isRead ||= kind === 'write_newest';
        // Orders of one file are done one after the other.
        if (isRead) await read;
        return kind === 'find' ? state : null;
      },
      report: () => undefined,
    });
    const ofTenant = {tenant: tenant.id, generation: tenant.generation};
    const answer = (request: object) =>
      Promise.race([lostTails.answer({...request, ...ofTenant}), delay(time, FILE_ASK_MS).then(() => 'late')]);
    const giveBack = () => answer({does: 'give_back', others: []});
    const file = () => answer({does: 'file'});
    expect(await giveBack()).toEqual({is: 'working'});
    expect(await giveBack()).toEqual({is: 'working'});
    expect(await file()).toEqual({place: state.place, commit: 5});
    end();
    expect(await giveBack()).toEqual({is: 'failed'});
  });
  rmSync(scratch, {recursive: true});
});
