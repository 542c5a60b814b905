import {beforeEach, describe, expect, test} from 'vitest';
import {SOCKET_FRAMES_AT_ONCE, SUBSCRIPTIONS_PER_SOCKET_MAX} from '../../router/limits.ts';
import {Opcode, RawSocket} from '../harness/raw-socket.ts';
import {sharedService} from '../harness/shared-service.ts';
import {until} from '../harness/until.ts';

const service = await sharedService();
let tenant: string;
beforeEach(async () => {
  service.showLogOnFailure();
  tenant = await service.tenant();
});

const all = {table: 't', filters: []};
const KIB = 1024;

/** A subscribe frame of exactly this many bytes. */
function subscribeOf(bytes: number): string {
  const frame = JSON.stringify({type: 'subscribe', request_id: '', query: all});
  return frame.replace('"request_id":""', `"request_id":"${'x'.repeat(bytes - frame.length)}"`);
}

async function stillServed(socket: RawSocket): Promise<void> {
  socket.send({type: 'clear_auth'});
  expect(await socket.nextMessage()).toEqual({type: 'authenticated', is_authenticated: false});
}

describe('a frame from a client has at most 64 KiB', () => {
  test.each([
    [64 * KIB - 1, 'subscription_result'],
    [64 * KIB, 'subscription_result'],
  ])('%d bytes are taken', async (bytes, type) => {
    const socket = await RawSocket.established(service, tenant);
    socket.frame(Opcode.text, subscribeOf(bytes));
    expect((await socket.nextMessage()).type).toBe(type);
    socket.close();
  });

  test.each([64 * KIB + 1, 1024 * KIB - 1, 1024 * KIB])(
    '%d bytes are answered with error op.too_large, and survived',
    async bytes => {
      const socket = await RawSocket.established(service, tenant);
      socket.frame(Opcode.text, subscribeOf(bytes));
      expect(await socket.nextMessage()).toMatchObject({type: 'error', error: {code: 'op.too_large'}});
      await stillServed(socket);
      socket.close();
    },
  );

  test('one that is too long is answered under its request_id, where that can be read without reading all of it', async () => {
    const long = {table: 't', filters: [{field: 'request_id', op: 'eq', value: 'x'.repeat(64 * KIB)}]};
    const socket = await RawSocket.established(service, tenant);
    for (const frame of [
      {type: 'subscribe', request_id: 'ü"\\{[', query: long},
      {query: {table: 't', filters: []}, request_id: 'ü"\\{[', more: [{request_id: 'no'}], type: 'subscribe', long},
    ]) {
      socket.send(frame);
      const answer = {type: 'op.error', id: 'ü"\\{[', error: {code: 'op.failed', detail: {code: 'op.too_large'}}};
      expect(await socket.nextMessage()).toMatchObject(answer);
    }
    for (const frame of [
      {type: 'unsubscribe', request_id: 'r', long},
      {type: 'subscribe', query: long, request_id: 'behind it'},
      {query: {request_id: 'inside'}, type: 'subscribe', long},
      {type: 'subscribe', request_id: 7, long},
      [{type: 'subscribe', request_id: 'in a list'}, long],
    ]) {
      socket.send(frame);
      expect(await socket.nextMessage()).toMatchObject({type: 'error', error: {code: 'op.too_large'}});
    }
    await stillServed(socket);
    socket.close();
  });

  test('fragments count together', async () => {
    const socket = await RawSocket.established(service, tenant);
    const frame = subscribeOf(64 * KIB + 1);
    socket.frame(Opcode.text, frame.slice(0, 40 * KIB), false);
    socket.frame(Opcode.continuation, frame.slice(40 * KIB));
    expect(await socket.nextMessage()).toMatchObject({type: 'error', error: {code: 'op.too_large'}});
    await stillServed(socket);
    socket.close();
  });

  test('beyond 1 MiB the frame is not read: the connection is closed', async () => {
    const socket = await RawSocket.established(service, tenant);
    socket.frame(Opcode.text, subscribeOf(1024 * KIB + 1));
    await socket.closed;
    const other = await RawSocket.established(service, tenant);
    await stillServed(other);
    other.close();
  });

  test('in the handshake a first frame of 64 KiB is judged like any other', async () => {
    const socket = await RawSocket.open(service, tenant);
    await socket.next();
    socket.frame(Opcode.text, subscribeOf(64 * KIB));
    expect(await socket.nextMessage()).toMatchObject({error: {code: 'protocol.unsupported_message_type'}});
    await socket.closed;
  });
});

