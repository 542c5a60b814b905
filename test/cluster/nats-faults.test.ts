/** Servers that end, hang and are cut off, while a host writes: elections take 4 to 9 s each. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {EngineError} from '../../cluster/log/log-engine.ts';
import {LogError} from '../../cluster/log/log-error.ts';
import type {LogPosition} from '../../cluster/log/record.ts';
import {ReplicatedLog} from '../../cluster/log/replicated-log.ts';
import type {TenantLog} from '../../cluster/log/tenant-log.ts';
import {connectToAny} from '../../cluster/nats/connection.ts';
import {serversFault, varzOf} from '../../cluster/nats/server-settings.ts';
import {nightly} from '../harness/nightly.ts';
import {until} from '../harness/until.ts';
import {decided} from './harness/conformance.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {allOf, CLUSTER, commit, newTenant, opened} from './harness/rig.ts';

let servers: NatsServers;

beforeAll(async () => {
  servers = await NatsServers.start();
  await natsRig(servers);
});

afterAll(() => servers?.stop());

class Writer {
  readonly acknowledged: LogPosition[] = [];
  readonly ended: Promise<string>;
  #isStopped = false;
  #held: Promise<void> = Promise.resolve();
  /** After `hold`. */
  goOn: () => void = () => {};

  constructor(log: TenantLog, tail: LogPosition) {
    this.ended = this.#write(log, tail);
  }

  stop(): Promise<string> {
    this.#isStopped = true;
    return this.ended;
  }

  /**
   * Begins no more records until `goOn`, like a host whose lease has ended. While one host appends without a pause, the
   * `open` of another one can be refused for ever: it reads the log before each attempt.
   */
  hold(): void {
    this.#held = new Promise(resolve => {
      this.goOn = resolve;
    });
  }

  /** Waits for so many more. */
  async more(count: number): Promise<void> {
    const before = this.acknowledged.length;
    await until(`${count} more acknowledged records`, () => this.acknowledged.length >= before + count);
  }

  async #write(log: TenantLog, tail: LogPosition): Promise<string> {
    for (let at = tail; !this.#isStopped; ) {
      const decision = await decided(log.append(at, commit(at.epoch, `after ${at.n}`)));
      if (decision.kind !== 'committed') return decision.kind;
      at = decision.position;
      this.acknowledged.push(at);
      await this.#held;
    }
    return 'stopped';
  }
}

async function newHost() {
  const {engine, links} = await servers.host();
  return {engine, links, replicated: new ReplicatedLog(engine, CLUSTER)};
}

/** One chain, with every acknowledged record in its place. A server that has just led can return an older log, or none. */
async function checkAll(log: TenantLog, writers: readonly Writer[]): Promise<void> {
  const last = Math.max(...writers.flatMap(({acknowledged}) => acknowledged.map(({n}) => n)));
  const records = await until(`record ${last}`, async () => {
    const found = await allOf(log).catch(unlessUnavailable);
    return found !== null && found.length >= last && found;
  });
  for (const {acknowledged} of writers) {
    expect(acknowledged.map(({n}) => records[n - 1]?.position)).toEqual(acknowledged);
  }
}

function unlessUnavailable(caught: unknown): null {
  if (caught instanceof EngineError || (caught instanceof LogError && caught.code === 'behind')) return null;
  throw caught;
}

test('the servers of the tests are as svc needs them', async () => {
  expect(serversFault(await Promise.all(servers.servers.map(server => varzOf(server.monitor))))).toBeNull();
});

test('a leader killed with SIGKILL costs no acknowledged record, and its writer goes on', async () => {
  const tenant = newTenant();
  const [a, reader] = [await newHost(), await newHost()];
  const log = a.replicated.tenant(tenant);
  const writer = new Writer(log, await opened(log, 1));
  await writer.more(20);
  const leader = await servers.leaderOf(LOG);
  await leader.kill();
  await writer.more(20);
  expect(await writer.stop()).toBe('stopped');
  await leader.start();
  await checkAll(reader.replicated.tenant(tenant), [writer]);
});

