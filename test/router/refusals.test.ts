import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {credentialHint} from '../../router/auth/refusal.ts';
import {Refusals} from '../../router/auth/refusals.ts';
import {REFUSAL_GROUPS_MAX, REFUSAL_WINDOW_MS} from '../../router/limits.ts';
import type {RefusedRequest} from '../../shared/ipc/audit.ts';
import {newKeySecret} from '../../shared/key-secret.ts';
import {RouterMetrics} from '../../shared/metrics/router-metrics.ts';

const REFUSED: RefusedRequest = {
  ...{operation: 'env.set', tenant: 'acme', code: 'auth.forbidden', key: 'k', key_name: 'ops', shown: null},
  ...{address: '::1', request_id: 'r', count: 1},
};
const STRANGER = {...REFUSED, code: 'auth.unauthorized', key: null, key_name: null, shown: 'other'};

function watched(): {refusals: Refusals; told: RefusedRequest[]; pass(ms: number): void; total(name: string): number} {
  let nowMs = 0;
  const metrics = new RouterMetrics();
  const told: RefusedRequest[] = [];
  const refusals = new Refusals(
    refused => told.push(refused),
    () => nowMs,
    metrics,
  );
  return {
    refusals,
    told,
    pass: ms => {
      nowMs += ms;
      refusals.poll();
    },
    total: name =>
      metrics
        .report()
        .find(metric => metric.name === name)!
        .values.reduce((sum, {value}) => sum + value, 0),
  };
}

describe('of refusals that are alike', () => {
  test('the first is reported at once, and how many more came once the window is over, in the words of the last', () => {
    const {refusals, told, pass} = watched();
    refusals.note(REFUSED);
    refusals.note({...REFUSED, request_id: 's'});
    refusals.note({...REFUSED, request_id: 't', tenant: 'other'});
    pass(REFUSAL_WINDOW_MS - 1);
    expect(told).toEqual([REFUSED]);
    pass(1);
    expect(told.slice(1)).toEqual([{...REFUSED, request_id: 't', tenant: 'other', count: 2}]);
    refusals.note(REFUSED);
    pass(REFUSAL_WINDOW_MS);
    expect(told.slice(2)).toEqual([REFUSED]);
    pass(REFUSAL_WINDOW_MS);
    refusals.note(REFUSED);
    expect(told.slice(3)).toEqual([REFUSED]);
  });

  test('another operation or error of a key is of another kind; of a stranger another address or error is', () => {
    const {refusals, told} = watched();
    const different = [
      ...[REFUSED, {...REFUSED, key: 'l'}, {...REFUSED, operation: 'env.get'}, {...REFUSED, code: 'auth.unauthorized'}],
      ...[STRANGER, {...STRANGER, address: '::2'}, {...STRANGER, code: 'auth.origin_forbidden'}],
    ];
    for (const refused of [...different, {...REFUSED, address: '::3'}, {...STRANGER, operation: 'env.get'}])
      refusals.note(refused);
    expect(told).toEqual(different);
  });

  test('strangers with any number of addresses take no place of keys, and are counted', () => {
    const {refusals, told, total} = watched();
    for (let i = 0; i < REFUSAL_GROUPS_MAX + 100; i++) refusals.note({...STRANGER, address: String(i)});
    refusals.note(REFUSED);
    expect(told).toHaveLength(REFUSAL_GROUPS_MAX + 1);
    expect(told.at(-1)).toEqual(REFUSED);
    expect([total('svc_refusals_total'), total('svc_refusals_unrecorded_total')]).toEqual([
      REFUSAL_GROUPS_MAX + 101,
      100,
    ]);
  });

  test('none is lost: those reported and those that found no place are all that came, of each kind', () => {
    const event = fc.oneof(
      {weight: 20, arbitrary: fc.record({kind: fc.nat(9), isKeys: fc.boolean()})},
      {weight: 1, arbitrary: fc.nat(2 * REFUSAL_WINDOW_MS)},
    );
    fc.assert(
      fc.property(fc.array(event, {maxLength: 400}), events => {
        const {refusals, told, pass, total} = watched();
        const came = new Map<string, number>();
        for (const one of events) {
          if (typeof one === 'number') {
            pass(one);
            continue;
          }
          const refused = one.isKeys ? {...REFUSED, operation: `o${one.kind}`} : {...STRANGER, address: `a${one.kind}`};
          const name = JSON.stringify(refused);
          came.set(name, (came.get(name) ?? 0) + 1);
          refusals.note(refused);
        }
        refusals.close();
        const counted = new Map<string, number>();
        for (const {count, ...refused} of told) {
          const name = JSON.stringify({...refused, count: 1});
          counted.set(name, (counted.get(name) ?? 0) + count);
        }
        expect(counted).toEqual(came);
        expect(total('svc_refusals_unrecorded_total')).toBe(0);
      }),
      {numRuns: 100},
    );
  });
});

describe('of a credential that is none', () => {
  const secret = newKeySecret('abcdefghij23');
  test.each<[string, string, string | null, string | null]>([
    ['', '', null, null],
    ['Bearer a-token-of-another-service', '', null, 'other'],
    ['Basic dXNlcjpwYXNz', '', null, 'other'],
    ['', 'a-token', null, 'other'],
    [`Bearer ${secret}`, '', null, 'svc_key_abcdefghij23…'],
    ['', secret, null, 'svc_key_abcdefghij23…'],
    ['', '', secret, 'svc_key_abcdefghij23…'],
    [`Bearer ${secret.replace('svc_key_abcdefghij23_', 'svc_key_')}`, '', null, 'svc_key_…'],
    ['Bearer svc_key_AN_OTHER_THING', '', null, 'svc_key_…'],
  ])('%s, %s, %s is recorded as %s', (authorization, adminToken, offered, told) => {
    expect(credentialHint(authorization, adminToken, offered)).toBe(told);
  });
});
