/** The data key of a tenant that is damaged or lost is a fault of that tenant alone, until it is put back. */

import {join} from 'node:path';
import {expect, test} from 'vitest';
import {drillTenant} from '../../../copies/drill/drill.ts';
import {check} from '../../../copies/repository/check.ts';
import {compact} from '../../../copies/repository/compact.ts';
import {expire, removeUnneeded} from '../../../copies/repository/expire.ts';
import {keyName, PACKS} from '../../../copies/repository/object-names.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import type {DrilledFile} from '../../../shared/ipc/drill.ts';
import {made, SERVER_A, scratch, segment, writerOf} from './fixture.ts';

const YEAR_MS = 366 * 86_400_000;

/** Two tenants; the last pack was not followed by another, so a reader reads it back. */
async function stored() {
  const {store, key, repository} = await made();
  const first = await writerOf(repository);
  await first.addPack([segment('acme', 0, 1), segment('other', 0, 1)]);
  await first.writeManifest('acme');
  await first.writeManifest('other');
  await first.addPack([segment('acme', 2, 2), segment('other', 2, 2)]);
  await first.release();
  const name = keyName('acme');
  return {store, key, name, good: (await store.get(name))!};
}

test.each(['damaged', 'lost'])('a key that is %s is reported, and all other tenants go on', async how => {
  const {store, key, name, good} = await stored();
  await store.remove([name]);
  if (how === 'damaged') await store.put(name, good.subarray(0, 40));
  const fault = expect.objectContaining({code: 'damaged', object: name, tenant: 'acme'});

  const later = await Repository.open(store, key);
  expect((await check(later, {readData: true})).findings).toEqual([
    {object: name, tenant: 'acme', finding: expect.stringContaining(name)},
  ]);
  const writer = await RepositoryWriter.open(later, SERVER_A);
  expect(writer.faults.get('acme')).toEqual(fault);
  expect(writer.newest('other')).toMatchObject({commit: 2});
  // The pack is stored without it.
  await expect(writer.addPack([segment('acme', 3, 3), segment('other', 3, 3)])).rejects.toEqual(fault);
  await writer.writeManifest('other');
  expect(await later.newest('other')).toMatchObject({commit: 3});
  const options = {scratch: scratch(), policy: null, nowMs: Date.now()};
  expect(await compact(writer, 'other', options)).toMatchObject({merged: 2});
  const directory = join(scratch(), 'drill');
  const proof = await drillTenant({repository: later, tenant: 'other', directory, check: async () => SOUND});
  expect(proof).toMatchObject({passed: true, point: {commit: 3}});

  // A reader does not take the tenant for one that was never copied.
  await expect(later.copies('acme')).rejects.toEqual(fault);
  const failed = await drillTenant({repository: later, tenant: 'acme', directory, check: async () => SOUND});
  expect(failed).toMatchObject({passed: false, checks: [{findings: [expect.stringContaining(name)]}]});

  // No pack is removed: which of them the tenant needs cannot be known.
  const packs = await store.list(PACKS, {most: 100});
  await expect(removeUnneeded(writer, {nowMs: Date.now() + YEAR_MS})).resolves.toMatchObject({faults: [fault]});
  await expect(expire(writer, {...options, policy: {last: 1}})).resolves.toMatchObject({faults: [fault]});
  expect(await store.list(PACKS, {most: 100})).toEqual(packs);

  await store.put(name, good);
  await writer.retryFaults();
  expect([...writer.faults]).toEqual([]);
  expect(writer.newest('acme')).toMatchObject({commit: 2});
  await writer.addPack([segment('acme', 3, 3)]);
  await writer.writeManifest('acme');
  await writer.release();
  const whole = await Repository.open(store, key);
  expect((await check(whole, {readData: true})).findings).toEqual([]);
  expect(await whole.newest('acme')).toMatchObject({commit: 3});
});

const SOUND: DrilledFile = {checks: [], report: null, functions: 'not_started', query: null, functionFindings: []};