test('while its leader is stopped with SIGSTOP, the next epoch is opened, and the writer is refused', async () => {
  const tenant = newTenant();
  const [a, b] = [await newHost(), await newHost()];
  const [logA, logB] = [a.replicated.tenant(tenant), b.replicated.tenant(tenant)];
  const writerA = new Writer(logA, await opened(logA, 1));
  await writerA.more(20);
  const leader = await servers.leaderOf(LOG);
  leader.freeze();
  writerA.hold();
  try {
    const position = await until('the next epoch', () => opened(logB, 2).catch(unlessUnavailable));
    const writerB = new Writer(logB, position);
    await writerB.more(20);
    leader.thaw();
    writerA.goOn();
    expect(await writerA.ended).toBe('refused');
    await writerB.more(5);
    expect(await writerB.stop()).toBe('stopped');
    await checkAll(logB, [writerA, writerB]);
  } finally {
    leader.thaw();
  }
});

test('a host whose server is stopped with SIGSTOP connects to another one, and does not try that one first', async () => {
  for (let round = 0; round < 3; round++) {
    const connection = await connectToAny({servers: servers.addresses.map(({server}) => server), name: 'host'});
    const stopped = servers.servers.find(({name}) => name === connection.info?.server_name)!;
    stopped.freeze();
    try {
      const attempts: string[] = [];
      for await (const {type} of connection.status()) {
        if (type === 'reconnecting') attempts.push(type);
        if (type === 'reconnect') break;
      }
      expect(attempts).toEqual(['reconnecting']);
      expect(connection.info?.server_name).not.toBe(stopped.name);
    } finally {
      stopped.thaw();
      await connection.close();
    }
  }
});

nightly.test('a leader that is cut off together with its host takes no record, and loses none', async () => {
  const tenant = newTenant();
  const [a, b] = [await newHost(), await newHost()];
  const [logA, logB] = [a.replicated.tenant(tenant), b.replicated.tenant(tenant)];
  const writerA = new Writer(logA, await opened(logA, 1));
  await writerA.more(20);
  const leader = await servers.leaderOf(LOG);
  const others = servers.servers.filter(server => server !== leader);
  const cut = [
    ...others.flatMap(other => servers.between(leader, other)),
    ...servers.servers.flatMap((server, i) => [server === leader ? b.links[i]! : a.links[i]!]),
  ];
  for (const link of cut) link.cut();
  const position = await until('the next epoch', () => opened(logB, 2).catch(unlessUnavailable));
  const writerB = new Writer(logB, position);
  await writerB.more(20);
  for (const link of cut) link.heal();
  expect(await writerA.ended).toBe('refused');
  expect(await writerB.stop()).toBe('stopped');
  await checkAll(logB, [writerA, writerB]);
});

nightly.test('requests that arrive, and answers that do not, are found out once the link is healed', async () => {
  const tenant = newTenant();
  const host = await newHost();
  const log = host.replicated.tenant(tenant);
  const writer = new Writer(log, await opened(log, 1));
  await writer.more(20);
  for (const link of host.links) link.stall(['back']);
  const reader = (await newHost()).replicated.tenant(tenant);
  const before = writer.acknowledged.length;
  // One record was on its way or is; none after it is sent before it is decided.
  await until('a record without an answer', async () => (await allOf(reader)).length >= before + 1);
  for (const link of host.links) link.heal();
  await writer.more(20);
  expect(await writer.stop()).toBe('stopped');
  await checkAll(reader, [writer]);
});

nightly.test('with slow links between the servers, a writer goes on', async () => {
  const tenant = newTenant();
  const log = (await newHost()).replicated.tenant(tenant);
  const links = servers.servers.flatMap(a => servers.servers.filter(b => b !== a).flatMap(b => servers.between(a, b)));
  for (const link of links) link.delay(30);
  const writer = new Writer(log, await opened(log, 1));
  await writer.more(20);
  for (const link of links) link.heal();
  expect(await writer.stop()).toBe('stopped');
  await checkAll(log, [writer]);
});
