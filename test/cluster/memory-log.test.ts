import {test} from 'vitest';
import {rivals, SCENARIOS} from './harness/conformance.ts';
import {memoryRig} from './harness/memory-rig.ts';

test.each(Object.entries(SCENARIOS))('%s', async (_, scenario) => {
  const rig = memoryRig();
  await rig.run(() => scenario(rig));
});

test('of six rivals with one expectation, one wins, in each of 10,000 rounds', async () => {
  const rig = memoryRig();
  await rig.run(() => rivals(10_000)(rig));
});
