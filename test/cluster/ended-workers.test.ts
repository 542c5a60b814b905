/** What a host does in the log for a worker that has ended, in memory with virtual time. */
import {expect, test} from 'vitest';
import {delay} from '../../cluster/log/timing.ts';
import {encodeTenant, newTenant, noteOfOwner, tenantKey} from '../../cluster/ownership/tenant-record.ts';
import type {Fault} from './harness/faulty-engine.ts';
import {MemoryStreams} from './harness/memory-engine.ts';
import {OwningHost, type OwningOptions} from './harness/owning-host.ts';
import {note} from './harness/rig.ts';
import {TestMember} from './harness/test-member.ts';
import {VirtualTime} from './harness/virtual-time.ts';

const TENANT = {id: 'acme', generation: 1};
const LONG_MS = 30_000;

/** Two members: `host` has tenants, and `other` only its lease. */
async function members(time: VirtualTime, options: Partial<OwningOptions> = {}) {
  const streams = new MemoryStreams();
  const other = new TestMember(time, streams, {host: 'other'});
  await other.lease.join(null, other.signal);
  const renewing = other.lease.renew(other.signal);
  const host = new OwningHost(time, streams, {host: 'host', ...options});
  host.live(null);
  await until(time, () => host.self.incarnation > 0 && host.members.serving().length === 2);
  const kill = async () => {
    await Promise.all([host.kill(), other.kill()]);
    await renewing;
  };
  return {host, other, log: other.replicated.tenant(TENANT), kill};
}

async function until(time: VirtualTime, holds: () => boolean): Promise<void> {
  while (!holds()) await delay(time, 10);
}

test('the former owner is not awaited for a worker that has ended, and nothing is opened for it', async () => {
  const time = new VirtualTime();
  let reads = 0;
  const course = async () => {
    const {host, other, log, kill} = await members(time, {choosesFault: request => counted(request)});
    const owner = {host: 'other', incarnation: other.lease.incarnation};
    await log.append(null, note('open', 1, noteOfOwner(owner)));
    const entry = {...newTenant(1, 0), epoch: 1, owner: host.self};
    await other.replicated.records.set(tenantKey(TENANT.id), encodeTenant(entry), 0);
    const located = host.locate(TENANT.id, false);
    await until(time, () => host.tenants.holds(TENANT.id));
    await delay(time, 1_000);
    await host.tenants.lost(TENANT.id, 2);
    await delay(time, 1_000);
    const before = reads;
    await delay(time, LONG_MS);
    expect(reads).toBe(before);
    expect(await located).toEqual({kind: 'abandoned'});
    expect(await log.tail()).toMatchObject({epoch: 1, kind: 'open'});
    await kill();
  };
  const counted = (request: string): Fault => {
    if (request === 'read') reads++;
    return 'none';
  };
  await time.run(course());
});

test('the close of a worker that has ended is not appended any more when the next worker has opened the log', async () => {
  const time = new VirtualTime();
  let publishes = 0;
  let [isLost, isStale] = [false, false];
  const course = async () => {
    const {host, other, kill} = await members(time, {choosesFault: request => fault(request)});
    await other.replicated.records.set(tenantKey(TENANT.id), encodeTenant({...newTenant(1, 0), owner: host.self}), 0);
    const first = await host.locate(TENANT.id, false);
    if (first.kind !== 'here') throw new Error(first.kind);
    // The `close` does not arrive, and later reads miss the newest records: it stays undecided.
    isLost = true;
    await host.tenants.lost(TENANT.id, first.epoch);
    const next = await host.locate(TENANT.id, false);
    expect(next).toMatchObject({kind: 'here'});
    isStale = true;
    await delay(time, 1_000);
    publishes = 0;
    await delay(time, LONG_MS);
    // Those of the lease, each second.
    expect(publishes).toBeLessThanOrEqual(LONG_MS / 1_000 + 1);
    await kill();
  };
  const fault = (request: string): Fault => {
    if (request === 'read') return isStale ? 'stale' : 'none';
    publishes++;
    if (!isLost) return 'none';
    isLost = false;
    return 'lost';
  };
  await time.run(course());
});
