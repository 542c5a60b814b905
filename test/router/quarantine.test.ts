import {Buffer} from 'node:buffer';
import {describe, expect, test} from 'vitest';
import {CALL_BODY_BYTES_READ} from '../../router/limits.ts';
import {Suspects} from '../../router/tenants/suspects.ts';
import {functionCall, httpActionCall} from '../../router/workers/user-call.ts';
import type {UserCall} from '../../shared/ipc/control.ts';
import {
  ATTRIBUTED_CRASHES_MAX,
  FUNCTION_CRASHES_MAX,
  QUARANTINE_MS_MAX,
  QUARANTINE_MS_MIN,
  SUSPECTS_MAX,
  SUSPICION_MS,
} from '../../shared/limits.ts';
import {Quarantine} from '../../shared/quarantine.ts';

const find = (args: string): UserCall => ({name: 'search:find', key: args});
const list = (args: string): UserCall => ({name: 'messages:list', key: args});

/** What a router makes of it. */
function suspectsOf(quarantine: Quarantine, nowMs: number): Suspects {
  const suspects = new Suspects(key => quarantine.answered(key));
  suspects.replace(quarantine.suspects(nowMs), nowMs);
  return suspects;
}

/** Is this call refused? */
function isRefused(quarantine: Quarantine, call: UserCall, nowMs = 0): boolean {
  try {
    suspectsOf(quarantine, nowMs).check(call, nowMs);
    return false;
  } catch (caught) {
    expect(caught).toMatchObject({code: 'op.quarantined'});
    return true;
  }
}

function deadly(crashes: number, underWay: (crash: number) => UserCall[]): Quarantine {
  const quarantine = new Quarantine();
  for (let crash = 0; crash < crashes; crash++) quarantine.died(underWay(crash), 0);
  return quarantine;
}

describe('a call is refused', () => {
  test.each<[string, number, UserCall[], boolean]>([
    ['after two deaths in which it was alone', 2, [find('bomb')], true],
    ['not after one', 1, [find('bomb')], false],
    ['once, however often it was under way in a death', 1, [find('bomb'), find('bomb'), find('bomb')], false],
    ['not after two that it shared', 2, [find('bomb'), list('all')], false],
    ['after three that it shared', 3, [find('bomb'), list('all')], true],
  ])('%s', (_, crashes, underWay, expected) => {
    expect(
      isRefused(
        deadly(crashes, () => underWay),
        find('bomb'),
      ),
    ).toBe(expected);
  });

  test('not if it is answered between deaths that it shared: what ends a worker is never answered', () => {
    const quarantine = new Quarantine();
    for (let crash = 0; crash < 3; crash++) {
      quarantine.died([find('bomb'), list('all')], 0);
      suspectsOf(quarantine, 0).answered(list('all'));
    }
    expect([isRefused(quarantine, find('bomb')), isRefused(quarantine, list('all'))]).toEqual([true, false]);
  });

  test('for a time that doubles with every further death, up to its maximum', () => {
    const quarantine = deadly(2, () => [find('bomb')]);
    let nowMs = 0;
    for (let ms = QUARANTINE_MS_MIN; ms <= 4 * QUARANTINE_MS_MAX; ms *= 2) {
      nowMs += Math.min(ms, QUARANTINE_MS_MAX);
      expect(isRefused(quarantine, find('bomb'), nowMs - 1)).toBe(true);
      expect(isRefused(quarantine, find('bomb'), nowMs)).toBe(false);
      quarantine.died([find('bomb')], nowMs);
    }
  });

  test('with the seconds that are left', () => {
    const quarantine = deadly(2, () => [find('bomb')]);
    expect(() => suspectsOf(quarantine, 0).check(find('bomb'), 1)).toThrowError(
      expect.objectContaining({detail: {retry_after_seconds: QUARANTINE_MS_MIN / 1_000}}),
    );
  });
});

describe('a function is refused with any arguments', () => {
  test(`after ${FUNCTION_CRASHES_MAX} deaths in which all calls under way were its own`, () => {
    const varied = (crash: number) => [find(`bomb ${crash}`), find(`also ${crash}`)];
    expect(isRefused(deadly(FUNCTION_CRASHES_MAX - 1, varied), find('new'))).toBe(false);
    const quarantine = deadly(FUNCTION_CRASHES_MAX, varied);
    expect(isRefused(quarantine, find('new'))).toBe(true);
    expect(isRefused(quarantine, list('all'))).toBe(false);
  });

  test('not after any number of deaths that it shared', () => {
    const quarantine = deadly(100, crash => [find(`bomb ${crash}`), list(`page ${crash}`)]);
    expect([isRefused(quarantine, find('new')), isRefused(quarantine, list('new'))]).toEqual([false, false]);
  });
});

