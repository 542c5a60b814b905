import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {KeyRecord} from '../../shared/ipc/keys.ts';
import {familyOf, makeRoom} from '../../supervisor/keys/key-quota.ts';
import {KEYS_MADE_BY_KEYS_MAX, KEYS_MAX, KEYS_OF_FAMILY_MAX} from '../../supervisor/limits.ts';

const NOW = 1_000;
type Made = Pick<KeyRecord, 'created_by'> & Partial<KeyRecord>;

function recordsOf(keys: Record<string, Made>): Map<string, KeyRecord> {
  return new Map(Object.entries(keys).map(([id, made]) => [id, {id, expires_at: null, ...made} as KeyRecord]));
}

function many(count: number, prefix: string, made: Made): Record<string, Made> {
  return Object.fromEntries(Array.from({length: count}, (_, i) => [`${prefix}${i}`, made]));
}

describe('the family of a key', () => {
  test.each<[string, Record<string, Made>, string]>([
    ['is its own, where an admin credential made it', {k: {created_by: null}}, 'k'],
    ['is the one that is written', {k: {created_by: 'gone', family: 'first'}}, 'first'],
    [
      'is found over its makers, where it is of an earlier version',
      {k: {created_by: 'b'}, b: {created_by: 'a'}, a: {created_by: null}},
      'a',
    ],
    ['is that of a maker who knows', {k: {created_by: 'b'}, b: {created_by: 'gone', family: 'first'}}, 'first'],
    ['is the last maker that is known, where the chain is broken', {k: {created_by: 'gone'}}, 'gone'],
    ['is some key, where damage made a circle', {k: {created_by: 'b'}, b: {created_by: 'k'}}, 'k'],
  ])('%s', (_, keys, family) => {
    const records = recordsOf(keys);
    expect(familyOf(records.get('k')!, records)).toBe(family);
  });
});

describe('a place for a new key', () => {
  const ofA = (count: number, more: Partial<KeyRecord> = {}) =>
    many(count, 'a', {created_by: 'x', family: 'A', ...more});

  test('is refused to a family that has all of its own, and to no other one', () => {
    const records = recordsOf(ofA(KEYS_OF_FAMILY_MAX));
    expect(() => makeRoom(records, 'A', NOW)).toThrow(expect.objectContaining({code: 'op.rate_limited'}));
    expect(makeRoom(records, 'B', NOW)).toEqual([]);
    expect(makeRoom(records, null, NOW)).toEqual([]);
  });

  test('is kept for the operator, whatever keys made', () => {
    const families = Array.from({length: KEYS_MADE_BY_KEYS_MAX / KEYS_OF_FAMILY_MAX}, (_, i) =>
      many(KEYS_OF_FAMILY_MAX, `f${i}-`, {created_by: 'x', family: `F${i}`}),
    );
    const records = recordsOf(Object.assign({}, ...families));
    expect(records.size).toBe(KEYS_MADE_BY_KEYS_MAX);
    expect(() => makeRoom(records, 'B', NOW)).toThrow(/made by keys/);
    expect(makeRoom(records, null, NOW)).toEqual([]);
    const full = recordsOf({
      ...Object.assign({}, ...families),
      ...many(KEYS_MAX - KEYS_MADE_BY_KEYS_MAX, 'k', {created_by: null}),
    });
    expect(() => makeRoom(full, null, NOW)).toThrow(expect.objectContaining({code: 'op.rate_limited'}));
  });

  test('is that of keys of the family that expired', () => {
    const records = recordsOf({
      ...ofA(KEYS_OF_FAMILY_MAX - 1),
      old: {created_by: 'x', family: 'A', expires_at: NOW},
      other: {created_by: 'x', family: 'B', expires_at: NOW},
    });
    expect(makeRoom(records, 'A', NOW)).toEqual(['old']);
  });

  test('is never one too many, in whatever order keys are made and end', () => {
    const step = fc.record({by: fc.nat({max: 40}), life: fc.constantFrom(null, 1, 50), ends: fc.boolean()});
    fc.assert(
      fc.property(fc.array(step, {minLength: 550, maxLength: 600}), steps => {
        const records = recordsOf({first: {created_by: null}});
        for (const [now, {by, life, ends}] of steps.entries()) {
          const known = [...records.values()];
          const maker = known[by % known.length]!;
          const family = familyOf(maker, records);
          expect(family).toBe('first');
          let gone: string[] = [];
          try {
            gone = makeRoom(records, family, now);
          } catch {
            expect(known.filter(({created_by}) => created_by !== null)).toHaveLength(KEYS_OF_FAMILY_MAX);
            continue;
          }
          for (const id of gone) records.delete(id);
          const id = `k${now}`;
          const expires_at = life === null ? null : now + life;
          records.set(id, {id, created_by: maker.id, family, expires_at} as KeyRecord);
          if (ends && maker.id !== 'first') records.delete(maker.id);
        }
        expect(records.size).toBeLessThanOrEqual(KEYS_OF_FAMILY_MAX + 1);
      }),
      {numRuns: 5},
    );
  });
});
