/** Members, their leases and their ends, in memory with virtual time. */
import {randomInt} from 'node:crypto';
import {expect, test} from 'vitest';
import {HOSTS_MAX, LEASE_MS, LEASE_WAIT, MEMBER_SILENT_MS, RENEW_MS} from '../../cluster/limits.ts';
import type {LogEngine} from '../../cluster/log/log-engine.ts';
import {delay} from '../../cluster/log/timing.ts';
import {decodeMember, encodeMember, memberKey} from '../../cluster/members/member-record.ts';
import {rounds} from '../harness/nightly.ts';
import type {Fault} from './harness/faulty-engine.ts';
import {memberHistory} from './harness/member-history.ts';
import {MemoryStreams} from './harness/memory-engine.ts';
import {withoutExpectation} from './harness/mutants.ts';
import {ABOUT, type MemberOptions, TestMember} from './harness/test-member.ts';
import {VirtualTime} from './harness/virtual-time.ts';

const BEGIN = process.env.SVC_CLUSTER_SEED === undefined ? randomInt(2 ** 30) : Number(process.env.SVC_CLUSTER_SEED);
const SEEDS = Array.from({length: rounds({commit: 30, nightly: 300})}, (_, i) => BEGIN + i);
/** Those of the mutants are the same in each run. */
const FIXED_SEEDS = Array.from({length: 20}, (_, i) => i);
const TIMEOUT_MS = 300_000;

type Cluster = {time: VirtualTime; streams: MemoryStreams; start: (options: MemberOptions) => TestMember};

/** Runs a scenario, then ends its hosts. */
async function inCluster(scenario: (cluster: Cluster) => Promise<void>): Promise<void> {
  const time = new VirtualTime();
  const streams = new MemoryStreams();
  const hosts: TestMember[] = [];
  const start = (options: MemberOptions) => {
    const host = new TestMember(time, streams, options);
    hosts.push(host);
    return host;
  };
  await time.run(scenario({time, streams, start}).finally(() => Promise.all(hosts.map(host => host.kill()))));
}

/** @returns the incarnation */
async function joined(host: TestMember, previousStart: string | null = null): Promise<number> {
  const outcome = await host.lease.join(previousStart, host.signal);
  if (outcome.kind !== 'joined') throw new Error(`joining was ${JSON.stringify(outcome)}`);
  return outcome.incarnation;
}

test('a lease counts from when its update was sent, however late the answer is', () =>
  inCluster(async ({time, start}) => {
    const faults: Fault[] = [];
    const a = start({host: 'a', choosesFault: request => (request === 'publish' && faults.shift()) || 'none'});
    await joined(a);
    const joinedUntil = a.lease.untilMs;
    expect(joinedUntil).toBeLessThanOrEqual(time.nowMs + LEASE_MS);
    // The first deliveries are lost, and one that arrives late is stored.
    faults.push({late: 1_500}, 'lost', 'lost', 'lost');
    const sent = time.nowMs;
    const ending = a.lease.renew(a.signal);
    while (a.lease.untilMs === joinedUntil) await delay(time, 1);
    expect(a.lease.untilMs).toBe(sent + LEASE_MS);
    expect(time.nowMs).toBeGreaterThan(sent + 100);
    await a.kill();
    expect(await ending).toBe('stopped');
  }));

test('a silent host is awaited for its lease and then expired; it finds this, and joins under another incarnation', () =>
  inCluster(async ({time, start}) => {
    const [a, b] = [start({host: 'a'}), start({host: 'b'})];
    expect(await joined(a)).toBe(1);
    const renewing = a.lease.renew(a.signal);
    while (b.members.serving().length === 0) await delay(time, 10);
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('alive');
    a.clock.pause(15_000);
    const pausedMs = time.nowMs;
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('alive');
    await delay(time, MEMBER_SILENT_MS + RENEW_MS);
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('ended');
    expect(time.nowMs - pausedMs).toBeGreaterThan(LEASE_WAIT * LEASE_MS - RENEW_MS);
    expect(time.nowMs - pausedMs).toBeLessThan(LEASE_WAIT * LEASE_MS + RENEW_MS);
    expect(b.members.serving()).toEqual([]);
    expect(await renewing).toBe('expired');
    expect(a.lease.holds()).toBe(false);
    expect(await joined(a)).toBe(2);
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('ended');
    expect(await b.members.outcomeOf('a', 2, b.signal)).toBe('alive');
  }));

