import {expect, test} from 'vitest';
import {PART_BYTES} from '../../cluster/limits.ts';
import {type BaseInfo, decodeBaseList} from '../../cluster/log/base-list.ts';
import type {LogPosition} from '../../cluster/log/record.ts';
import {tokenOf} from '../../cluster/log/subjects.ts';
import {delay} from '../../cluster/log/timing.ts';
import {sourceOf} from '../../engine/copies/bytes.ts';
import {rounds} from '../harness/nightly.ts';
import {committed, decided, rivals, SCENARIOS} from './harness/conformance.ts';
import {memoryRig} from './harness/memory-rig.ts';
import {commit, hostOf, newTenant, opened, SUBJECTS} from './harness/rig.ts';

const RIVAL_ROUNDS = rounds({commit: 2_000, nightly: 10_000});

test.each(Object.entries(SCENARIOS))('%s', async (_, scenario) => {
  const rig = memoryRig();
  await rig.run(() => scenario(rig));
});

test(`of six rivals with one expectation, one wins, in each of ${RIVAL_ROUNDS} rounds`, async () => {
  const rig = memoryRig();
  await rig.run(() => rivals(RIVAL_ROUNDS)(rig));
});

test('a writer of a base whose parts another host has removed ends, and the list has the other base', async () => {
  const rig = memoryRig();
  await rig.run(async () => {
    const [a, b] = [await hostOf(rig), await hostOf(rig)];
    const tenant = newTenant();
    const position = await opened(a.log(tenant), 1);
    const base = {position, openedBy: 'a', file: sourceOf(Buffer.alloc(3 * PART_BYTES))};
    let [sent, isStalled] = [0, true];
    a.choose(request => (request === 'publish' && ++sent > 3 && isStalled ? 'lost' : 'none'));
    const first = a.replicated.bases.put(tenant, base);
    while (sent <= 3) await delay(rig.timing, 10);
    const second = await b.replicated.bases.put(tenant, base);
    isStalled = false;
    expect(await first).toEqual({kind: 'superseded'});
    expect(await b.replicated.bases.list(tenant)).toEqual([(second as {base: BaseInfo}).base]);
  });
});

test('a base with fewer records than the newest one is not listed behind it, unless the log has lost its tail', async () => {
  const rig = memoryRig();
  await rig.run(async () => {
    const a = await hostOf(rig);
    const tenant = newTenant();
    const {bases} = a.replicated;
    const earlier = await opened(a.log(tenant), 1);
    const later = await committed(a.log(tenant).append(earlier, commit(1, 'later')));
    const at = (position: LogPosition) => bases.put(tenant, {position, openedBy: 'a', file: sourceOf(Buffer.alloc(8))});
    const newest = (await at(later)) as {base: BaseInfo};
    expect(await at(earlier)).toEqual({kind: 'superseded'});
    expect(await bases.list(tenant)).toEqual([newest.base]);
    expect((await at({...earlier, epoch: 2})).kind).toBe('stored');
  });
});

test('what expects a message that the servers have lost is decided, and not sent for ever', async () => {
  const rig = memoryRig();
  await rig.run(async () => {
    const a = await hostOf(rig);
    const [tenant, key] = [newTenant(), 'settings'];
    const position = await opened(a.log(tenant), 1);
    const lost = await committed(a.log(tenant).append(position, commit(1, 'lost')));
    rig.loseAfter(SUBJECTS.log(tenant).stream, position.sequence);
    expect((await decided(a.log(tenant).append(lost, commit(1, 'next')))).kind).toBe('unknowable');
    const {records} = a.replicated;
    const stored = async (value: string, revision: number) => {
      const outcome = await records.set(key, Buffer.from(value), revision);
      if (outcome.kind !== 'stored') throw new Error(outcome.kind);
      return outcome.revision;
    };
    const first = await stored('first', 0);
    const second = await stored('second', first);
    rig.loseAfter({kind: 'records'}, first);
    const now = {value: Buffer.from('first'), revision: first};
    expect(await records.set(key, Buffer.from('third'), second)).toEqual({kind: 'conflict', now});
    rig.loseAfter({kind: 'records'}, 0);
    const none = {value: null, revision: 0};
    expect(await records.set(key, Buffer.from('third'), first)).toEqual({kind: 'conflict', now: none});
  });
});

test('the list of bases does not grow while there is no space for another one', async () => {
  const rig = memoryRig();
  await rig.run(async () => {
    const {replicated, log} = await hostOf(rig);
    const tenant = newTenant();
    const position = await opened(log(tenant), 1);
    const base = {position, openedBy: 'a', file: sourceOf(Buffer.alloc(3 * PART_BYTES))};
    await rig.setSpace(tenant, 2 * PART_BYTES);
    for (let attempt = 0; attempt < 5; attempt++)
      expect(await replicated.bases.put(tenant, base)).toEqual({kind: 'full'});
    const list = await replicated.records.get(`base.${tokenOf(tenant)}`);
    expect(decodeBaseList(list!.value!).garbage.length).toBe(1);
    await rig.setSpace(tenant, 4 * PART_BYTES);
    expect((await replicated.bases.put(tenant, base)).kind).toBe('stored');
  });
});
