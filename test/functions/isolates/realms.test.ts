/** Realms of one isolate come and go with deployments and variables; what they held goes with them. */
import {expect, onTestFinished, test, vi} from 'vitest';
import {RealmHost} from '../../../worker/runtime/isolate/realm.ts';
import {REALMS_MADE_PER_ISOLATE_MAX} from '../../../worker/runtime/limits.ts';
import {handler, TestRunner} from './runner.ts';

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

test('an isolate is replaced after some deployments, and memory that their realms left goes with it', () => {
  const opened = vi.spyOn(RealmHost, 'open');
  onTestFinished(() => opened.mockRestore());
  const runner = new TestRunner({'a.js': handler('f', 'return 7')});
  const deployments = 3 * REALMS_MADE_PER_ISOLATE_MAX;
  for (let n = 1; n <= deployments; n++) {
    // Calls of the deployment before are still under way.
    for (const deployment of [n, Math.max(1, n - 1), n]) {
      const {outcome} = runner.run('a:f', {}, deployment);
      expect(outcome).toEqual({ok: true, value: '7'});
    }
  }
  const isolates = opened.mock.results.map(({value}) => value as RealmHost);
  expect(isolates.length).toBeGreaterThanOrEqual(deployments / REALMS_MADE_PER_ISOLATE_MAX);
  expect(isolates.length).toBeLessThan(deployments / 2);
  expect(isolates.filter(({isDisposed}) => !isDisposed)).toHaveLength(1);
});
