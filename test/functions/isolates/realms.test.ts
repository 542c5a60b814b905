/** Realms of one isolate come and go with deployments and variables; what they held goes with them. */
import {expect, onTestFinished, test} from 'vitest';
import {RealmHost} from '../../../worker/functions/isolate/realm.ts';

test('a realm that is released leaves nothing in its isolate, however many there were', () => {
  const host = RealmHost.open({memoryMb: 32});
  onTestFinished(() => host.dispose());
  // Some 4 MB each, and no garbage in this heap that would have it collected.
  const source = 'export const data = Array.from({length: 100_000}, (_, n) => ({n}));';
  for (let n = 0; n < 40; n++) {
    const realm = host.createRealm({timestampMs: 0, seed: 'seed', read: () => source}, () => '', 'sealed');
    realm.load('data.js', 10_000);
    expect(realm.has('data.js')).toBe(true);
    realm.release();
  }
  expect(host.isDisposed).toBe(false);
});
