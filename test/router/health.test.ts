import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {Health} from '../../router/edge/health.ts';
import {monotonicMs} from '../../shared/monotonic.ts';
import {Edge} from '../functions/edge/edge.ts';

let edge: Edge;
beforeAll(async () => {
  edge = await Edge.start();
});
afterAll(() => edge.stop());

async function health(): Promise<{status: number; body: unknown}> {
  const response = await fetch(`http://127.0.0.1:${edge.port}/health`);
  return {status: response.status, body: await response.json()};
}

describe('GET /health of a host', () => {
  const ahead = monotonicMs() + 3_600_000;
  test.each([
    {leaseUntilMs: ahead, isDraining: false, reason: null},
    {leaseUntilMs: monotonicMs(), isDraining: false, reason: 'no_lease'},
    {leaseUntilMs: ahead, isDraining: true, reason: 'draining'},
    {leaseUntilMs: 0, isDraining: true, reason: 'draining'},
  ])('has a lease until $leaseUntilMs, drains: $isDraining → $reason', async ({reason, ...state}) => {
    edge.health.change(state);
    const {status, body} = await health();
    if (reason === null) expect({status, body}).toEqual({status: 200, body: {ok: true}});
    else {
      expect(status).toBe(503);
      expect(body).toMatchObject({error: {code: 'session.worker_unavailable', detail: {reason}}});
    }
    edge.health.change({leaseUntilMs: ahead, isDraining: false});
    expect((await health()).status).toBe(200);
  });

  test('is 503 in a cluster until the supervisor says that there is a lease', () => {
    expect(new Health(true).fault?.detail).toEqual({reason: 'no_lease'});
    expect(new Health(false).fault).toBeNull();
  });
});
