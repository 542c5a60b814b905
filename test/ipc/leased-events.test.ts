/** A host without its lease answers nothing from which a router could conclude that it has the newest writes. */
import {Buffer} from 'node:buffer';
import {expect, test} from 'vitest';
import {LeaseGate} from '../../worker/ipc/lease-gate.ts';
import {LeasedEvents} from '../../worker/ipc/leased-events.ts';
import type {RouterLink} from '../../worker/ipc/router-link.ts';
import {NO_SOCKETS} from './no-sockets.ts';

function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

test('a fence waits for the lease, behind the subscriptions before it', () => {
  const seen: string[] = [];
  const gate = new LeaseGate();
  const link = {} as RouterLink;
  const events = new LeasedEvents(
    {
      onRequest: () => undefined,
      onSubscribe: (_, stream) => seen.push(`subscribe ${stream}`),
      onUnsubscribe: () => undefined,
      onAnswered: calls => seen.push(`answered ${calls.length}`),
      onFence: (_, stream) => seen.push(`fence ${stream}`),
      onClose: () => undefined,
      sockets: NO_SOCKETS,
    },
    gate,
  );
  events.onSubscribe(link, 1, Buffer.from('{}'));
  events.onFence(link, 1);
  expect(seen).toEqual([]);
  gate.until(nowMs() + 60_000);
  expect(seen).toEqual(['subscribe 1', 'fence 1']);
  events.onFence(link, 2);
  expect(seen.at(-1)).toBe('fence 2');
});
