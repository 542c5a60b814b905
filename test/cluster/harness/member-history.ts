/**
 * Three hosts that update their entries and watch one another, while they pause at awaits, requests fail, watches are
 * late, clocks run at different speeds, and hosts are killed. A seed repeats a course. An incarnation that one host has
 * found to have ended must not hold a lease from then on.
 */
import type {LogEngine} from '../../../cluster/log/log-engine.ts';
import {delay} from '../../../cluster/log/timing.ts';
import {seededRandom} from '../../harness/random.ts';
import {MemoryStreams} from './memory-engine.ts';
import {type RandomFaults, randomFaults} from './random-faults.ts';
import {TestMember} from './test-member.ts';
import {VirtualTime} from './virtual-time.ts';

const DURATION_MS = 60_000;
/** Speeds of clocks: the fastest and the slowest differ by less than `LEASE_WAIT`. */
const SPEEDS = {least: 0.96, most: 1.04};

type History = {violations: string[]; ended: number; alive: number};

export async function memberHistory(
  seed: number,
  {wrap, believedLeaseMs}: {wrap?: (engine: LogEngine) => LogEngine; believedLeaseMs?: number},
): Promise<History> {
  const random = seededRandom(seed);
  const time = new VirtualTime();
  const streams = new MemoryStreams();
  const faults: RandomFaults = randomFaults(random, {share: 0.15, pauses: 0.02});
  const history: History = {violations: [], ended: 0, alive: 0};
  const ended = new Set<string>();
  const running = new Map<string, TestMember>();
  let starts = 0;

  const check = () => {
    for (const [host, {lease}] of running) {
      const name = `${host}.${lease.incarnation}`;
      if (ended.has(name) && lease.holds()) history.violations.push(`${name} has a lease at ${time.nowMs}`);
    }
  };

  const start = (host: string): TestMember => {
    const member = new TestMember(time, streams, {
      host,
      start: (++starts).toString(16).padStart(32, '0'),
      speed: SPEEDS.least + random() * (SPEEDS.most - SPEEDS.least),
      ...faults,
      wrap,
      believedLeaseMs,
      onDeadline: check,
    });
    running.set(host, member);
    return member;
  };

  /** Joins and renews until it is killed. */
  const live = async (member: TestMember, previousStart: string | null) => {
    while (!member.signal.aborted) {
      const outcome = await member.lease.join(previousStart, member.signal);
      if (outcome.kind === 'joined') await member.lease.renew(member.signal);
      else await delay(time, 1_000);
    }
  };

  /** Finds out about the others, as one that wants their tenants. */
  const observe = async (member: TestMember) => {
    while (!member.signal.aborted) {
      await delay(member.clock, random() * 3_000);
      const [host, other] = [...running][Math.floor(random() * running.size)]!;
      const {incarnation} = other.lease;
      if (other === member || incarnation === 0) continue;
      const outcome = await member.members.outcomeOf(host, incarnation, member.signal);
      if (outcome === 'abandoned') continue;
      history[outcome]++;
      if (outcome === 'ended') ended.add(`${host}.${incarnation}`);
      check();
    }
  };

  const run = async (host: string) => {
    for (let previous: string | null = null; time.nowMs < DURATION_MS; ) {
      const member = start(host);
      const work = [live(member, previous), observe(member)];
      await delay(time, Math.min(10_000 + random() * 40_000, Math.max(0, DURATION_MS - time.nowMs)));
      await member.kill();
      await Promise.all(work);
      // Sometimes on another machine, which does not know what ran before.
      previous = random() < 0.7 ? starts.toString(16).padStart(32, '0') : null;
    }
  };
  await time.run(Promise.all(['a', 'b', 'c'].map(run)));
  return history;
}