describe(`a connection holds at most ${SUBSCRIPTIONS_PER_SOCKET_MAX} subscriptions`, () => {
  test('the next one is op.failed with op.rate_limited; ending one makes room for one', async () => {
    const socket = await RawSocket.established(service, tenant);
    const subscribe = (n: number) => ({type: 'subscribe', request_id: `r${n}`, query: {...all, limit: (n % 50) + 1}});
    const count = SUBSCRIPTIONS_PER_SOCKET_MAX + 1;
    socket.burst(Array.from({length: count}, (_, n) => subscribe(n)));
    const ids: number[] = [];
    const refused: string[] = [];
    for (let n = 0; n < count; n++) {
      const frame = await socket.nextMessage();
      if (frame.type === 'subscription_result') ids.push(frame.subscription_id!);
      else {
        expect(frame).toMatchObject({type: 'op.error', error: {code: 'op.failed', detail: {code: 'op.rate_limited'}}});
        refused.push(frame.id!);
      }
    }
    expect(new Set(ids).size).toBe(SUBSCRIPTIONS_PER_SOCKET_MAX);
    expect(refused).toEqual([`r${SUBSCRIPTIONS_PER_SOCKET_MAX}`]);

    socket.burst([{type: 'unsubscribe', subscription_id: ids[0]}, subscribe(1), subscribe(2)]);
    const types = [(await socket.nextMessage()).type, (await socket.nextMessage()).type];
    expect(types.sort()).toEqual(['op.error', 'subscription_result']);
    socket.close();
  });

  test('registrations that failed do not count', async () => {
    const socket = await RawSocket.established(service, tenant);
    const bad = {type: 'subscribe', request_id: 'bad', query: {table: 't'}};
    socket.burst(Array.from({length: SUBSCRIPTIONS_PER_SOCKET_MAX}, () => bad));
    for (let n = 0; n < SUBSCRIPTIONS_PER_SOCKET_MAX; n++) {
      expect((await socket.nextMessage()).error!.detail).toMatchObject({code: 'op.invalid_input'});
    }
    socket.send({type: 'subscribe', request_id: 'good', query: all});
    expect(await socket.nextMessage()).toMatchObject({type: 'subscription_result', request_id: 'good'});
    socket.close();
  });
});

describe('frames of a client are limited in rate', () => {
  test(`a burst of ${SOCKET_FRAMES_AT_ONCE} is served; of a flood some are dropped, each with error op.rate_limited, and the connection stays`, async () => {
    const socket = await RawSocket.established(service, tenant);
    const flood = SOCKET_FRAMES_AT_ONCE * 2;
    socket.burst(Array.from({length: flood}, () => ({type: 'clear_auth'})));
    const codes: string[] = [];
    for (let n = 0; n < flood; n++) {
      const {type, error} = await socket.nextMessage();
      codes.push(type === 'authenticated' ? type : `${type} ${error!.code}`);
    }
    expect(new Set(codes)).toEqual(new Set(['authenticated', 'error op.rate_limited']));
    expect(new Set(codes.slice(0, SOCKET_FRAMES_AT_ONCE))).toEqual(new Set(['authenticated']));
    socket.frame(Opcode.ping, 'there?');
    expect((await socket.next()).opcode).toBe(Opcode.pong);
    socket.close();
  });

  test('a subscribe that is dropped is answered under its request_id: nobody waits for ever', async () => {
    const socket = await RawSocket.established(service, tenant);
    const flood = SOCKET_FRAMES_AT_ONCE + 1_000;
    socket.burst(
      Array.from({length: flood}, (_, n) => ({type: 'subscribe', request_id: `r${n}`, query: {table: 't'}})),
    );
    const answered = new Set<string>();
    const codes = new Set<unknown>();
    while (answered.size < flood) {
      const {type, id, error} = await socket.nextMessage();
      expect(type).toBe('op.error');
      answered.add(id!);
      codes.add((error!.detail as {code: string}).code);
    }
    expect(codes).toContain('op.rate_limited');
    await until('the connection to be served again', async () => {
      socket.send({type: 'clear_auth'});
      return (await socket.nextMessage()).type === 'authenticated';
    });
    socket.close();
  });

  test('a flood on one connection costs another none of its frames', async () => {
    const [noisy, quiet] = [await RawSocket.established(service, tenant), await RawSocket.established(service, tenant)];
    noisy.burst(Array.from({length: SOCKET_FRAMES_AT_ONCE + 100}, () => ({type: 'clear_auth'})));
    await stillServed(quiet);
    noisy.close();
    quiet.close();
  });
});
