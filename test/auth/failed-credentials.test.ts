import {describe, expect, test} from 'vitest';
import {FailedCredentials} from '../../router/auth/failed-credentials.ts';
import {AUTH_FAILURE_ADDRESSES_MAX, AUTH_FAILURE_EARNED_MS, AUTH_FAILURES_AT_ONCE} from '../../router/limits.ts';
import {limitsOfOne} from '../../router/router-limits.ts';
import {type Reply, Service} from '../harness/service.ts';
import {expectError} from '../harness/tenant.ts';

describe('an address that shows wrong credentials', () => {
  const failTimes = (failures: FailedCredentials, address: string, times: number) =>
    Array.from({length: times}, () => failures.failed(address));

  test('may do so a number of times, then one more for each that it earned', () => {
    let nowMs = 5_000;
    const failures = new FailedCredentials(() => nowMs, limitsOfOne(1));
    expect(new Set(failTimes(failures, 'a', AUTH_FAILURES_AT_ONCE))).toEqual(new Set([false]));
    expect(failTimes(failures, 'a', 3)).toEqual([true, true, true]);
    nowMs += 2 * AUTH_FAILURE_EARNED_MS;
    expect(failTimes(failures, 'a', 3)).toEqual([false, false, true]);
    nowMs += AUTH_FAILURES_AT_ONCE * AUTH_FAILURE_EARNED_MS;
    expect(new Set(failTimes(failures, 'a', AUTH_FAILURES_AT_ONCE))).toEqual(new Set([false]));
  });

  test('may do so as often over all routers together, each of which has its share', () => {
    let nowMs = 5_000;
    const routers = Array.from({length: 4}, () => new FailedCredentials(() => nowMs, limitsOfOne(4)));
    const passed = () =>
      routers.flatMap(failures => failTimes(failures, 'a', AUTH_FAILURES_AT_ONCE)).filter(late => !late);
    expect(passed()).toHaveLength(AUTH_FAILURES_AT_ONCE);
    nowMs += 8 * AUTH_FAILURE_EARNED_MS;
    expect(passed()).toHaveLength(8);
  });

  test('is counted for itself', () => {
    const failures = new FailedCredentials(() => 0, limitsOfOne(1));
    failTimes(failures, 'a', AUTH_FAILURES_AT_ONCE + 1);
    expect([failures.failed('a'), failures.failed('b')]).toEqual([true, false]);
  });

  test('is forgotten when very many others failed after it, and not before', () => {
    const failures = new FailedCredentials(() => 0, limitsOfOne(1));
    failTimes(failures, 'a', AUTH_FAILURES_AT_ONCE);
    for (let i = 1; i < AUTH_FAILURE_ADDRESSES_MAX; i++) failures.failed(`other ${i}`);
    expect(failures.failed('a')).toBe(true);
    for (let i = 0; i < AUTH_FAILURE_ADDRESSES_MAX; i++) failures.failed(`another ${i}`);
    expect(failures.failed('a')).toBe(false);
  });
});

const shown = async (sent: Promise<Reply>) => {
  const {status, headers} = await sent;
  return {status, retryAfter: headers['retry-after']};
};

test('beyond that, wrong ones are 429 on every kind of route, and right ones are served all the same', async () => {
  const service = await Service.start();
  try {
    const wrong = {authorization: 'Bearer wrong'};
    expectError(await service.get('/api/tenants', wrong), 401, 'auth.unauthorized');
    await Promise.all(Array.from({length: 2 * AUTH_FAILURES_AT_ONCE}, () => service.get('/api/tenants', wrong)));
    const tenant = await service.tenant();
    const upgrade = {connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13'};
    const lines = Object.entries({
      ...{host: `127.0.0.1:${service.port}`, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA=='},
      ...upgrade,
      ...wrong,
    });
    const head = `GET /ws HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
    const kinds: (() => Promise<{status: number; retryAfter: unknown}>)[] = [
      () => shown(service.get('/api/tenants', wrong)),
      () => shown(service.post(`/api/tenants/${tenant}/documents`, {table: 't', fields: {}}, wrong)),
      () => shown(service.post(`/svc/${tenant}/query`, {}, {authorization: undefined, 'x-svc-admin-token': 'x'})),
      () => shown(service.get('/metrics', {authorization: undefined, 'x-svc-admin-token': 'wrong'})),
      async () => {
        const text = await service.raw(head, all => all.includes('}}'));
        return {status: Number(text.slice(9, 12)), retryAfter: /retry-after: (.*)/i.exec(text)?.[1]};
      },
    ];
    // Each refusal is delayed: all kinds at once. Some may be 401: one a second is earned back.
    const all = await Promise.all(kinds.map(send => Promise.all(Array.from({length: 20}, send))));
    for (const replies of all) {
      const refused = replies.filter(reply => reply.status === 429);
      expect(refused.length).toBeGreaterThan(0);
      expect(new Set(refused.map(reply => reply.retryAfter))).toEqual(new Set(['1']));
      expect(replies.filter(reply => ![401, 429].includes(reply.status))).toEqual([]);
    }
    expect((await service.get('/api/tenants')).status).toBe(200);
    expectError(await service.get('/api/tenants', {authorization: undefined}), 401, 'auth.unauthorized');
  } finally {
    await service.stop();
  }
});
