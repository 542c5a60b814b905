/** When tenants have work again, as their entries say: notices of one tenant are stored in their order. */
import {expect, test} from 'vitest';
import {SmallRecords} from '../../cluster/log/small-records.ts';
import {findTenant} from '../../cluster/ownership/claim.ts';
import {TenantEntries} from '../../cluster/ownership/tenant-entries.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {hostOf, SUBJECTS} from './harness/rig.ts';

test('an earlier notice that NATS stores late does not replace a later one', async () => {
  const rig = memoryRig();
  await rig.run(async () => {
    const host = await hostOf(rig);
    const records = new SmallRecords(host.engine, rig.timing, SUBJECTS);
    const entries = new TenantEntries(records, new AbortController().signal);
    await entries.create('acme', 1);
    let isFirst = true;
    // Nothing of the first attempt arrives; the next one of the same change does.
    host.choose(request => {
      const isLost = request === 'publish' && isFirst;
      if (isLost) isFirst = false;
      return isLost ? 'lost' : 'none';
    });
    const outcomes = await Promise.all([
      entries.setDue('acme', null, () => true),
      entries.setDue('acme', 7, () => true),
    ]);
    expect(outcomes.map(({kind}) => kind)).toEqual(['stored', 'stored']);
    expect((await findTenant(records, 'acme'))?.record.dueMs).toBe(7);
    expect(await entries.setDue('acme', 9, () => false)).toMatchObject({kind: 'stored', record: {dueMs: 7}});
  });
});
