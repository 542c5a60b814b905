/** Names of cached calls are made in one buffer: each is what its call alone determines. */
import {Buffer} from 'node:buffer';
import fc from 'fast-check';
import {expect, test} from 'vitest';
import {callName} from '../../router/edge/cached-calls.ts';
import {CACHED_CALL_CHARS_MAX} from '../../router/limits.ts';

const operation = fc.constantFrom('functions.query' as const, 'functions.run' as const);
const call = fc.tuple(
  operation,
  fc.string({unit: fc.integer({min: 0x20, max: 0xff}).map(code => String.fromCharCode(code)), maxLength: 40}),
  fc.uint8Array({maxLength: 60}),
);

test('a name is the operation, the origin and the bytes of the body, whatever was named before', () => {
  fc.assert(
    fc.property(fc.array(call, {maxLength: 20}), calls => {
      for (const [of, origin, body] of calls) {
        const id = `${of} ${origin}\n${Buffer.from(body).toString('latin1')}`;
        expect(callName(of, origin, body)).toEqual({table: null, id});
      }
    }),
  );
});

test('a call that is too long has none', () => {
  const origin = 'https://a.example';
  const body = (chars: number) => Buffer.alloc(chars - origin.length, 'x');
  expect(callName('functions.query', origin, body(CACHED_CALL_CHARS_MAX))?.id.endsWith('x')).toBe(true);
  expect(callName('functions.query', origin, body(CACHED_CALL_CHARS_MAX + 1))).toBeNull();
});
