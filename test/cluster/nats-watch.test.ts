/** Watches and readings whose servers are lost. One server sends their messages, and it need not be the leader. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {EngineError, type LogEngine} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import type {LogPosition} from '../../cluster/log/record.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import {encodeMember, MEMBER_FORMAT, memberKey} from '../../cluster/members/member-record.ts';
import {Members} from '../../cluster/members/members.ts';
import {until} from '../harness/until.ts';
import {committed} from './harness/conformance.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {type NatsServer, NatsServers} from './harness/nats-servers.ts';
import {CLUSTER, commit, newTenant, opened, SUBJECTS} from './harness/rig.ts';
import {ABOUT} from './harness/test-member.ts';

let servers: NatsServers;

beforeAll(async () => {
  servers = await NatsServers.start();
  await natsRig(servers);
});

afterAll(() => servers?.stop());

const RECORDS = {kind: 'records'} as const;
/** More than one request returns. */
const RECORDS_READ = 600;

function unlessUnavailable(caught: unknown): null {
  if (caught instanceof EngineError || (caught instanceof LogError && caught.code === 'behind')) return null;
  throw caught;
}

/** What updates its entry. */
function memberOf(engine: LogEngine): () => Promise<number> {
  const {records} = new ReplicatedLog(engine, CLUSTER);
  const identity = {format: MEMBER_FORMAT, incarnation: 1, start: '0'.repeat(32)} as const;
  let [counter, revision] = [0, 0];
  return async () => {
    const record = {...identity, counter: ++counter, state: 'live', ...ABOUT} as const;
    const outcome = await records.set(memberKey('a'), encodeMember(record), revision);
    const decision = outcome.kind === 'unknown' ? await outcome.decided : outcome;
    if (decision.kind !== 'stored') throw new Error(decision.kind);
    ({revision} = decision);
    return counter;
  };
}

test('members are received again after kill -9 of the server that sent them, which stays down', async () => {
  const [watching, writing] = [await servers.host(), await servers.host()];
  const update = memberOf(writing.engine);
  const members = new Members({records: new ReplicatedLog(watching.engine, CLUSTER).records});
  const end = new AbortController();
  const watch = members.watch(end.signal);
  const received = async () => {
    const sent = await update();
    await until(`update ${sent}`, () => members.serving()[0]?.record.counter === sent);
  };
  await received();
  const [server] = await until('a consumer', async () => {
    const found = await servers.consumersOf(RECORDS);
    return found.length > 0 && found;
  });
  await server!.kill();
  await received();
  await received();
  end.abort();
  await watch;
  await server!.start();
});

test('a watch ends with an error while nothing reaches its host, and a new one returns what it has missed', async () => {
  const [host, writing] = [await servers.host(), await servers.host()];
  const tenant = newTenant();
  const log = new ReplicatedLog(writing.engine, CLUSTER).tenant(tenant);
  const {name} = SUBJECTS.log(tenant);
  const end = new AbortController();
  let [isStalled, isLost, isUpToDate] = [false, false, false];
  const seen: number[] = [];
  const watching = (async () => {
    while (!end.signal.aborted) {
      try {
        const options = {from: (seen.at(-1) ?? 0) + 1, signal: end.signal};
        for await (const message of host.engine.watch(LOG, [name], options)) {
          if (message === null) isUpToDate = true;
          else seen.push(message.sequence);
        }
      } catch (error) {
        // At the beginning, the server that was killed before can still be starting.
        if (!(error instanceof EngineError)) throw error;
        isUpToDate = false;
        isLost = isStalled;
      }
    }
  })();
  const first = await opened(log, 1);
  await until('what is there', () => isUpToDate && seen.length > 0);
  isStalled = true;
  for (const link of host.links) link.stall(['back']);
  const second = await committed(log.append(first, commit(1, 'missed')));
  await until('the end of the watch', () => isLost);
  for (const link of host.links) link.heal();
  await until('what it missed', () => isUpToDate && seen.length > 1);
  end.abort();
  await watching;
  expect(seen).toEqual([first.sequence, second.sequence]);
});

test('a reading that loses its server fails, and goes on from where it was; one that is stopped leaves nothing', async () => {
  const [reading, writing] = [await servers.host(), await servers.host()];
  const tenant = newTenant();
  const log = new ReplicatedLog(writing.engine, CLUSTER).tenant(tenant);
  let tail = await until('a leader', () => opened(log, 1).catch(unlessUnavailable));
  const expected = [tail];
  for (let i = 1; i < RECORDS_READ; i++) {
    tail = await committed(log.append(tail, commit(1, `${i}`)));
    expected.push(tail);
  }
  const reader = new ReplicatedLog(reading.engine, CLUSTER).tenant(tenant);
  for await (const {head} of reader.read(null)) if (head.n > RECORDS_READ / 2) break;
  await until('the end of the consumer', async () => (await servers.consumersOf(LOG)).length === 0);

  const found: LogPosition[] = [];
  let killed: NatsServer | undefined;
  while (found.length < RECORDS_READ) {
    try {
      for await (const {position} of reader.read(found.at(-1) ?? null)) {
        found.push(position);
        if (killed !== undefined || found.length < RECORDS_READ / 2) continue;
        [killed] = await until('a consumer', async () => {
          const holders = await servers.consumersOf(LOG);
          return holders.length > 0 && holders;
        });
        await killed!.kill();
      }
    } catch (error) {
      unlessUnavailable(error);
    }
  }
  expect(found).toEqual(expected);
  await killed!.start();
});
