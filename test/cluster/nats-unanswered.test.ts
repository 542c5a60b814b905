/**
 * Requests that no server answers, as before the election of a leader, or that a server answers which takes itself for the leader.
 * The test answers for JetStream, which is off.
 */
import type {Msg} from '@nats-io/transport-node';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {connectToAny} from '../../cluster/nats/connection.ts';
import type {NatsEngine} from '../../cluster/nats/nats-engine.ts';
import {streamNameOf, streamSettings} from '../../cluster/nats/stream-settings.ts';
import {LOG} from './harness/nats-rig.ts';
import {NatsServers} from './harness/nats-servers.ts';
import {newTenant, SUBJECTS} from './harness/rig.ts';

let servers: NatsServers;
let engine: NatsEngine;
let api: Awaited<ReturnType<typeof connectToAny>>;

beforeAll(async () => {
  servers = await NatsServers.start({count: 1, jetstream: null});
  ({engine} = await servers.host());
  api = await connectToAny({servers: servers.addresses.map(({server}) => server), name: 'api'});
});

afterAll(async () => {
  await api?.close();
  await servers?.stop();
});

const STREAM = streamNameOf(SUBJECTS, LOG);
const subject = SUBJECTS.log(newTenant());

/** The next requests of this kind. */
async function* requested(verb: string): AsyncGenerator<Msg> {
  const requests = api.subscribe(`$JS.API.${verb}`);
  await api.flush();
  yield* requests;
}

const message = {message: {subject: subject.name, seq: 7, data: Buffer.from('late').toString('base64')}};

test('a read is sent again until it is answered', async () => {
  const reads = requested(`STREAM.MSG.GET.${STREAM}`);
  const first = reads.next();
  await api.flush();
  const reading = engine.last(subject);
  await first;
  const second = (await reads.next()).value as Msg;
  second.respond(JSON.stringify(message));
  expect(await reading).toEqual({subject: subject.name, sequence: 7, bytes: Buffer.from('late')});
  await reads.return(undefined);
});

test('a place in a stream is requested again under another name, and one that is not needed is removed', async () => {
  const [reads, creates, deletes, nexts] = [
    requested(`STREAM.MSG.GET.${STREAM}`),
    requested(`CONSUMER.CREATE.${STREAM}.*`),
    requested(`CONSUMER.DELETE.${STREAM}.*`),
    requested(`CONSUMER.MSG.NEXT.${STREAM}.*`),
  ];
  const [read, first, removed, next] = [reads.next(), creates.next(), deletes.next(), nexts.next()];
  await api.flush();
  const end = new AbortController();
  const watching = (async () => {
    for await (const _ of engine.watch(LOG, [SUBJECTS.prefix(LOG)], {from: null, signal: end.signal}));
  })();
  ((await read).value as Msg).respond(JSON.stringify(message));
  const unanswered = (await first).value as Msg;
  const answered = (await creates.next()).value as Msg;
  expect(answered.subject).not.toBe(unanswered.subject);
  answered.respond('{}');
  const nameOf = ({subject: its}: Msg) => its.split('.').at(-1);
  expect(nameOf((await next).value as Msg)).toBe(nameOf(answered));
  unanswered.respond('{}');
  expect(nameOf((await removed).value as Msg)).toBe(nameOf(unanswered));
  end.abort();
  await watching;
});

describe('a stream that was made', () => {
  const gone = {error: {code: 404, err_code: 10059, description: 'stream not found'}};
  const there = {config: streamSettings(SUBJECTS, LOG, 3)};

  test.each([
    ['is there, though a server that was stopped meanwhile does not know it', [gone, gone, there], null],
    ['is gone when that is the answer three times', [gone, gone, gone], expect.stringContaining('is gone, and so are')],
  ])('%s', async (_, answers, refusal) => {
    const reads = requested(`STREAM.INFO.${STREAM}`);
    const first = reads.next();
    await api.flush();
    const prepared = engine.prepare(LOG, {replicas: 3, isNew: false}).then(
      () => null,
      (error: Error) => error.message,
    );
    for (const [i, answer] of answers.entries()) {
      const {value} = await (i === 0 ? first : reads.next());
      (value as Msg).respond(JSON.stringify(answer));
    }
    expect(await prepared).toEqual(refusal);
    await reads.return(undefined);
  });
});
