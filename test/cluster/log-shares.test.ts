/** How much of a shard one tenant can have: the tenants of a shard share a stream, and a worker can be hostile. */
import {expect, test} from 'vitest';
import {LogShare} from '../../cluster/endpoint/log-share.ts';
import {LogShares} from '../../cluster/host/log-shares.ts';
import {LOG_SHARE_BYTES} from '../../cluster/limits.ts';
import type {BaseInfo} from '../../cluster/log/base-list.ts';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {newTenant} from './harness/rig.ts';

const MIB = 1024 * 1024;
const MESSAGE = MIB / 2;

/** No time passes. */
function atOnce(_ms: number, fire: () => void): () => void {
  const next = setImmediate(fire);
  return () => clearImmediate(next);
}

/** Appends until it gets no more. @returns bytes */
function appendAll(share: LogShare, shard: {free: number}): number {
  let bytes = 0;
  for (let sequence = 1; share.takes(MESSAGE) && shard.free >= MESSAGE; sequence++) {
    share.storedRecord(sequence, MESSAGE, []);
    shard.free -= MESSAGE;
    bytes += MESSAGE;
  }
  return bytes;
}

test('one tenant after another leaves half of what is free', () => {
  const shard = {free: 4_096 * MIB};
  const own = () => new LogShare(() => shard.free);
  expect(appendAll(own(), shard)).toBe(2_048 * MIB + LOG_SHARE_BYTES);
  expect(appendAll(own(), shard)).toBe((2_048 * MIB - LOG_SHARE_BYTES) / 2 + LOG_SHARE_BYTES);
});

test('a worker knows that its tenant has no space before it is refused', () => {
  const shard = {free: 1_000 * MIB};
  const share = new LogShare(() => shard.free);
  share.storedRecord(1, 700 * MIB, []);
  expect(share.freeBytes).toBe(300 * MIB);
  shard.free = 600 * MIB;
  expect(share.freeBytes).toBe(0);
  expect(share.takes(MESSAGE)).toBe(true);
});

test('a small tenant has what is free', () => {
  const share = new LogShare(() => MIB);
  share.storedRecord(1, 40 * MIB, []);
  expect(share.freeBytes).toBe(MIB);
  expect(share.takes(MESSAGE)).toBe(true);
});

test('a tenant has space again when the log was trimmed below the older of two bases', async () => {
  const tenant = newTenant();
  const end = new AbortController();
  const lists: (readonly {sequence: number}[])[] = [[], [{sequence: 2}], [{sequence: 2}, {sequence: 3}]];
  const changed = Promise.withResolvers<string>();
  const shares = new LogShares({
    bases: {
      list: async () => {
        const list = lists.shift();
        if (list === undefined || list.length === 0) throw new EngineError('no answer');
        return list.map(position => ({position})) as unknown as BaseInfo[];
      },
    },
    clock: {nowMs: 0, after: atOnce},
    freeBytes: () => 100 * MIB,
    onChange: changed.resolve,
  });
  const share = shares.of(tenant);
  share.storedRecord(1, 150 * MIB, []);
  share.storedRecord(2, 20 * MIB, []);
  expect(share.freeBytes).toBe(0);
  const running = shares.run(end.signal);
  expect(await changed.promise).toBe(tenant.id);
  expect(shares.of(tenant).bytes).toBe(20 * MIB);
  expect(share.freeBytes).toBe(100 * MIB);
  expect(lists.length).toBe(0);
  end.abort();
  await running;
});
