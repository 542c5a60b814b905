/** On three real NATS servers: each safeguard, and what happens without it. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {LogEngine} from '../../cluster/log/log-engine.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {HostLease} from '../../cluster/members/host-lease.ts';
import {Members} from '../../cluster/members/members.ts';
import {until} from '../harness/until.ts';
import {decided, rivals, SCENARIOS} from './harness/conformance.ts';
import {withoutExpectation, withTrustedIds} from './harness/mutants.ts';
import {natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {opensLog, opensNothing} from './harness/random-history.ts';
import {CLUSTER, commit, hostOf, newTenant, opened, type Rig} from './harness/rig.ts';
import {ABOUT} from './harness/test-member.ts';

let servers: NatsServers;

beforeAll(async () => {
  servers = await NatsServers.start();
  await natsRig(servers);
});

afterAll(() => servers?.stop());

const rigOf = (wrap?: (engine: LogEngine) => LogEngine): Promise<Rig> => natsRig(servers, wrap);

test('without the expected sequence, several rivals win a round', async () => {
  await rivals(3)(await rigOf());
  await expect(rivals(3)(await rigOf(withoutExpectation))).rejects.toThrow('winners of round 0');
});

test('with trusted message ids, a refused record counts as stored', async () => {
  const scenario = SCENARIOS['a refused record, then a retry: refused']!;
  await scenario(await rigOf());
  await expect(scenario(await rigOf(withTrustedIds))).rejects.toThrow("expected 'committed' to be 'refused'");
});

test('without the record that opens an epoch, the owner before goes on', async () => {
  const rig = await rigOf();
  const lateCommit = async (opens: typeof opensLog) => {
    const [a, b] = [await hostOf(rig), await hostOf(rig)];
    const tenant = newTenant();
    const tail = await opened(a.log(tenant), 1);
    await opens(rig, b.log(tenant), 2);
    return (await decided(a.log(tenant).append(tail, commit(1, 'late')))).kind;
  };
  expect(await lateCommit(opensLog)).toBe('refused');
  expect(await lateCommit(opensNothing)).toBe('committed');
});

const LEASE_MS = 2_000;

test('if the lease of a host is not awaited, it still holds it when it is found to have ended', async () => {
  const holdsWhenEnded = async (host: string, believedLeaseMs: number) => {
    const [mine, others] = [await servers.host(), await servers.host()];
    const recordsOf = ({engine}: {engine: LogEngine}) => new ReplicatedLog(engine, CLUSTER).records;
    const end = new AbortController();
    const members = new Members({records: recordsOf(others), leaseMs: believedLeaseMs});
    const watching = members.watch(end.signal);
    const start = '1'.repeat(32);
    const own = new Members({records: recordsOf(mine)});
    const lease = new HostLease({records: recordsOf(mine), members: own, host, start, about: ABOUT, leaseMs: LEASE_MS});
    expect(await lease.join(start, end.signal)).toEqual({kind: 'joined', incarnation: 1});
    // It renews nothing: the host hangs.
    await until('its end', async () => (await members.outcomeOf(host, 1, end.signal, 0)) === 'ended');
    const holds = lease.holds();
    end.abort();
    await watching;
    return holds;
  };
  expect(await holdsWhenEnded('a', LEASE_MS)).toBe(false);
  expect(await holdsWhenEnded('b', 1)).toBe(true);
});
