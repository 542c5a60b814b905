/** Copies of a stream that are not equal are noticed. A limit that is set while records are written makes them so. */
import {expect, test} from 'vitest';
import {COPIES_LOOKS} from '../../cluster/limits.ts';
import type {LogEngine} from '../../cluster/log/log-engine.ts';
import {MONOTONIC_CLOCK} from '../../cluster/members/clock.ts';
import {MonitorPages} from '../../cluster/nats/monitor-pages.ts';
import {StreamCopies} from '../../cluster/nats/stream-copies.ts';
import {streamPrefixOf, streamSettings} from '../../cluster/nats/stream-settings.ts';
import {until} from '../harness/until.ts';
import {LOG, natsRig} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {SUBJECTS} from './harness/rig.ts';

const TIMEOUT_MS = 120_000;
const WRITERS = 8;

/** Until the signal aborts. */
async function write(engine: LogEngine, writer: number, signal: AbortSignal): Promise<void> {
  const subject = {stream: LOG, name: `${SUBJECTS.prefix(LOG)}writer${writer}`};
  for (let n = 0; !signal.aborted; n++) await engine.publish(subject, Buffer.from(`${writer} ${n}`), null);
}

test('a copy that lost records to a limit is reported until it is made again', {timeout: TIMEOUT_MS}, async () => {
  const servers = await NatsServers.start();
  const pages = new MonitorPages(servers.servers.map(({monitor}) => monitor));
  try {
    await natsRig(servers);
    const {engine} = await servers.host();
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
      await meanwhile();
      await looks();
      end.abort();
      await Promise.all(writers);
    };
    await writing(async () => undefined);
    await looks();
    expect([said, copies.different]).toEqual([[], 0]);

    const limit = (max_bytes: number) =>
      servers.configure('STREAM.UPDATE', {...streamSettings(SUBJECTS, LOG, 3), max_bytes});
    await until('copies that differ', async () => {
      await writing(async () => {
        await limit(1);
        await limit(-1);
      });
      await looks();
      return copies.different > 0;
    });
    expect(said[0]).toMatch(
      /^the copy of svc_test_log_7 on n\d has \d+ messages, .* and that of its leader n\d \d+ messages/,
    );

    // The leader's copy is the one that is left, and the others are made of it again.
    const settings = streamSettings(SUBJECTS, LOG, 3);
    const bytes = await servers.bytesOf(LOG);
    await servers.configure('STREAM.UPDATE', {...settings, num_replicas: 1});
    await servers.configure('STREAM.UPDATE', settings);
    const reported = said.length;
    await until('equal copies', async () => {
      await copies.look();
      return said.length === 2 * reported;
    });
    expect(said.slice(reported).every(line => line.endsWith(' is that of its leader again'))).toBe(true);
    expect([copies.different, await servers.bytesOf(LOG)]).toEqual([0, bytes]);
    expect(await servers.differentCopies()).toEqual([]);
  } finally {
    await pages.close();
    await servers.stop();
  }
});