describe('deaths', () => {
  test('without a call under way are the tenant’s', () => {
    expect(new Quarantine().died([], 0)).toEqual({isAttributed: false, refused: []});
  });

  test(`are the tenant’s too beyond ${ATTRIBUTED_CRASHES_MAX} within the time that suspicion lasts`, () => {
    const quarantine = new Quarantine();
    for (let crash = 0; crash < ATTRIBUTED_CRASHES_MAX; crash++) {
      expect(quarantine.died([find(`${crash}`)], crash).isAttributed).toBe(true);
    }
    expect(quarantine.died([find('one more')], ATTRIBUTED_CRASHES_MAX).isAttributed).toBe(false);
    expect(quarantine.died([find('later')], SUSPICION_MS + 1).isAttributed).toBe(true);
  });

  test('are forgotten, and what is remembered of them is bounded', () => {
    const quarantine = new Quarantine();
    const many = Array.from({length: SUSPECTS_MAX + 50}, (_, i) => find(`${i}`));
    for (let crash = 0; crash < 3; crash++) quarantine.died(many, 0);
    const refused = many.filter(call => isRefused(quarantine, call)).length;
    expect(refused).toBeLessThanOrEqual(SUSPECTS_MAX);
    for (const known of [quarantine, suspectsOf(quarantine, 0)]) {
      expect(known.isEmpty(0)).toBe(false);
      expect(known.isEmpty(QUARANTINE_MS_MAX + SUSPICION_MS)).toBe(true);
    }
  });
});

describe('what a request calls', () => {
  const body = (value: unknown) => Buffer.from(JSON.stringify(value));

  test('is the path in its body, and another call with other arguments', () => {
    const [a, b] = [functionCall(body({path: 'a:b', args: {n: 1}})), functionCall(body({path: 'a:b', args: {n: 2}}))];
    expect([a.name, b.name]).toEqual(['a:b', 'a:b']);
    expect(a.key).not.toBe(b.key);
    expect(functionCall(body({path: 'a:b', args: {n: 1}}))).toEqual(a);
  });

  test.each([['nonsense'], ['null'], ['{}'], ['{"path":7}'], [`{"path":"${'x'.repeat(2_000)}"}`]])(
    'is no function in %s',
    text => {
      expect(functionCall(Buffer.from(text)).name).toBe('no function');
    },
  );

  const filler = 'x'.repeat(CALL_BODY_BYTES_READ);

  test('is the path in a long body too, so that others with long arguments go on', () => {
    expect(functionCall(body({path: 'search:find', args: {filler}})).name).toBe('search:find');
    expect(functionCall(Buffer.from(`\n{ "path" : "größe:f" ,"args":"${filler}"}`)).name).toBe('größe:f');
  });

  test.each([
    ['names another one later', `{"path":"innocent:one","args":"${filler}","path":"other:one"}`],
    ['names another one in escapes', `{"path":"innocent:one","args":"${filler}","p\\u0061th":"other:one"}`],
    ['begins with something else', `{"args":"${filler}","path":"innocent:one"}`],
    ['has escapes in the path', `{"path":"innocent\\u003aone","args":"${filler}"}`],
  ])('is not said by a long body that %s', (_title, text) => {
    const {name, key} = functionCall(Buffer.from(text));
    expect(name).toBe('a function named twice');
    // The same length, beginning and end are not the same call.
    const innocent = `{"path":"innocent:one","args":"${filler}${'y'.repeat(text.length)}`;
    expect(functionCall(Buffer.from(`${innocent.slice(0, text.length - 2)}"}`)).key).not.toBe(key);
  });

  test.each([
    ['a:b', 'a.js:b'],
    ['a:b', 'a.ts:b'],
    ['a/b', 'a/b:default'],
    ['a/b', 'a/b.js:default'],
  ])('%s is the same as %s: one function has one name', (path, other) => {
    for (const args of [{}, {filler}]) {
      expect(functionCall(body({path: other, args})).name).toBe(functionCall(body({path, args})).name);
    }
  });

  test('is distinguished in long bodies by their length, beginning and end', () => {
    const long = (begin: string, middle: string, end: string) =>
      functionCall(
        Buffer.from(begin + 'x'.repeat(CALL_BODY_BYTES_READ) + middle + 'x'.repeat(CALL_BODY_BYTES_READ) + end),
      ).key;
    const key = long('a', 'b', 'c');
    expect([long('a', 'b', 'c'), long('a', 'B', 'c')]).toEqual([key, key]);
    for (const other of [long('A', 'b', 'c'), long('a', 'b', 'C'), long('a', 'bb', 'c')]) expect(other).not.toBe(key);
  });

  test('is the method and path of an HTTP action; its query is an argument', () => {
    const call = (url: string) => httpActionCall('GET', url, Buffer.alloc(0));
    expect(call('https://h.example/svc/t/http/a/b?x=1').name).toBe('GET /svc/t/http/a/b');
    expect(call('https://h.example/a?x=1').key).not.toBe(call('https://h.example/a?x=2').key);
  });
});
