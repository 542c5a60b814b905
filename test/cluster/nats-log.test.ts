/** The suite on three real NATS servers. Their elections and syncs take seconds, so one set of servers is used by all. */
import {afterAll, beforeAll, expect, test} from 'vitest';
import {serversFault, varzOf} from '../../cluster/nats/server-settings.ts';
import {streamSettings} from '../../cluster/nats/stream-settings.ts';
import {rounds} from '../harness/nightly.ts';
import {until} from '../harness/until.ts';
import {committed, rivals, SCENARIOS} from './harness/conformance.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {commit, hostOf, newTenant, opened, type Rig, SUBJECTS, TENANT_SHARD} from './harness/rig.ts';

let servers: NatsServers;
let rig: Rig;

beforeAll(async () => {
  servers = await NatsServers.start();
  rig = await natsRig(servers);
});

afterAll(() => servers?.stop());

test.each(Object.entries(SCENARIOS))('%s', (_, scenario) => scenario(rig));

test('a stream that would forget records is refused in one sentence, and stays as it is', async () => {
  const {engine} = await servers.host();
  const stream = {kind: 'log', shard: TENANT_SHARD + 1} as const;
  const settings = streamSettings(SUBJECTS, stream, 3);
  await servers.configure('STREAM.CREATE', {...settings, max_age: 3_600_000_000_000});
  const sentence = 'the stream svc_test_log_8 has max_age 3600000000000 and needs 0: ';
  await expect(engine.prepare(stream, {replicas: 3, isNew: true})).rejects.toThrow(sentence);
  await expect(engine.prepare(stream, {replicas: 3, isNew: true})).rejects.toThrow(sentence);
});

test('a server that syncs now and then is refused', async () => {
  const single = await NatsServers.start({count: 1, jetstream: ''});
  try {
    const varz = await varzOf(single.servers[0]!.monitor);
    expect(serversFault([varz])).toBe(
      'the NATS server n1 acknowledges records before they are on disk; set sync_interval to always in its jetstream section.',
    );
  } finally {
    await single.stop();
  }
  await expect(varzOf(single.servers[0]!.monitor)).rejects.toThrow('cannot be read');
});

test('a watch goes on after it has returned what was there, in order and without gaps', async () => {
  const tenant = newTenant();
  const log = (await hostOf(rig)).log(tenant);
  const engine = await rig.connect();
  const end = new AbortController();
  const seen: number[] = [];
  let isUpToDate = false;
  let tail = await opened(log, 1);
  const expected = [tail.sequence];
  const watching = (async () => {
    const options = {from: tail.sequence, signal: end.signal};
    for await (const message of engine.watch(LOG, [SUBJECTS.log(tenant).name], options)) {
      if (message === null) isUpToDate = true;
      else seen.push(message.sequence);
    }
  })();
  await until('what is there', () => isUpToDate);
  for (let i = 0; i < 20; i++) {
    tail = await committed(log.append(tail, commit(1, `${i}`)));
    expected.push(tail.sequence);
  }
  await until('the records since', () => seen.at(-1) === tail.sequence);
  end.abort();
  await watching;
  expect(seen).toEqual(expected);
});

const ROUNDS = rounds({commit: 50, nightly: 10_000});
test(`of six rivals with one expectation, one wins, in each of ${ROUNDS} rounds`, () => rivals(ROUNDS)(rig), 1_800_000);
