/** What results are made of: shared references, changes of text, arguments as text. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {deploymentUrl} from '../../sdk/client/deployment-url.ts';
import {FunctionCall} from '../../sdk/client/function-call.ts';
import {keepReferences} from '../../sdk/client/keep-references.ts';
import {applyTextDelta} from '../../sdk/client/text-delta.ts';
import {decodedToken, tokenLifetimeMs} from '../../sdk/client/token-lifetime.ts';
import {anyApi} from '../../sdk/server/function-reference.ts';
import type {Value} from '../../sdk/values/value.ts';
import type {TextDelta} from '../../shared/protocol/function-socket/server-message.ts';

const leaf = fc.oneof(fc.constant(null), fc.boolean(), fc.constantFrom(0, -0, 1, Number.NaN), fc.constantFrom('', 'a'));
const {value} = fc.letrec<{value: Value}>(tie => ({
  value: fc.oneof(
    {maxDepth: 4, withCrossShrink: true},
    leaf,
    fc.array(tie('value'), {maxLength: 4}),
    fc.dictionary(fc.constantFrom('_id', 'a', 'b', '__proto__'), tie('value'), {maxKeys: 3}),
  ),
}));

/** By value, with NaN equal to itself and -0 another than 0. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return (
    keys.length === others.length &&
    keys.every(key => Object.hasOwn(b, key) && isEqual((a as never)[key], (b as never)[key]))
  );
}

function frozen<T>(one: T): T {
  if (typeof one === 'object' && one !== null && !Object.isFrozen(one)) {
    Object.freeze(one);
    for (const key of Object.keys(one)) frozen((one as Record<string, unknown>)[key]);
  }
  return one;
}

describe('keepReferences', () => {
  test('is the old value where both are equal, and else equal to the new one; neither is changed', () => {
    fc.assert(
      fc.property(value, value, (before, after) => {
        const kept = keepReferences(frozen(before), frozen(after));
        expect(isEqual(kept, after)).toBe(true);
        expect(Object.is(kept, before)).toBe(isEqual(before, after));
      }),
    );
  });

  test('keeps equal members of what changed, and documents wherever they moved to', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat({max: 20}), {maxLength: 8}),
        fc.uniqueArray(fc.nat({max: 20}), {maxLength: 8}),
        (a, b) => {
          const documents = (ids: number[]): Value[] => ids.map(id => ({_id: `d${id}`, tags: [id]}));
          const before = documents(a);
          const kept = keepReferences(before, documents(b)) as Value[];
          for (const [i, id] of b.entries()) if (a.includes(id)) expect(kept[i]).toBe(before[a.indexOf(id)]);
        },
      ),
    );
  });
});

describe('a change of text', () => {
  test('cuts and puts in, from the front to the back', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string(), fc.string(), fc.string()), {maxLength: 6}),
        fc.string(),
        (parts, tail) => {
          const text = parts.map(([kept, removed]) => kept + removed).join('') + tail;
          const expected = parts.map(([kept, , inserted]) => kept + inserted).join('') + tail;
          let at = 0;
          const delta: TextDelta = parts.map(([kept, removed, inserted]) => {
            const from = at + kept.length;
            at = from + removed.length;
            return [from, removed.length, inserted];
          });
          expect(applyTextDelta(text, delta)).toBe(expected);
        },
      ),
    );
  });

  test.each([
    ['beyond the end', [[2, 2, '']]],
    [
      'backwards',
      [
        [2, 0, 'x'],
        [1, 0, 'y'],
      ],
    ],
    ['negative', [[-1, 0, '']]],
    ['of negative length', [[1, -1, '']]],
  ])('%s is none', (_, delta) => {
    expect(applyTextDelta('abc', delta as TextDelta)).toBeNull();
  });
});

describe('a call', () => {
  test('has one token for equal arguments, and another for others', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', '10', '9'), value), args => {
        const reversed = Object.fromEntries(Object.entries(args).reverse());
        expect(new FunctionCall('f:g', reversed).token()).toBe(new FunctionCall('f:g', args).token());
        expect(new FunctionCall('f:g', {...args, c: 1}).token()).not.toBe(new FunctionCall('f:g', args).token());
      }),
    );
  });

  test.each([
    ['messages:list', 'messages:list'],
    ['messages.js:list', 'messages:list'],
    ['a/b.ts:f', 'a/b:f'],
    ['a/b:default', 'a/b'],
    ['a/b', 'a/b'],
  ])('of %s is of %s', (reference, path) => {
    expect(new FunctionCall(reference, {}).path).toBe(path);
  });

  test('of a generated reference is of its path', () => {
    expect(new FunctionCall(anyApi.a!.b!.default!, {}).path).toBe('a/b');
  });

  test('its arguments are a copy', () => {
    const args = {deep: [1]};
    const call = new FunctionCall('f:g', args);
    expect(call.args()).toEqual(args);
    expect(call.args().deep).not.toBe(args.deep);
  });
});

describe('tokens', () => {
  const jwt = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

  test('are read, whatever letters are in them', () => {
    expect(decodedToken(jwt({name: 'Ada ❄ Ünal?>'}))).toEqual({name: 'Ada ❄ Ünal?>'});
    expect(tokenLifetimeMs(jwt({iat: 5, exp: 65}))).toBe(60_000);
  });

  test.each(['', 'opaque', 'a.b.c', `a.${btoa('7')}.c`, jwt({iat: 5})])('%s says nothing of its end', token => {
    expect(tokenLifetimeMs(token)).toBeNull();
  });
});

test('a slash at the end of an address is not part of it', () => {
  expect(deploymentUrl('https://x.example/svc/a//')).toBe('https://x.example/svc/a');
});
