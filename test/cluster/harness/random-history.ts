/**
 * Owners that follow one another while everything goes wrong. A seed repeats a course. What is checked: every acknowledged
 * record is in the log once and in its place, the log is one chain, and no record of an epoch was acknowledged that was
 * appended after a later epoch began to serve.
 */
import {expect} from 'vitest';
import {EngineError} from '../../../cluster/log/log-engine.ts';
import {LogError} from '../../../cluster/log/log-error.ts';
import type {LogPosition} from '../../../cluster/log/record.ts';
import type {AppendDecision, LogRecord, TenantLog} from '../../../cluster/log/tenant-log.ts';
import {delay} from '../../../cluster/log/timing.ts';
import {seededRandom} from '../../harness/random.ts';
import type {Fault, Request} from './faulty-engine.ts';
import {allOf, commit, type Host, hostOf, newTenant, note, openOptions, type Rig} from './rig.ts';

const HOSTS = 3;
const TAKEOVERS = 12;
const COMMITS_MAX = 8;
const OPENS_MAX = 1_000;

/** @returns null: a later epoch has begun */
type Opener = (rig: Rig, log: TenantLog, epoch: number) => Promise<LogPosition | null>;

/** Reads fail like other requests, or miss what is there; the owner reads on from where it is. */
export const opensLog: Opener = async (rig, log, epoch) => {
  let from: LogPosition | null = null;
  const apply = ({position}: LogRecord) => {
    from = position;
  };
  for (let left = OPENS_MAX; ; left--) {
    try {
      const outcome = await log.open({...openOptions(epoch, from), apply});
      return outcome.kind === 'opened' ? outcome.position : null;
    } catch (error) {
      const isTemporary = error instanceof EngineError || (error instanceof LogError && error.code === 'behind');
      if (!isTemporary || left === 0) throw error;
      await delay(rig.timing, 20);
    }
  }
};

/** The mutant: it begins where it finds the log, without a record that keeps the owner before it out. */
export const opensNothing: Opener = async (rig, log, epoch) => {
  const tail = await log.tail().catch(() => null);
  return tail === null ? opensLog(rig, log, epoch) : {...tail, epoch};
};

/** @param share of requests that fail */
export async function randomHistory(rig: Rig, seed: number, {share = 0.3, opens = opensLog} = {}): Promise<void> {
  const random = seededRandom(seed);
  const tenant = newTenant();
  const hosts: Host[] = [];
  /** While it has not passed, no request of any host is answered. */
  let election = 0;
  for (let i = 0; i < HOSTS; i++) {
    const host = await hostOf(rig);
    host.choose(request => {
      if (election > 0) {
        election--;
        return random() < 0.5 ? 'lost' : 'ack_lost';
      }
      if (random() < 0.01) election = 10;
      return random() < share ? randomFault(request, random) : 'none';
    });
    hosts.push(host);
  }
  const acknowledged: LogPosition[] = [];
  const violations: string[] = [];
  let epochs = 0;
  /** The highest epoch that serves, and what it had read when it began to. */
  let serving = {epoch: 0, from: 0};

  const own = async (host: Host, epoch: number): Promise<void> => {
    const log = host.log(tenant);
    let tail = await opens(rig, log, epoch);
    if (tail === null) return;
    if (epoch > serving.epoch) serving = {epoch, from: tail.n};
    for (let i = Math.floor(random() * COMMITS_MAX); i > 0; i--) {
      await delay(rig.timing, random() * 300);
      const outcome = await log.append(tail, commit(epoch, `${epoch} ${i}`));
      const decision: AppendDecision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
      if (decision.kind !== 'committed') return;
      tail = decision.position;
      acknowledged.push(tail);
      if (epoch < serving.epoch && tail.n > serving.from) violations.push(`${epoch}.${tail.n} after ${serving.epoch}`);
    }
    if (random() < 0.3) await log.append(tail, note('close', epoch));
  };

  const owners: Promise<void>[] = [];
  for (let i = 0; i < TAKEOVERS; i++) {
    const host = hosts[Math.floor(random() * HOSTS)]!;
    owners.push(own(host, ++epochs).catch((error: Error) => void violations.push(error.message)));
    await delay(rig.timing, random() * 1_500);
  }
  await Promise.all(owners);
  await Promise.all(hosts.map(host => host.engine.settled()));

  const reader = await hostOf(rig);
  const records = await allOf(reader.log(tenant));
  const found = (position: LogPosition) => records[position.n - 1]?.position;
  expect(violations, `seed ${seed}`).toEqual([]);
  for (const position of acknowledged) expect(found(position), `seed ${seed}`).toEqual(position);
}

export function randomFault(request: Request, random: () => number): Fault {
  const faults: Fault[] =
    request === 'read' ? ['stale', 'lost'] : ['lost', 'ack_lost', 'duplicate', {late: 1 + random() * 2_000}];
  return faults[Math.floor(random() * faults.length)]!;
}