test('after a time in which no host could update its entry, none is expired that can again', () =>
  inCluster(async ({time, start}) => {
    let [lostToA, lostToB] = [false, false];
    const a = start({host: 'a', choosesFault: () => (lostToA ? 'lost' : 'none')});
    const b = start({host: 'b', choosesFault: () => (lostToB ? 'lost' : 'none')});
    await Promise.all([joined(a), joined(b)]);
    const renewing = [a, b].map(host => host.lease.renew(host.signal));
    while (b.members.serving().length < 2) await delay(time, 10);
    const killed = start({host: 'c'});
    await joined(killed);
    await killed.kill();
    [lostToA, lostToB] = [true, true];
    await delay(time, LEASE_WAIT * LEASE_MS);
    const outcomes = ['a', 'c'].map(host => b.members.outcomeOf(host, 1, b.signal));
    await delay(time, 2 * RENEW_MS);
    lostToB = false;
    await delay(time, 150);
    lostToA = false;
    expect(await Promise.all(outcomes)).toEqual(['alive', 'ended']);
    expect([a, b].map(({lease}) => lease.holds())).toEqual([true, true]);
    await Promise.all([a.kill(), b.kill()]);
    expect(await Promise.all(renewing)).toEqual(['stopped', 'stopped']);
  }));

test('an update that is on its way when its host is expired is never stored', () =>
  inCluster(async ({time, start}) => {
    const faults: Fault[] = [];
    const a = start({host: 'a', choosesFault: request => (request === 'publish' && faults.shift()) || 'none'});
    const b = start({host: 'b'});
    await joined(a);
    while (b.members.serving().length === 0) await delay(time, 10);
    faults.push({late: 20_000});
    const renewing = a.lease.renew(a.signal);
    a.clock.pause(30_000);
    await delay(time, MEMBER_SILENT_MS);
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('ended');
    expect(await renewing).toBe('expired');
  }));

test('a second svc with the name of a living host is refused; one whose predecessor was killed waits for its lease', () =>
  inCluster(async ({time, start}) => {
    const first = start({host: 'a', start: '1'.repeat(32)});
    await joined(first);
    const renewing = first.lease.renew(first.signal);
    const second = start({host: 'a', start: '2'.repeat(32)});
    expect(await second.lease.join(null, second.signal)).toEqual({
      kind: 'refused',
      sentence: 'another svc runs with the host name a (incarnation 1); give each host a name of its own',
    });
    await first.kill();
    await renewing;
    const killedMs = time.nowMs;
    expect(await joined(second)).toBe(2);
    expect(time.nowMs - killedMs).toBeGreaterThan(LEASE_WAIT * LEASE_MS - RENEW_MS);
    expect(first.lease.holds()).toBe(false);

    // The lock on its data directory proves that the one before has ended.
    await second.kill();
    const third = start({host: 'a', start: '3'.repeat(32)});
    const restartMs = time.nowMs;
    expect(await joined(third, '2'.repeat(32))).toBe(3);
    expect(time.nowMs - restartMs).toBeLessThan(100);
  }));

test('two starts with one new name: one joins', () =>
  inCluster(async ({start}) => {
    const pair = ['1', '2'].map(digit => start({host: 'a', start: digit.repeat(32)}));
    const joining = pair.map(host => host.lease.join(null, host.signal));
    const first = await Promise.race(joining.map((outcome, at) => outcome.then(({kind}) => ({kind, at}))));
    expect(first.kind).toBe('joined');
    const renewing = pair[first.at]!.lease.renew(pair[first.at]!.signal);
    expect((await joining[1 - first.at]!).kind).toBe('refused');
    await pair[first.at]!.kill();
    await renewing;
  }));

test('a host that has left is not awaited, and one that drains is still alive', () =>
  inCluster(async ({time, start}) => {
    const [a, b] = [start({host: 'a'}), start({host: 'b'})];
    await joined(a);
    const renewing = a.lease.renew(a.signal);
    a.lease.drain();
    while (b.members.serving()[0]?.record.state !== 'draining') await delay(time, 100);
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('alive');
    expect(await a.lease.leave(a.signal)).toBe(true);
    expect(await renewing).toBe('expired');
    const leftMs = time.nowMs;
    expect(await b.members.outcomeOf('a', 1, b.signal)).toBe('ended');
    expect(time.nowMs - leftMs).toBeLessThan(RENEW_MS);
  }));

test('a host whose entry was lost is expired by an entry that is made for it', () =>
  inCluster(async ({time, start}) => {
    const b = start({host: 'b'});
    const beginMs = time.nowMs;
    expect(await b.members.outcomeOf('a', 7, b.signal)).toBe('ended');
    expect(time.nowMs - beginMs).toBeGreaterThan(LEASE_WAIT * LEASE_MS);
    const a = start({host: 'a'});
    expect(await joined(a)).toBe(8);
  }));

const RECORDS = {kind: 'records'} as const;

test.each(['their entries of before', 'no entries'])(
  'servers that come back with older stores and %s: hosts that run join again, under incarnations that are new',
  which =>
    inCluster(async ({time, streams, start}) => {
      const hosts = [start({host: 'a'}), start({host: 'b'})] as const;
      const [a, b] = hosts;
      await Promise.all(hosts.map(host => joined(host)));
      const kept = which === 'no entries' ? 0 : streams.of(RECORDS).sequence;
      const renewing = hosts.map(host => host.lease.renew(host.signal));
      await delay(time, 10 * RENEW_MS);
      streams.loseAfter(RECORDS, kept);
      expect(await Promise.all(renewing)).toEqual(['expired', 'expired']);
      expect(await Promise.all(hosts.map(host => joined(host)))).toEqual([2, 2]);
      const again = hosts.map(host => host.lease.renew(host.signal));
      await delay(time, 2 * RENEW_MS);
      for (const {members} of hosts) expect(members.serving().map(({host}) => host)).toEqual(['a', 'b']);
      expect(await b.members.outcomeOf('a', 2, b.signal)).toBe('alive');
      await a.kill();
      await delay(time, MEMBER_SILENT_MS);
      expect(await b.members.outcomeOf('a', 2, b.signal)).toBe('ended');
      await b.kill();
      expect(await Promise.all(again)).toEqual(['stopped', 'stopped']);
    }),
);

