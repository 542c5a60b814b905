/** A URL names the store of a repository. */
import {readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {openStore} from '../../../copies/store/open-store.ts';
import {StoreUrlError} from '../../../copies/store/store-error.ts';
import {scratch} from './fixture.ts';

test('a path and a file URL name the same directory, and anything else is explained', async () => {
  const path = join(scratch(), 'a repository');
  const store = await openStore(path);
  await store.prepare();
  await store.put('a/b', Buffer.from('bytes'));
  const other = await openStore(store.url);
  expect(String(await other.get('a/b'))).toBe('bytes');
  expect(await other.list('', {most: 5})).toMatchObject([{name: 'a/b', bytes: 5}]);
  for (const url of ['', 'ftp://host/x', 'file://host/x']) await expect(openStore(url)).rejects.toThrow(StoreUrlError);
});

test('a disk that is not mounted is not filled in its mount point', async () => {
  const store = await openStore(join(scratch(), 'gone'));
  await expect(store.put('a', Buffer.alloc(1))).rejects.toMatchObject({code: 'unavailable'});
  expect(await store.get('a')).toBeNull();
});

test('what a writer that was killed has left is removed after its time, and never listed', async () => {
  const path = scratch();
  const store = await openStore(path);
  await store.put('packs/one', Buffer.from('bytes'));
  writeFileSync(join(path, 'packs/.new-0011223344556677'), 'half');
  await store.removeLeftovers!(Date.now() - 60_000);
  expect(readdirSync(join(path, 'packs'))).toHaveLength(2);
  expect(await store.list('packs/', {most: 5})).toHaveLength(1);
  await store.removeLeftovers!(Date.now() + 60_000);
  expect(readdirSync(join(path, 'packs'))).toEqual(['one']);
});
