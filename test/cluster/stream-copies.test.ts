/** Copies of a stream that are not equal are noticed. A limit that is set while records are written makes them so. */
import {expect, onTestFinished, test} from 'vitest';
import {COPIES_LOOKS} from '../../cluster/limits.ts';
import type {LogEngine} from '../../cluster/log/log-engine.ts';
import {MONOTONIC_CLOCK} from '../../cluster/members/clock.ts';
import {MonitorPages} from '../../cluster/nats/monitor-pages.ts';
import {StreamCopies} from '../../cluster/nats/stream-copies.ts';
import {streamPrefixOf, streamSettings} from '../../cluster/nats/stream-settings.ts';
import {until} from '../harness/until.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {type NatsServer, NatsServers} from './harness/nats-servers.ts';
import {SUBJECTS} from './harness/rig.ts';

const TIMEOUT_MS = 120_000;
const WRITERS = 8;

/** Until the signal aborts. */
async function write(engine: LogEngine, writer: number, signal: AbortSignal): Promise<void> {
  const subject = {stream: LOG, name: `${SUBJECTS.prefix(LOG)}writer${writer}`};
  for (let n = 0; !signal.aborted; n++) await engine.publish(subject, Buffer.from(`${writer} ${n}`), null);
}

async function watched() {
  const servers = await NatsServers.start();
  const pages = new MonitorPages(servers.servers.map(({monitor}) => monitor));
  onTestFinished(async () => {
    await pages.close();
    await servers.stop();
  });
  await natsRig(servers);
  const {engine, links: toServers} = await servers.host();
  const said: string[] = [];
  const copies = new StreamCopies({
    ...{pages, prefix: streamPrefixOf(SUBJECTS), clock: MONOTONIC_CLOCK},
    report: line => said.push(line),
  });
  const looks = async () => {
    for (let n = 0; n < COPIES_LOOKS; n++) await copies.look();
  };
  const writing = async (meanwhile: () => Promise<void>) => {
    const end = new AbortController();
    const writers = Array.from({length: WRITERS}, (_, writer) => write(engine, writer, end.signal));
    try {
      await meanwhile();
    } finally {
      end.abort();
      await Promise.all(writers);
    }
  };
  return {servers, toServers, copies, said, looks, writing};
}

test('a copy that lost records to a limit is reported until it is made again', {timeout: TIMEOUT_MS}, async () => {
  const {servers, copies, said, looks, writing} = await watched();
  await writing(() => copies.look());
  expect(await servers.differentCopies()).toEqual([]);
  await looks();
  expect([said, copies.different]).toEqual([[], 0]);

  const limit = (max_bytes: number) =>
    servers.configure('STREAM.UPDATE', {...streamSettings(SUBJECTS, LOG, 3), max_bytes});
  const isOther =
    /^the copy of svc_test_log_7 on n\d is another one: it has \d+ messages, .* and that of its leader n\d \d+ messages/;
  await until('copies that differ', async () => {
    await writing(async () => {
      await limit(1);
      await limit(-1);
    });
    await looks();
    return said.some(line => isOther.test(line));
  });

  // The leader's copy is the one that is left, and the others are made of it again.
  const settings = streamSettings(SUBJECTS, LOG, 3);
  const bytes = await servers.bytesOf(LOG);
  await servers.configure('STREAM.UPDATE', {...settings, num_replicas: 1});
  await servers.configure('STREAM.UPDATE', settings);
  await until('equal copies', async () => {
    await copies.look();
    return copies.different === 0;
  });
  expect(said.filter(line => line.endsWith(' is that of its leader again')).length).toBe(said.length / 2);
  expect(await servers.bytesOf(LOG)).toBe(bytes);
  expect(await servers.differentCopies()).toEqual([]);
});

test('a copy that does not follow is reported until it does', {timeout: TIMEOUT_MS}, async () => {
  const {servers, toServers, copies, said, looks, writing} = await watched();
  const leader = await servers.leaderOf(LOG);
  const [behind, other] = servers.servers.filter(server => server !== leader) as [NatsServer, NatsServer];
  const routes = [leader, other].flatMap(server => servers.between(behind, server));
  const links = [...routes, toServers[servers.servers.indexOf(behind)]!];
  await writing(async () => {
    for (const link of links) link.cut();
    await until('a record that it does not have', async () => {
      const [bytes, of] = await Promise.all([servers.bytesOf(LOG, leader), servers.bytesOf(LOG, behind)]);
      return bytes > of;
    });
  });
  await looks();
  expect(said).toContainEqual(
    expect.stringMatching(
      new RegExp(`^the copy of svc_test_log_7 on ${behind.name} does not follow: it has \\d+ messages`),
    ),
  );
  expect(copies.different).toBeGreaterThan(0);
  for (const link of links) link.heal();
  await until('equal copies', async () => {
    await copies.look();
    return copies.different === 0 && said.at(-1)!.endsWith(' is that of its leader again');
  });
});