test('hosts that were invented do not keep out a new one', () =>
  inCluster(async ({time, start}) => {
    const b = start({host: 'b'});
    const invented = Array.from({length: HOSTS_MAX}, (_, i) => b.members.outcomeOf(`x${i}`, 1, b.signal));
    expect(new Set(await Promise.all(invented))).toEqual(new Set(['ended']));
    const a = start({host: 'a'});
    await joined(a);
    const renewing = a.lease.renew(a.signal);
    await delay(time, 2 * RENEW_MS);
    expect(b.members.serving().map(({host}) => host)).toEqual(['a']);
    await a.kill();
    await renewing;
  }));

test('an incarnation above the one that the log names has ended, one below it is expired first', () =>
  inCluster(async ({start}) => {
    const [a, b] = [start({host: 'a'}), start({host: 'b'})];
    await joined(a);
    const renewing = a.lease.renew(a.signal);
    expect(await b.members.outcomeOf('a', 5, b.signal)).toBe('ended');
    expect(await renewing).toBe('expired');
    expect(await joined(a)).toBe(6);
    expect(await b.members.outcomeOf('a', 5, b.signal)).toBe('ended');
  }));

const MEMBER = {format: 1, state: 'live', incarnation: 1, start: 'a'.repeat(32), counter: 1, ...ABOUT} as const;
const EXPIRED = {format: 1, state: 'expired', incarnation: 1, start: 'a'.repeat(32), counter: 1} as const;

test.each<[string, unknown]>([
  ['another format', {...MEMBER, format: 2}],
  ['an unknown member', {...MEMBER, secret: 1}],
  ['an expired host with an address', {...EXPIRED, peer: 'a:1'}],
  ['no capacity', {...MEMBER, capacity: 0}],
  ['a fraction as counter', {...MEMBER, counter: 1.5}],
  ['an unknown state', {...MEMBER, state: 'gone'}],
  ['a list', []],
])('an entry with %s is refused', (_, value) => {
  const bytes = Buffer.from(JSON.stringify(value));
  expect(() => decodeMember('a', bytes)).toThrow('the entry of the host a breaks its format');
});

test('entries are read as they were written', () => {
  for (const record of [MEMBER, EXPIRED]) expect(decodeMember('a', encodeMember(record))).toEqual(record);
  expect(() => decodeMember('a', Buffer.from('{'))).toThrow('the entry of the host a is no JSON');
});

test('a damaged entry is reported, and its host gets no tenants and does not start', () =>
  inCluster(async ({time, start}) => {
    const b = start({host: 'b'});
    await b.replicated.records.set(memberKey('a'), Buffer.from('{}'), 0);
    while (b.reports.length === 0) await delay(time, 10);
    expect(b.reports).toEqual(['the entry of the host a breaks its format']);
    expect(b.members.serving()).toEqual([]);
    const a = start({host: 'a'});
    const refused = {kind: 'refused', sentence: 'the entry of the host a breaks its format'};
    expect(await a.lease.join(null, a.signal)).toEqual(refused);
  }));

async function failedSeeds(
  seeds: readonly number[],
  options: {wrap?: (engine: LogEngine) => LogEngine; believedLeaseMs?: number} = {},
) {
  const failures: string[] = [];
  const seen = {ended: 0, alive: 0};
  for (const seed of seeds) {
    const history = await memberHistory(seed, options);
    failures.push(...history.violations.map(violation => `seed ${seed}: ${violation}`));
    seen.ended += history.ended;
    seen.alive += history.alive;
  }
  return {failures, seen};
}

test(
  `with pauses, faults and late watches, no host that was found to have ended has a lease, from seed ${BEGIN}`,
  async () => {
    const {failures, seen} = await failedSeeds(SEEDS);
    expect(failures).toEqual([]);
    expect(seen.ended).toBeGreaterThan(SEEDS.length);
    expect(seen.alive).toBeGreaterThan(SEEDS.length);
  },
  TIMEOUT_MS,
);

test(
  'the same fails if entries are replaced without their revision, or if the wait is shorter than the lease',
  async () => {
    expect((await failedSeeds(FIXED_SEEDS, {wrap: withoutExpectation})).failures).not.toEqual([]);
    expect((await failedSeeds(FIXED_SEEDS, {believedLeaseMs: LEASE_MS / 2})).failures).not.toEqual([]);
  },
  TIMEOUT_MS,
);
