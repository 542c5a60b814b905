/** No host serves a deleted tenant, or a paused one as before, when that is answered: in memory with virtual time. */
import {expect, test} from 'vitest';
import {LogError} from '../../cluster/log/log-error.ts';
import {delay} from '../../cluster/log/timing.ts';
import {endOwner} from '../../cluster/ownership/end-owner.ts';
import {TenantEntries} from '../../cluster/ownership/tenant-entries.ts';
import {noteOfOwner, type Owner} from '../../cluster/ownership/tenant-record.ts';
import {MemoryStreams} from './harness/memory-engine.ts';
import {commit, note, openOptions} from './harness/rig.ts';
import {TestMember} from './harness/test-member.ts';
import {VirtualTime} from './harness/virtual-time.ts';

const TENANT = {id: 'acme', generation: 1};

type Course = {
  time: VirtualTime;
  streams: MemoryStreams;
  /** Deletes. */
  a: TestMember;
  /** Serves, or did. */
  b: TestMember;
  owner: Owner;
  /** Of `b`. */
  log: ReturnType<TestMember['replicated']['tenant']>;
  /** What `a` does when the entry had that. */
  end: (
    epoch: number,
    owner?: Owner | null,
    mark?: 'deleted' | 'paused',
  ) => {promise: Promise<void>; isOver: () => boolean};
};

function course(run: (course: Course) => Promise<void>): Promise<void> {
  const time = new VirtualTime();
  const streams = new MemoryStreams();
  const [a, b] = ['a', 'b'].map(host => new TestMember(time, streams, {host})) as [TestMember, TestMember];
  const whole = async () => {
    for (const {lease, signal} of [a, b]) await lease.join(null, signal);
    const renewing = [a, b].map(({lease, signal}) => lease.renew(signal));
    const owner = {host: 'b', incarnation: b.lease.incarnation};
    const end: Course['end'] = (epoch, of = owner, mark = 'deleted') => {
      const {replicated, members, clock, signal} = a;
      let isOver = false;
      const self = {host: 'a', incarnation: a.lease.incarnation};
      const promise = endOwner({replicated, members, clock, self, signal}, TENANT, {owner: of, epoch}, mark);
      void promise.then(() => {
        isOver = true;
      });
      return {promise, isOver: () => isOver};
    };
    await run({time, streams, a, b, owner, log: b.replicated.tenant(TENANT), end});
    await Promise.all([a.kill(), b.kill()]);
    await Promise.all(renewing);
  };
  return time.run(whole());
}

async function served({log, owner}: Course): Promise<NonNullable<Awaited<ReturnType<Course['log']['tail']>>>> {
  await log.append(null, note('open', 1, noteOfOwner(owner)));
  await log.append(await log.tail(), commit(1, 'x'));
  return (await log.tail())!;
}

test('the deletion waits until the owner has closed, and nothing is appended afterwards', () =>
  course(async all => {
    const {time, log, end} = all;
    const tail = await served(all);
    const {promise, isOver} = end(1);
    await delay(time, 5_000);
    expect(isOver()).toBe(false);
    await log.append(tail, note('close', 1));
    await promise;
    expect(await log.append(tail, commit(1, 'y'))).toEqual({kind: 'refused'});
    expect(await log.open(openOptions(2, tail))).toEqual({kind: 'superseded', epoch: 2});
  }));

test('the lease of an owner that is lost is awaited', () =>
  course(async all => {
    const {b, end, time} = all;
    await served(all);
    const sinceMs = time.nowMs;
    await b.kill();
    await end(1).promise;
    expect(b.lease.holds()).toBe(false);
    expect(time.nowMs - sinceMs).toBeGreaterThan(4_000);
  }));

test('a host that became the owner before the deletion, and opens after it, does not open', () =>
  course(async all => {
    const {log, end} = all;
    const tail = await served(all);
    await log.append(tail, note('close', 1));
    await end(2).promise;
    expect(await log.open(openOptions(2, tail))).toEqual({kind: 'superseded', epoch: 3});
  }));

test('the owner that the log names is awaited when the entry has another one already', () =>
  course(async all => {
    const {time, a, log, end} = all;
    const tail = await served(all);
    const {promise, isOver} = end(2, {host: 'a', incarnation: a.lease.incarnation});
    await delay(time, 5_000);
    expect(isOver()).toBe(false);
    await log.append(tail, note('close', 1));
    await promise;
  }));

test('a full log does not keep a tenant from being deleted', () =>
  course(async all => {
    const {streams, log, end} = all;
    await log.append(await served(all), note('close', 1));
    streams.bytesMax = 1;
    const {promise} = end(1);
    await delay(all.time, 1_000);
    streams.bytesMax = 2_000;
    await promise;
    const first = (await log
      .read(null)
      .next()
      .catch((error: unknown) => error)) as LogError;
    expect(first).toBeInstanceOf(LogError);
    expect(first.code).toBe('trimmed');
  }));

test('a tenant that was never opened is deleted at once, and one that is made again goes on with its epochs', () =>
  course(async ({a, log, end}) => {
    await end(7, null).promise;
    expect(await log.tail()).toBeNull();
    const entries = new TenantEntries(a.replicated.records, a.signal);
    await entries.create('acme', 1);
    await entries.update('acme', record => ({...record, epoch: 7}));
    await entries.remove({id: 'acme', generation: 1});
    expect(await entries.create('acme', 2)).toMatchObject({
      kind: 'stored',
      record: {generation: 2, epoch: 7, owner: null},
    });
  }));

test('a paused tenant is closed for epochs before the pause, and opened in later ones', () =>
  course(async all => {
    const {time, owner, log, end} = all;
    const tail = await served(all);
    const {promise, isOver} = end(1, owner, 'paused');
    await delay(time, 5_000);
    expect(isOver()).toBe(false);
    await log.append(tail, note('close', 1));
    await promise;
    expect(await log.tail()).toMatchObject({kind: 'close', epoch: 2});
    expect(await log.open(openOptions(2, tail))).toEqual({kind: 'superseded', epoch: 2});
    expect(await log.open(openOptions(3, tail))).toMatchObject({kind: 'opened'});
    // The owner has opened it as it is to be.
    await end(2, owner, 'paused').promise;
    expect(await log.tail()).toMatchObject({kind: 'open', epoch: 3});
  }));

test('an `open` of a pause that was not closed names the host that paused, not the owner in the entry', () =>
  course(async all => {
    const {a, owner, log, end} = all;
    const tail = await served(all);
    await log.append(tail, note('close', 1));
    const self = noteOfOwner({host: 'a', incarnation: a.lease.incarnation});
    await log.append(await log.tail(), note('open', 2, self));
    await end(2, owner, 'paused').promise;
    expect(await log.tail()).toMatchObject({kind: 'close', epoch: 3});
  }));
