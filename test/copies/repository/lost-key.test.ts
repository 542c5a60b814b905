/** The data key of a tenant, which the store has lost: its copies can be read again once it is put back. */
import {expect, test} from 'vitest';
import {check} from '../../../copies/repository/check.ts';
import {removeUnneeded} from '../../../copies/repository/expire.ts';
import {keyName} from '../../../copies/repository/object-names.ts';
import {Repository} from '../../../copies/repository/repository.ts';
import {RepositoryWriter} from '../../../copies/repository/repository-writer.ts';
import {made, SERVER_A, segment, writerOf} from './fixture.ts';

const YEAR_MS = 366 * 86_400_000;

test('it is reported, no new one takes its place, and nothing that it unseals is removed', async () => {
  const {store, key, repository} = await made();
  const first = await writerOf(repository);
  await first.addPack([segment('acme', 0, 1), segment('other', 0, 1)]);
  await first.writeManifest('acme');
  await first.writeManifest('other');
  await first.release();
  const name = keyName('acme');
  const lost = (await store.get(name))!;
  await store.remove([name]);

  const later = await Repository.open(store, key);
  expect((await check(later, {readData: true})).findings).toContainEqual(
    expect.objectContaining({object: name, tenant: 'acme'}),
  );
  const writer = await RepositoryWriter.open(later, SERVER_A);
  await expect(writer.addPack([segment('acme', 2, 2)])).rejects.toMatchObject({code: 'damaged', object: name});
  expect(await removeUnneeded(writer, {nowMs: Date.now() + YEAR_MS})).toMatchObject({objects: 0});
  await writer.release();

  await store.put(name, lost);
  const whole = await Repository.open(store, key);
  expect((await check(whole, {readData: true})).findings).toEqual([]);
  expect(await whole.newest('acme')).toMatchObject({commit: 1});
});
