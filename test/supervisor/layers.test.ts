/** Programs that confine a child: really run, on any machine that has `env` and `true`. */
import {describe, expect, test} from 'vitest';
import {type Layer, layerFields, stack} from '../../supervisor/confinement/layers.ts';

const works = (mark: string): string[] => ['env', `MARK=${mark}`];
const refuses = ['sh', '-c', 'echo no room >&2; exit 1'];
const limits = (...candidates: string[][]): Layer => ({layer: 'limits', candidates});

describe('a wall', () => {
  test('stands when the strongest candidate works', async () => {
    expect(await stack([limits(works('a'), works('b'))])).toEqual({
      command: works('a'),
      sandboxLayers: [{name: 'limits', missing: null}],
    });
  });

  test('is missing when a weaker one is used, and says what the strongest said', async () => {
    expect(await stack([limits(refuses, works('b'))])).toEqual({
      command: works('b'),
      sandboxLayers: [{name: 'limits', missing: 'no room'}],
    });
  });

  test('names the program that is not there', async () => {
    expect(await stack([limits(['there-is-no-such-program'])])).toEqual({
      command: [],
      sandboxLayers: [{name: 'limits', missing: 'there-is-no-such-program is not on the PATH'}],
    });
  });

  test('of several layers is missing when one of them is', async () => {
    const {command, sandboxLayers} = await stack([limits(refuses), limits(works('b'))]);
    expect(command).toEqual(works('b'));
    expect(sandboxLayers).toEqual([{name: 'limits', missing: 'no room'}]);
  });
});

test('a layer is tried on top of those before it', async () => {
  const onlyBehind = ['sh', '-c', 'test "$MARK" = a && exec "$@"', 'sh'];
  expect((await stack([limits(onlyBehind)])).command).toEqual([]);
  expect((await stack([limits(works('a')), limits(onlyBehind)])).command).toEqual([...works('a'), ...onlyBehind]);
});

test('one line tells which stand, and of the others why not', () => {
  const sandboxLayers = [
    {name: 'limits', missing: null},
    {name: 'privileges', missing: 'setpriv is not on the PATH'},
  ] as const;
  expect(layerFields(sandboxLayers)).toEqual({stand: 'limits', missing: {privileges: 'setpriv is not on the PATH'}});
  expect(layerFields([sandboxLayers[1]])).toMatchObject({stand: 'none'});
});
